"""`useralign ask` as a person meets it: in a terminal, in a pipe, cut off, gone wrong."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from tests.commands import run, run_apart
from useralign import Pool
from useralign.cli import ask
from useralign.cli.app import build
from useralign.cli.saved import Saved
from useralign.domains import load

DINNER = "What should I cook for dinner tonight?"
PAPER = ("--method", "useralign")


def test_without_a_terminal_a_simulated_person_answers() -> None:
    done = run("ask", DINNER)
    assert done.returncode == 0, done.stderr
    assert "HeatSeekingExplorer" in done.stdout
    assert "Your answer" in done.stdout
    assert "sure to be among the best 3" in done.stdout
    assert "$0.00" in done.stdout
    assert " 2 " in done.stdout
    assert " 6 " not in done.stdout, "at most five screens"


def test_the_papers_method_proves_it() -> None:
    done = run("ask", DINNER, *PAPER)
    assert "no other answer in the pool can be better" in done.stdout
    proven, close = (
        json.loads(run("ask", DINNER, *options, "--json", "--persona", "TiredFrugalParent").stdout)
        for options in (PAPER, ("--epsilon", "1.5"))
    )
    assert proven["method"] == close["method"] == "useralign"
    assert proven["bound"] == 0.0
    assert proven["viable"] == [proven["answer"]["id"]]
    assert 0.0 < close["bound"] <= 1.5
    assert close["questions_asked"] < proven["questions_asked"]


def test_json_is_all_that_is_printed() -> None:
    done = run_apart("ask", DINNER, "--json", "--persona", "TiredFrugalParent")
    outcome = json.loads(done.stdout)
    assert done.stderr == ""
    assert outcome["question"] == DINNER
    assert outcome["questions_asked"] == outcome["screens"] == len(outcome["transcript"]) <= 5
    assert len(outcome["transcript"][0]["shown"]) == 4
    assert outcome["expected_screens"] == outcome["screens"], "it is over"
    assert outcome["shortlist"][0] == outcome["answer"]
    assert len({entry["id"] for entry in outcome["shortlist"]}) == 3
    labels = {label for entry in outcome["transcript"] for label in entry["shown"]}
    texts = {c.label: c.text for c in load("food64d").question("food-01").pool()}
    assert outcome["words_read"] == sum(len(texts[label].split()) for label in labels)
    assert outcome["words"] == sum(len(text.split()) for text in texts.values())


def test_options_of_the_preset() -> None:
    def shown(*options: str) -> tuple[int, set[int]]:
        outcome = json.loads(run("ask", DINNER, "--json", *options).stdout)
        sizes = {len(entry.get("shown", "12")) for entry in outcome["transcript"]}
        return outcome["questions_asked"], sizes

    assert shown("--budget", "2") == (2, {4})
    assert shown("--method", "few", "--budget", "1", "--show", "6") == (1, {6})
    assert shown("--budget", "1", "--rank") == (1, {4})
    done = run("ask", DINNER, "--method", "few", "--epsilon", "0.5")
    assert done.returncode == 1
    assert "leave out --epsilon, or give --method useralign" in done.stderr


def test_a_persona_in_words() -> None:
    done = run("ask", DINNER, "--persona", "likes fish and light broth", "--budget", "2")
    assert done.returncode == 0, done.stderr
    assert "Answering: likes fish" in done.stdout
    assert "2 questions" in done.stdout


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


def leave(terminal: Terminal) -> None:
    """End a session early, without taking an answer."""
    terminal.press("q")
    terminal.wait_for("q quit")
    terminal.press("q")
    assert terminal.finish() == 0


def test_a_person_answers_with_single_keys(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, *PAPER, "--save", str(file)) as terminal:
        terminal.wait_for("good enough")
        terminal.press("1")
        terminal.wait_for("2 of about 19")
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
        terminal.press("q")
        assert terminal.finish() == 0
    assert "Your answer" in shown
    session = Saved(file).read()
    assert session.cost == 2
    assert session.stop_reason == "stopped"
    assert [a.winner is None for a in session.answers] == [False, True, False]


def test_a_few_screens_then_a_shortlist(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, "--budget", "2", "--save", str(file)) as terminal:
        shown = terminal.wait_for("good enough")
        assert "1 of about 2" in shown
        assert [line for line in shown.splitlines() if "─ 1 ─" in line and "─ 2 ─" in line]
        assert [line for line in shown.splitlines() if "─ 3 ─" in line and "─ 4 ─" in line]
        terminal.press("4")
        assert "2 of about 2" in terminal.wait_for("good enough")
        terminal.press("n")
        shown = terminal.wait_for("q quit")
        assert "none of these: left out" in shown
        assert [line for line in shown.splitlines() if "─ 2 ─" in line and "─ 3 ─" in line]
        terminal.press("a")
        listed = terminal.wait_for("q quit")
        numbers = re.findall(r"^ ?(\d+) [A-Z]", listed, re.MULTILINE)
        assert [int(number) for number in numbers] == [*range(1, 21)]
        terminal.press("m")
        assert "3 of about" in terminal.wait_for("good enough")
        terminal.press("1")
        terminal.wait_for("good enough")
        terminal.press("u")
        terminal.wait_for("undone")
        terminal.press("\r")
        assert re.search(r"p prove it is the best \(about \d+ more", terminal.wait_for("q quit"))
        terminal.press("p")
        assert "still in the running" in terminal.wait_for("2/→ pick")
        terminal.press("u")
        terminal.wait_for("1-4 pick")
        terminal.press("\r")
        terminal.wait_for("q quit")
        terminal.press("x")  # now it is clear that no number was meant for the screen before
        terminal.wait_for("q quit")
        terminal.press("3")
        shown = terminal.wait_for("this one it is")
        assert terminal.finish() == 0
    session = Saved(file).read()
    assert [answer.kind for answer in session.answers] == ["choice", "neither", "go_on", "final"]
    assert session.choice is not None
    assert session.stop_reason == "chosen"
    assert session.choice.text[:20] in shown
    choice = session.choice
    session.undo()
    assert choice == session.shortlist[2]


def test_a_number_pressed_twice_takes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, "--budget", "1", "--save", str(file)) as terminal:
        terminal.wait_for("good enough")
        os.write(terminal.handle, b"22")
        terminal.wait_for("q quit")
        terminal.press("q")
        assert terminal.finish() == 0
    assert Saved(file).read().cost == 1
    assert Saved(file).read().choice is None


@pytest.mark.parametrize(
    ("count", "key", "line"),
    [
        (3, "=", "These are equally good for you."),
        (3, "n", "None of those you saw was right for you."),
        (5, "n", "It is the only one left."),
    ],
)
def test_an_end_without_a_favourite(tmp_path: Path, count: int, key: str, line: str) -> None:
    names = tmp_path / "names.txt"
    names.write_text("\n".join(["Anna", "Bert", "Carla", "Doris", "Emil"][:count]))
    with Terminal("ask", "Which name?", "--pool", str(names)) as terminal:
        terminal.wait_for("good enough")
        terminal.press(key)
        terminal.wait_for(line)
        terminal.press("q")


def test_undo_at_the_start_says_so() -> None:
    with Terminal("ask", DINNER) as terminal:
        terminal.wait_for("good enough")
        terminal.press("u")
        terminal.wait_for("nothing to undo yet")
        leave(terminal)


@pytest.mark.parametrize("columns", [40, 80, 140])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    with Terminal("ask", DINNER, columns=columns) as terminal:
        shown = terminal.wait_for("q enough" if columns < 72 else "good enough")
        terminal.press("q")
        shown += terminal.wait_for("q quit")
        terminal.press("a")
        shown += terminal.wait_for("q quit")
        terminal.press("q")
        terminal.finish()
    assert max(len(line) for line in shown.splitlines()) <= columns


def test_without_colours() -> None:
    with Terminal("ask", DINNER, env={"NO_COLOR": "1"}) as terminal:
        terminal.wait_for("good enough")
        leave(terminal)
    codes = {
        code for seen in re.findall(r"\x1b\[([\d;]*)m", terminal.output) for code in seen.split(";")
    }
    assert codes <= {"", "0", "1", "2"}, "bold and dim at most"


def test_ctrl_c_keeps_the_answers(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, "--save", str(file), columns=200) as terminal:
        terminal.wait_for("good enough")
        terminal.press("1")
        terminal.wait_for("2 of about")
        terminal.press("\x03")
        terminal.wait_for("--resume")
        assert terminal.finish() == 130
    with Terminal("ask", "--resume", str(file)) as terminal:
        terminal.wait_for("2 of about")
        terminal.press("q")
        terminal.wait_for("1 question,")
        terminal.press("q")
        assert terminal.finish() == 0


def test_kill_nine_keeps_the_answers(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, "--save", str(file)) as terminal:
        terminal.wait_for("good enough")
        for number in (2, 3):
            terminal.press("1")
            terminal.wait_for(f"{number} of about")
        terminal.kill()
    assert Saved(file).read().cost == 2


def test_what_a_model_writes_does_not_drive_the_terminal(tmp_path: Path) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J[bold]no markup[/bold] \u202eabc"
    pool = Pool("Which?", [hostile, "plain", "other"], [[1, 0], [0, 1], [1, 1]])
    file = pool.save(tmp_path / "pool.json")
    with Terminal("ask", "--pool", str(file)) as terminal:
        terminal.wait_for("good enough")
        terminal.press("q")
        terminal.wait_for("q quit")
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
        terminal.wait_for("3 of about")
        terminal.kill()
    before = file.read_bytes()
    done = run("ask", "--resume", str(file), "--json")
    assert json.loads(done.stdout)["questions_asked"] == 2
    assert json.loads(done.stdout)["answered_by"] == "person"
    assert file.read_bytes() == before


def test_a_persona_goes_on_by_its_ranking(tmp_path: Path) -> None:
    whole, half = (tmp_path / name for name in ("whole.json", "half.json"))
    expected = run(
        "ask", DINNER, "--persona", "HeatSeekingExplorer", "--json", "--save", str(whole)
    )
    saved = json.loads(whole.read_text(encoding="utf-8"))
    saved["session"]["answers"] = saved["session"]["answers"][:1]
    half.write_text(json.dumps(saved), encoding="utf-8")
    done = run("ask", "--resume", str(half), "--persona", "HeatSeekingExplorer", "--json")
    assert json.loads(done.stdout)["transcript"] == json.loads(expected.stdout)["transcript"]
    assert json.loads(done.stdout)["answered_by"].startswith("simulated: HeatSeekingExplorer: ")


def test_good_enough_can_be_taken_up_again(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, "--save", str(file)) as terminal:
        terminal.wait_for("good enough")
        terminal.press("1")
        leave(terminal)
    with Terminal("ask", "--resume", str(file)) as terminal:
        terminal.wait_for("2 of about")
        leave(terminal)


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
        terminal.wait_for("press 1 to 4")
        leave(terminal)
    assert Saved(file).read().cost == 0


def test_shifted_arrows_keep_their_side(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, "--save", str(file)) as terminal:
        terminal.wait_for("good enough")
        terminal.press("\x1b[1;2D")
        terminal.wait_for("you chose 1")
        leave(terminal)


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
        leave(terminal)


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


def saved_session(folder: Path) -> Path:
    file = folder / "session.json"
    assert run("ask", DINNER, "--budget", "2", "--save", str(file)).returncode == 0
    return file


def told(done: subprocess.CompletedProcess[str]) -> str:
    """Return a message about wrong usage without the frame around it."""
    return " ".join(done.stderr.replace("│", " ").split())


def test_resuming_refuses_all_that_it_would_ignore(tmp_path: Path) -> None:
    file = saved_session(tmp_path)
    before = file.read_bytes()
    resume = ("ask", "--resume", str(file), "--persona", "likes fish")
    many = (
        *("--show", "3", "--method", "frugal", "--epsilon", "0.1", "--budget", "9", "--size", "8"),
        *("--embedder", "wordllama", "--image", "--fresh", "--no-care", "--seed", "0"),
        *("--pool", "x.txt", "--model", "openai:x"),
    )
    done = run(*resume, DINNER, *many)
    assert done.returncode == 2
    assert (
        "goes on as it was; leave out the question, --model, --pool, --method, --epsilon, "
        "--budget, --show, --size, --embedder, --image, --fresh, --care, --seed"
    ) in told(done)
    done = run("ask", "--resume", str(file), "--rank", "--save", "x", "--memory", "x", "--grow")
    assert "since nobody answers; leave out --rank, --grow, --save, --memory" in told(done)
    done = run(*resume, "--save", str(file))
    assert "is there already" in told(done)
    assert file.read_bytes() == before
    done = run(*resume, "--rank", "--json", "--save", str(tmp_path / "other.json"), "--no-memory")
    assert json.loads(done.stdout)["questions_asked"] == 2
    assert file.read_bytes() == before


def test_every_option_is_heeded_or_refused_when_resuming() -> None:
    """A new option has to say which."""
    (command,) = [c for c in build().registered_commands if c.callback is ask.ask]
    assert command.callback is not None
    options = set(inspect.signature(command.callback).parameters) - {"context"}
    heeded = {"persona", "resume", "no_memory", "as_json"}
    assert options == heeded | {*ask.DECIDED, *ask.GOES_ON_BY}
    assert {*ask.GROWS_BY} <= {*ask.DECIDED}


def test_json_in_a_terminal_says_who_answers() -> None:
    with Terminal("ask", DINNER, "--json", "--budget", "1") as terminal:
        assert terminal.finish() == 0
    assert "a simulated person answers" in terminal.output
    with Terminal("ask", DINNER, "--json", "--persona", "TiredFrugalParent") as terminal:
        assert terminal.finish() == 0
    assert "a simulated person answers" not in terminal.output


def test_a_reader_that_goes_away_loses_nothing(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    command = [sys.executable, "-m", "useralign.cli", "ask", DINNER, "--save", str(file)]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
        assert process.wait() == 1
    assert "Traceback" not in errors
    assert "Exception" not in errors
    assert Saved(file).read().pool.question == DINNER, "kept before the first line was printed"


@pytest.mark.parametrize("columns", ["0", "00", "1", "7", "x"])
def test_odd_widths(columns: str) -> None:
    done = run("ask", DINNER, COLUMNS=columns)
    assert done.returncode == 0, done.stderr
    assert "0" in done.stdout
    if columns not in ("1", "7"):
        assert max(map(len, done.stdout.splitlines())) == 80


@pytest.mark.parametrize("args", [["ask", DINNER], ["ask", DINNER, "--json"], ["models", "list"]])
def test_a_full_disk_is_told_in_a_sentence(args: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "useralign.cli", *args],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "useralign: No space left on device\n"


def test_make_run_without_a_terminal_shows_a_few_screens() -> None:
    makefile = (Path(__file__).parents[2] / "Makefile").read_text("utf-8")
    (persona,) = re.findall(r"echo --persona (\w+)", makefile)
    done = run("ask", DINNER, "--persona", persona)
    assert f"Answering: {persona}" in done.stdout
    assert re.findall(r"^ (\d) \+ ", done.stdout, re.MULTILINE) == ["1", "2", "3"]
    assert re.search(r"─ 2 ─+╮ ╭─ 3 ─", done.stdout), "and a shortlist"
