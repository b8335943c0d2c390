"""From the rows of a session to the session: what was told, folded in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign.errors import AnswerError
from useralign.session import FORMAT, Session

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Row

    from useralign.pool import Pool

_SIDES = 71  # sets the draws of sides apart from the method's own


@dataclass(frozen=True, slots=True)
class Told:
    """What a person did on a screen.

    Parameters
    ----------
    kind : str
        `"choice"`, `"ranking"`, `"equal"`, `"neither"`, `"skip"`, `"remark"`, `"undo"` or
        `"stop"`.
    position : int, optional
        For a choice: the place on the page, from 0.
    order : tuple of int
        For a ranking: the places on the page, best first.
    text : str
        For a remark: what was said.
    direction : tuple of float
        For a remark: where it points in the space of the raw features.
    """

    kind: str
    position: int | None = None
    order: tuple[int, ...] = ()
    text: str = ""
    direction: tuple[float, ...] = ()

    def request(self) -> dict[str, Any]:
        """Return what makes two submissions the same; how a remark was read does not."""
        chosen = {"position": self.position, "order": list(self.order), "text": self.text}
        given = {key: value for key, value in chosen.items() if value not in (None, [], "")}
        return {"kind": self.kind, **given}


def fold(rows: Iterable[Row[Any]]) -> tuple[list[Any], bool]:
    """Return what is in force after some answered steps.

    Returns
    -------
    answers : list
        As a session saves them.
    stopped : bool
        Whether the person ended it.
    """
    answers: list[Any] = []
    stopped = False
    for row in rows:
        if row.kind == "stop":
            stopped = True
        elif row.kind == "undo" and stopped:
            stopped = False
        elif row.kind == "undo":
            answers.pop()
        elif row.kind not in (None, "growth"):
            answers.append(row.told["answer"])
    return answers, stopped


def rebuild(
    pool: Pool,
    settings: Mapping[str, Any],
    answers: Sequence[Any],
    stopped: bool,
    shown: Sequence[int] = (),
) -> Session:
    """Return the session that these answers lead to.

    Parameters
    ----------
    pool : Pool
    settings : mapping
        What `settings_of` returned when it began.
    answers : sequence
        As a session saves them.
    stopped : bool
    shown : sequence of int
        What is on the person's screen; it stays there even if a newer version of the method
        would ask something else.
    """
    about = {"fingerprint": pool.fingerprint, "question": pool.question}
    state = {**settings, "format": FORMAT, "pool": about}
    state |= {"answers": list(answers), "stopped": stopped, "asked": list(shown)}
    return Session.from_dict(pool, state)


def settings_of(session: Session) -> dict[str, Any]:
    """Return all that a session is, but for its pool and what it was told."""
    state = session.to_dict()
    return {key: state[key] for key in state.keys() - {"format", "pool", "answers", "stopped"}}


def tell(session: Session, told: Told, shown: Sequence[int]) -> dict[str, Any]:
    """Apply what a person did to a session and return what is to be kept of it.

    Parameters
    ----------
    session : Session
        Changed, unless an error is raised.
    told : Told
    shown : sequence of int
        What was on the page, in its order.

    Raises
    ------
    AnswerError
        If it does not fit what was shown.
    SessionStateError
        If it came out of turn.
    """
    session.ask()
    if told.kind == "undo":
        session.undo()
    elif told.kind == "stop":
        session.stop()
    elif told.kind == "remark":
        session.remark(told.text, np.asarray(told.direction))
    else:
        _answer(session, told, shown)
    kept: dict[str, Any] = {"request": told.request()}
    if told.kind not in ("undo", "stop"):
        kept["answer"] = session.to_dict()["answers"][-1]
    return kept


def _answer(session: Session, told: Told, shown: Sequence[int]) -> None:
    if told.kind == "choice":
        session.tell(_place(told.position, shown))
    elif told.kind == "ranking":
        session.rank([_place(position, shown) for position in told.order])
    elif told.kind == "equal":
        session.equal()
    elif told.kind == "neither":
        session.neither()
    elif told.kind == "skip":
        session.skip()
    else:
        raise AnswerError(
            f"an answer cannot be {told.kind!r}; expected choice, ranking, equal, neither, skip, "
            "remark, undo or stop"
        )


def _place(position: int | None, shown: Sequence[int]) -> int:
    if position is None or not 0 <= position < len(shown):
        raise AnswerError(
            f"the answer names place {position!r} of the page, which shows {len(shown)}"
        )
    return shown[position]


def sides(shown: Sequence[int], seed: int, step: int) -> list[int]:
    """Return the candidates in the order they stand on the page: a function of seed and step.

    Of two steps in a row, one shows the method's first candidate on the left and the other on
    the right, so that over a session the sides are as even as they can be.
    """
    if len(shown) == 2:
        flipped = np.random.default_rng([seed, _SIDES, step // 2]).integers(2) == step % 2
        return list(shown[::-1]) if flipped else list(shown)
    order = np.random.default_rng([seed, _SIDES, step]).permutation(len(shown))
    return [shown[int(k)] for k in order]
