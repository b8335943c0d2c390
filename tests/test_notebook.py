"""A session in a notebook, as its kernel sees it; tests/browser has the front end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import IPython
import pytest

import useralign as ua
from useralign import notebook
from useralign.errors import AnswerError, SessionStateError

VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def session(pool: ua.Pool) -> ua.Session:
    return ua.Session.few(pool)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A shell with a kernel; what it would send goes nowhere."""
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    yield
    import ipywidgets

    ipywidgets.Widget.close_all()


def click(session: ua.Session, kind: str, winner: int | None = None) -> None:
    notebook.act(session, {"step": len(session.answers), "kind": kind, "winner": winner})


def test_without_a_front_end_it_is_a_text(session: ua.Session) -> None:
    ((kind, text),) = session._repr_mimebundle_(include=None, exclude=None)[0].items()
    assert kind == "text/plain"
    first = session.ask()
    assert first is not None
    assert f"session.tell({first.first.index})" in text
    assert "1 of about 3" in text
    session.tell(first.first)
    session.stop()
    assert "You chose it" in notebook.describe(session)


def test_without_the_widget_library_it_says_how_to_get_it(
    session: ua.Session, kernel: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notebook, "install_hint", lambda *_: "pip install 'useralign[notebook]'")
    data, _ = notebook.bundle(session)
    assert list(data) == ["text/plain"]
    assert "useralign[notebook]" in data["text/plain"]


def test_in_a_kernel_it_is_cards(session: ua.Session, kernel: None) -> None:
    (one, _), (other, _) = session._repr_mimebundle_(), session._repr_mimebundle_()
    assert one[VIEW]["model_id"] == other[VIEW]["model_id"], "shown twice, it is one set of cards"
    assert "1 of about" in one["text/plain"]


def test_what_is_clicked_is_told(session: ua.Session, kernel: None) -> None:
    session._repr_mimebundle_()
    cards = notebook._cards(session)
    screen = cards.screen
    winner = screen["candidates"][2]["index"]
    message = {"step": 0, "kind": "choice", "winner": winner}
    for _ in range(2):  # the second half of a double click
        cards._handle_custom_msg(message, [])
    assert [answer.winner for answer in session.answers] == [winner]
    assert cards.screen["cost"] == 1
    assert cards.screen["clicks"] > screen.get("clicks", 0)  # so that every click is answered


def test_every_button(session: ua.Session) -> None:
    click(session, "neither")
    click(session, "undo")
    assert session.answers == ()
    click(session, "stop")
    assert notebook.screen(session)["result"]["shortlist"]
    click(session, "go_on")
    assert not session.finished
    click(session, "final", 5)
    assert session.best.index == 5
    assert notebook.screen(session)["finished"] == "chosen"


@pytest.mark.parametrize(
    "message", [{"kind": "save"}, {"kind": "choice"}, {"kind": "choice", "winner": 99}, {}]
)
def test_what_is_not_understood_changes_nothing(
    session: ua.Session, message: dict[str, Any]
) -> None:
    with pytest.raises((AnswerError, SessionStateError)):
        notebook.act(session, {"step": 0, **message})
    assert session.answers == ()


def test_a_picture_that_is_none_is_its_text(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("no picture")
    candidates = [ua.Candidate(text=t, image=str(tmp_path / "a.png")) for t in ("sun", "moon")]
    pool = ua.Pool("Which?", candidates, [[0, 1], [1, 0]])
    cards = notebook.screen(ua.Session(pool))["candidates"]
    assert {(card["text"], card["picture"]) for card in cards} == {("sun", None), ("moon", None)}


def test_nothing_of_a_front_end_is_imported_unasked() -> None:
    script = "import sys, useralign.notebook; print(*({'anywidget', 'IPython'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    assert done.stdout.split() == []
