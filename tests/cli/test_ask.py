"""`useralign ask` as a person meets it: in a terminal, in a pipe, cut off, gone wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from useralign import Pool
from useralign.cli.saved import Saved

DINNER = "What should I cook for dinner tonight?"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path / "cache"))
    for name in ("OPENAI_API_KEY", "OPENAI_API_KEY_FILE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache"


def run(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "useralign.cli", *args],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=os.environ | env,
        timeout=60,
        check=False,
    )


def test_without_a_terminal_a_simulated_person_answers() -> None:
    done = run("ask", DINNER)
    assert done.returncode == 0, done.stderr
    assert "HeatSeekingExplorer" in done.stdout
    assert "Your answer" in done.stdout
    assert "no other answer in the pool can be better" in done.stdout
    assert "$0.00" in done.stdout


def test_json_is_all_that_is_printed() -> None:
    done = run("ask", DINNER, "--json", "--persona", "TiredFrugalParent")
    outcome = json.loads(done.stdout)
    assert done.stderr == ""
    assert outcome["question"] == DINNER
    assert outcome["questions_asked"] == len(outcome["transcript"])
    assert outcome["bound"] == 0.0
    assert outcome["viable"] == [outcome["answer"]["id"]]


def test_a_persona_in_words() -> None:
    done = run("ask", DINNER, "--persona", "likes fish and light broth", "--budget", "5")
    assert done.returncode == 0, done.stderr
    assert "Answering: likes fish" in done.stdout
    assert "5 questions" in done.stdout


def test_same_seed_same_transcript() -> None:
    first, second = (run("ask", DINNER, "--json", "--seed", "5").stdout for _ in range(2))
    one, two = json.loads(first), json.loads(second)
    assert one["transcript"] == two["transcript"]
    assert one["answered_by"].startswith("simulated: HeatSeekingExplorer")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["ask", "What is the meaning of life?"], "useralign models pull"),
        (["ask", DINNER, "--epsilon", "9"], "between 0 and S"),
        (["ask", DINNER, "--budget", "-1"], "budget must be"),
        (["ask", DINNER, "--method", "guess"], "iidbest, oracle"),
        (["ask", DINNER, "--embedder", "nothing"], "unknown embedder"),
        (["ask", "--pool", "nowhere.txt"], "nowhere.txt"),
        (["ask", "--resume", "nowhere.json"], "cannot be read"),
        (["ask", "x", "--model", "nothing:here"], "nothing"),
    ],
)
def test_mistakes_are_told_in_a_sentence(args: list[str], message: str) -> None:
    done = run(*args)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_question_is_needed() -> None:
    done = run("ask")
    assert done.returncode == 2
    assert "give a question" in done.stderr


def test_answers_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "names.txt"
    file.write_text("Call it Harbour.\nCall it Lighthouse.\nCall it Compass.\n", encoding="utf-8")
    done = run("ask", "What should we name it?", "--pool", str(file), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["answer"]["text"].startswith("Call it")


def test_a_person_answers_with_single_keys(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, "--save", str(file)) as terminal:
        terminal.wait_for("good enough")
        terminal.press("1")
        terminal.wait_for("Question 2")
        terminal.press("\x1b[C")
        terminal.wait_for("you chose 2")
        terminal.press("u")
        terminal.wait_for("undone")
        terminal.press("x")
        terminal.wait_for("press 1 or 2")
        terminal.press("s")
        terminal.wait_for("skipped")
        terminal.press("\x1b[D")
        terminal.wait_for("you chose 1")
        terminal.press("q")
        shown = terminal.wait_for("2 questions")
        assert terminal.finish() == 0
    assert "Your answer" in shown
    session = Saved(file).read()
    assert session.cost == 2
    assert session.stop_reason == "stopped"
    assert [a.winner is None for a in session.answers] == [False, True, False]


def test_undo_at_the_start_says_so() -> None:
    with Terminal("ask", DINNER) as terminal:
        terminal.wait_for("good enough")
        terminal.press("u")
        terminal.wait_for("nothing to undo yet")
        terminal.press("q")
        assert terminal.finish() == 0


@pytest.mark.parametrize("columns", [40, 80, 140])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    with Terminal("ask", DINNER, columns=columns) as terminal:
        shown = terminal.wait_for("enough")
        terminal.press("q")
        terminal.finish()
    assert max(len(line) for line in shown.splitlines()) <= columns


def test_ctrl_c_keeps_the_answers(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, "--save", str(file), columns=200) as terminal:
        terminal.wait_for("good enough")
        terminal.press("1")
        terminal.wait_for("Question 2")
        terminal.press("\x03")
        terminal.wait_for("--resume")
        assert terminal.finish() == 130
    with Terminal("ask", "--resume", str(file)) as terminal:
        terminal.wait_for("Question 2")
        terminal.press("q")
        terminal.wait_for("1 question,")
        assert terminal.finish() == 0


def test_kill_nine_keeps_the_answers(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, "--save", str(file)) as terminal:
        terminal.wait_for("good enough")
        for number in (2, 3, 4):
            terminal.press("1")
            terminal.wait_for(f"Question {number}")
        terminal.kill()
    assert Saved(file).read().cost == 3


def test_what_a_model_writes_does_not_drive_the_terminal(tmp_path: Path) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J[bold]no markup[/bold] \u202eabc"
    pool = Pool("Which?", [hostile, "plain", "other"], [[1, 0], [0, 1], [1, 1]])
    file = pool.save(tmp_path / "pool.json")
    with Terminal("ask", "--pool", str(file)) as terminal:
        terminal.wait_for("good enough")
        terminal.press("1")
        terminal.press("q")
        terminal.finish()
    assert "\x1b]0;owned" not in terminal.output
    assert "\x1b[2J" not in terminal.output
    assert "\u202e" not in terminal.output
    done = run("ask", "--pool", str(file))
    assert "\x1b" not in done.stdout
    assert "[bold]no markup[/bold]" in done.stdout + terminal.output


def test_resuming_without_a_person_invents_nothing(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, "--save", str(file)) as terminal:
        terminal.wait_for("good enough")
        terminal.press("1", "2")
        terminal.wait_for("Question 3")
        terminal.kill()
    before = file.read_bytes()
    done = run("ask", "--resume", str(file), "--json")
    assert json.loads(done.stdout)["questions_asked"] == 2
    assert json.loads(done.stdout)["answered_by"] == "person"
    assert file.read_bytes() == before


def test_good_enough_can_be_taken_up_again(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, "--save", str(file)) as terminal:
        terminal.wait_for("good enough")
        terminal.press("1", "q")
        assert terminal.finish() == 0
    with Terminal("ask", "--resume", str(file)) as terminal:
        terminal.wait_for("Question 2")
        terminal.press("q")
        assert terminal.finish() == 0


def test_save_never_overwrites(tmp_path: Path) -> None:
    file = tmp_path / "precious.txt"
    file.write_text("mine", encoding="utf-8")
    done = run("ask", DINNER, "--save", str(file))
    assert done.returncode == 2
    assert "--resume" in done.stderr
    assert file.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("sequence", ["\x1b[21~", "\x1b[1;5A", "\x1bOP", "\u00e9", "\x1b[Z"])
def test_other_keys_answer_nothing(tmp_path: Path, sequence: str) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, "--save", str(file)) as terminal:
        terminal.wait_for("good enough")
        terminal.press(sequence)
        terminal.wait_for("press 1 or 2")
        terminal.press("q")
        assert terminal.finish() == 0
    assert Saved(file).read().cost == 0


def test_shifted_arrows_keep_their_side(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, "--save", str(file)) as terminal:
        terminal.wait_for("good enough")
        terminal.press("\x1b[1;2D")
        terminal.wait_for("you chose 1")
        terminal.press("q")
        assert terminal.finish() == 0


@pytest.mark.parametrize("text", ["Which [/bold] one?", "Which [a] one?", "\x1b]0;own\x07Which?"])
def test_questions_are_data_too(tmp_path: Path, text: str) -> None:
    file = tmp_path / "names.txt"
    file.write_text("First choice.\nSecond choice.\n", encoding="utf-8")
    done = run("ask", text, "--pool", str(file))
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert ("[a]" in done.stdout) == ("[a]" in text)


def test_a_cache_that_cannot_be_written_is_no_end() -> None:
    done = run("ask", DINNER, USERALIGN_CACHE="/proc/none")
    assert done.returncode == 0, done.stderr
    with Terminal("ask", DINNER, env={"USERALIGN_CACHE": "/proc/none"}) as terminal:
        terminal.wait_for("not kept")
        terminal.wait_for("good enough")
        terminal.press("q")
        assert terminal.finish() == 0


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    done = run("ask", DINNER, "--save", "/proc/none/x.json")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_epsilon_reached_is_said_plainly() -> None:
    done = run("ask", DINNER, "--epsilon", "1.5")
    assert "as close to the best as you asked for" in done.stdout
    assert "no other answer" not in done.stdout


def test_wide_spaces_and_joiners_survive() -> None:
    from useralign.cli.screens import clean

    assert clean("10\u00a0km") == "10 km"
    assert clean("\U0001f468\u200d\U0001f469") == "\U0001f468\u200d\U0001f469"
    assert clean("a\x1b[2Jb\u202e") == "a[2Jb"
