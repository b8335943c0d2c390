"""The other answers in the terminal: equal, neither, remarks, the best of several, rankings."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from tests.cli.test_ask import DINNER, PAPER, leave
from tests.commands import run
from useralign import Pool
from useralign.cli.saved import Saved


def kinds(file: Path) -> list[str]:
    return [answer.kind for answer in Saved(file).read().answers]


def test_equal_neither_and_a_remark(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, *PAPER, "--save", str(file)) as terminal:
        terminal.wait_for("good enough")
        terminal.press("=")
        assert "equal: not asked again" in terminal.wait_for("2 of about")
        terminal.press("n")
        assert "none of these: left out" in terminal.wait_for("3 of about")
        terminal.press("r")
        terminal.wait_for("your remark")
        terminal.press(*"No Chillix", "\x7f", "\n")
        assert "noted" in terminal.wait_for("3 of about")
        terminal.press("u")
        terminal.wait_for("undone")
        terminal.press("r", *"less meat", "\n")
        terminal.wait_for("noted")
        leave(terminal)
    assert kinds(file) == ["equal", "neither", "remark"]
    assert Saved(file).read().answers[-1].text == "less meat"


def test_what_matters_hides_and_can_be_taken_back(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, "--save", str(file)) as terminal:
        shown = terminal.wait_for("good enough")
        assert shown.index("What matters? Press / and 1 vegetarian") < shown.index("1 of about")
        terminal.press("/", "1", "\n")
        shown = terminal.wait_for("good enough")
        assert re.search(r"vegetarian: hiding \d+ with meat or fish", shown)
        assert "1 of about" in shown
        terminal.press("/", *"please", "\n")
        terminal.wait_for("nothing to go by")
        terminal.press("/", "\x1b")
        terminal.wait_for("left as it was")
        terminal.press("/", *"no rice", "\n")
        assert "no rice: hiding" in terminal.wait_for("good enough")
        terminal.press("/", *"Vegetarian", "\n")
        assert "taken back" in terminal.wait_for("good enough")
        leave(terminal)
    session = Saved(file).read()
    assert [wish.text for wish in session.wishes] == ["no rice"]
    assert kinds(file) == ["wish", "wish", "withdraw"]
    with Terminal("ask", "--resume", str(file)) as terminal:
        shown = terminal.wait_for("good enough")
        assert "What matters?" not in shown, "that was before the first screen"
        terminal.press("\x03")
        assert terminal.finish() == 130


def test_remarks_that_are_left_or_empty(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, "--save", str(file)) as terminal:
        terminal.wait_for("good enough")
        terminal.press("r", *"less", "\x1b")
        terminal.wait_for("no remark")
        terminal.press("r", *"please", "\n")
        terminal.wait_for("nothing to go by")
        terminal.press("r", "\x1b[A", "\x1b[D", *"SALT", "\n")  # arrows type nothing
        terminal.wait_for("noted")
        leave(terminal)
    assert [answer.text for answer in Saved(file).read().answers] == ["SALT"]


def test_what_is_typed_does_not_drive_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, "--save", str(file)) as terminal:
        terminal.wait_for("good enough")
        terminal.press("r", *"[bold]x\u202e\x07y", "\n")
        shown = terminal.wait_for("noted")
        leave(terminal)
    assert "[bold]xy" in shown
    assert "\u202e" not in shown
    assert "\x07" not in shown


def test_the_best_of_four_and_resuming(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, "--show", "4", "--save", str(file)) as terminal:
        terminal.wait_for("1-4 pick")
        terminal.press("5")
        terminal.wait_for("press 1 to 4")
        terminal.press("4")
        assert "you chose 4" in terminal.wait_for("2 of about")
        terminal.kill()
    answer = Saved(file).read().answers[0]
    assert answer.winner == answer.candidates[3]
    with Terminal("ask", "--resume", str(file)) as terminal:
        terminal.wait_for("1-4 pick")
        leave(terminal)


def test_a_ranking_by_keys_in_order(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, "--rank", "--show", "3", "--save", str(file)) as terminal:
        terminal.wait_for("best to worst")
        terminal.press("2")
        terminal.wait_for("2  …")
        terminal.press("2")
        terminal.wait_for("has its place already")
        terminal.press("u")
        terminal.wait_for("the order is open again")
        terminal.press("3", "1")
        terminal.wait_for("your order: 3 > 1 > 2")
        leave(terminal)
    answer = Saved(file).read().answers[0]
    assert answer.order == tuple(answer.candidates[k] for k in (2, 0, 1))


@pytest.mark.parametrize("extra_key", ["4", "2", "44"])
def test_a_fourth_key_does_not_leak_into_the_next_screen(tmp_path: Path, extra_key: str) -> None:
    """Three decide the order of four; who presses the fourth as well means that ranking."""
    file = tmp_path / "session.json"
    with Terminal("ask", DINNER, "--rank", "--save", str(file)) as terminal:
        terminal.wait_for("best to worst")
        os.write(terminal.handle, f"312{extra_key}".encode())
        assert "your order: 3 > 1 > 2 > 4" in terminal.wait_for("good enough")
        terminal.press("x")
        terminal.wait_for("press 1 to 4, best first")
        terminal.press("2", "1")
        terminal.wait_for("  2  1  …")
        terminal.press("4")
        assert "your order: 2 > 1 > 4 > 3" in terminal.wait_for("good enough")
        terminal.press("3")  # late, on the next screen already
        terminal.press("q")
        terminal.wait_for("q quit")
        terminal.press("q")
        assert terminal.finish() == 0
    assert "3  …" not in terminal.output[terminal.output.index("2 > 1 > 4 > 3") :]
    orders = [[a.candidates.index(k) for k in a.order] for a in Saved(file).read().answers]
    assert orders == [[2, 0, 1, 3], [1, 0, 3, 2]]


@pytest.mark.parametrize("columns", [40, 80, 140])
@pytest.mark.parametrize("extra", [["--show", "3"], ["--rank"]])
def test_no_line_is_wider_than_the_terminal(columns: int, extra: list[str]) -> None:
    with Terminal("ask", DINNER, *extra, columns=columns) as terminal:
        shown = terminal.wait_for("q enough" if columns < 72 else "good enough")
        leave(terminal)
    assert max(len(line) for line in shown.splitlines()) <= columns
    assert shown.splitlines()[-1].startswith(("1-", "pick", "rank")), "the keys take one line"


def test_a_method_without_remarks_says_so(tmp_path: Path) -> None:
    file = Pool("Which?", ["a", "b", "c"], [[1, 0], [0, 1], [1, 1]]).save(tmp_path / "pool.json")
    with Terminal("ask", "--pool", str(file), "--method", "random") as terminal:
        terminal.wait_for("q quit")
        terminal.press("q")
        assert terminal.finish() == 0
    assert "Your answer" in terminal.output


def test_a_simulated_person_picks_and_ranks() -> None:
    pairs, best, ranked = (
        json.loads(run("ask", DINNER, "--json", *extra).stdout)
        for extra in (PAPER, (*PAPER, "--show", "4"), (*PAPER, "--rank"))
    )
    assert {entry["kind"] for entry in pairs["transcript"]} == {"choice"}
    assert {*pairs["transcript"][0]} == {"kind", "first", "second", "winner"}
    assert len(best["transcript"][0]["shown"]) == 4
    assert {entry["kind"] for entry in ranked["transcript"]} == {"ranking"}
    assert best["questions_asked"] < pairs["questions_asked"]
    assert ranked["questions_asked"] < pairs["questions_asked"]
    done = run("ask", DINNER, "--rank")
    assert done.returncode == 0, done.stderr
    assert " 1 1 " in done.stdout
    assert "   4 " in done.stdout


@pytest.mark.parametrize("show", ["1", "10", "0"])
def test_two_to_nine_can_be_shown(show: str) -> None:
    done = run("ask", DINNER, "--show", show)
    assert done.returncode == 2
    assert "--show" in done.stderr
    assert "equal to 9" in done.stderr or "equal to 2" in done.stderr
