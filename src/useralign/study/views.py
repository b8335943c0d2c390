"""What a participant's page shows, with nothing on it that tells the methods apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from useralign.errors import StoreError
from useralign.study import flow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Row

    from useralign.pool import Candidate, Pool
    from useralign.store import Screen
    from useralign.study.participants import Participant
    from useralign.study.studies import Asked, Study

CHOOSE_THIS = "This one checks that the page is being read. Please choose **this** option."
NOT_THIS = "This one checks that the page is being read. Please choose the **other** option."


@dataclass(frozen=True, slots=True)
class Option:
    """One of two things to choose from.

    Parameters
    ----------
    text : str
        Markdown; for a picture what it shows.
    media : str or None
        The id of its picture.
    """

    text: str
    media: str | None = None


@dataclass(frozen=True, slots=True)
class View:
    """A page.

    Parameters
    ----------
    study : Study
    participant : Participant
    stage : str
    query : str
    persona : tuple of (str, str) or None
        Name and description, where the participant plays one.
    step : int
        The number that the page's form carries.
    number, total : int
        How far: "Comparison 4 of 10".
    options : tuple of Option
        Left and right, or nothing.
    """

    study: Study
    participant: Participant
    stage: str
    query: str
    persona: tuple[str, str] | None
    step: int = 0
    number: int = 0
    total: int = 0
    options: tuple[Option, ...] = ()


def view_of(
    study: Study,
    who: Participant,
    asked: Asked,
    pool: Pool,
    *,
    screen: Screen | None,
    rows: Sequence[Row[Any]],
) -> View:
    """Put together what a participant sees.

    Parameters
    ----------
    study : Study
    who : Participant
    asked : Asked
        Their question.
    pool : Pool
        Its candidates.
    screen : Screen or None
        The comparison of stage 2, if that is where they are.
    rows : sequence of Row
        Their matchups.
    """
    name = who.assignment.persona
    persona = None if name is None else (spaced(name), asked.personas[name])
    known = (study, who, who.stage, asked.text, persona)
    if screen is not None:
        budget = study.design.domain(who.assignment.domain).budget
        left, right = (_option(pool[place]) for place in screen.candidates)
        return View(*known, screen.step, screen.cost + 1, budget, (left, right))
    due = next((row for row in rows if row.chosen is None), None)
    if who.stage == flow.EVALUATION and due is not None:
        return View(*known, due.number, due.number + 1, len(rows), _pair(pool, due))
    return View(*known)


def _pair(pool: Pool, row: Row[Any]) -> tuple[Option, Option]:
    if row.role == flow.ATTENTION:
        one, other = Option(CHOOSE_THIS), Option(NOT_THIS)
    else:
        if pool.baseline is None:
            raise StoreError("the pool of this question has no baseline; add the study anew")
        one, other = _option(pool[row.candidate]), _option(pool.baseline)
    return (one, other) if row.side == "left" else (other, one)


def _option(candidate: Candidate) -> Option:
    return Option(candidate.text, candidate.meta.get("media"))


def spaced(name: str) -> str:
    """Return a name like `HeatSeekingExplorer` as words."""
    words = ""
    for before, char in zip(" " + name, name, strict=False):
        words += f" {char}" if char.isupper() and before.islower() else char
    return words
