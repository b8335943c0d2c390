"""Computing one cell: hold the interaction, and write down its trajectory.

UserAlign and UserAlign_loss ask alike in both modes until the bound is 0, where mode `epsilon`
ends and footnote 2 of the paper goes on with challengers drawn at random. So mode `budget` begins
with what mode `epsilon` found, which a worker that has both to do computes once.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from useralign.answers import Answer, Comparison
from useralign.errors import OptionError
from useralign.lab.cells import pool_of, user_of
from useralign.methods.useralign import UserAlignLoss
from useralign.session import Session

if TYPE_CHECKING:
    from useralign.lab.cells import CellSpec
    from useralign.pool import Pool
    from useralign.users import User

    Steps = list[dict[str, Any]]

DIGITS = 9  # numbers are kept to these, well below what counts as zero
_NAMES = ("key", "domain", "style", "question", "user", "user_kind", "method", "mode", "seed")


class _Run(NamedTuple):
    steps: Steps
    answers: tuple[Answer, ...]
    cost: int
    stop_reason: str | None


def run_cell(cell: CellSpec) -> dict[str, Any]:
    """Hold the interaction of a cell, and return its result in the form of `results`."""
    run = _to_epsilon(cell) if cell.mode == "epsilon" else _for_budget(cell)
    return {
        **names_of(cell),
        "pool_size": len(_pool(cell)),
        "steps": run.steps,
        "stopped_at": run.cost,
        "stop_reason": run.stop_reason,
    }


def names_of(cell: CellSpec) -> dict[str, Any]:
    """Return a cell's names as they stand in its result."""
    return {key: getattr(cell, key) for key in _NAMES}


@lru_cache(maxsize=8)
def _to_epsilon(cell: CellSpec) -> _Run:
    """Run to epsilon = 0, or to the cap."""
    user = user_of(names_of(cell), cell.embedder)
    session = _session(cell, user)
    steps = _trajectory(session, user, [])
    return _Run(steps, session.answers, session.cost, session.stop_reason)


def _for_budget(cell: CellSpec) -> _Run:
    """Run for the whole budget (footnote 2)."""
    user = user_of(names_of(cell), cell.embedder)
    session = _session(cell, user)
    known: Steps = []
    if isinstance(session.method, UserAlignLoss):
        before = _to_epsilon(replace(cell, mode="epsilon"))
        known = before.steps[:-1]  # the last one may be there only because it is the last
        answers = [[a.first, a.second, a.winner] for a in before.answers]
        session = Session.from_dict(session.pool, {**session.to_dict(), "answers": answers})
        _ask_again(user, session.pool, before.answers)
    steps = _trajectory(session, user, known)
    return _Run(steps, session.answers, session.cost, session.stop_reason)


def _session(cell: CellSpec, user: User) -> Session:
    pool, options = _pool(cell), dict[str, Any](cell.options)
    if cell.method_name == "oracle":
        options["utilities"] = user.worth(pool)
    fixed = cell.mode == "budget"
    return Session(
        pool,
        cell.method_name,
        epsilon=None if fixed else 0.0,
        budget=cell.cap if fixed else None,
        seed=cell.session_seed,
        limit=cell.cap,
        **options,
    )


def _pool(cell: CellSpec) -> Pool:
    return pool_of(cell.domain, cell.style, cell.question, cell.embedder)


def _ask_again(user: User, pool: Pool, answers: tuple[Answer, ...]) -> None:
    """Bring a new user to where they were after these answers."""
    for step, answer in enumerate(answers):
        if answer.winner is not None:
            user.choose(Comparison(pool[answer.first], pool[answer.second], step, 0.0))


def _trajectory(session: Session, user: User, known: Steps) -> Steps:
    """Let the user answer to the end; return the steps that differ from the one before."""
    steps = list(known)
    wins: dict[str, float] = {}
    while True:
        last = _step(session, user, wins)
        if steps and steps[-1]["t"] == last["t"]:  # a pair was skipped
            steps.pop()
        if not steps or any(steps[-1][key] != last[key] for key in ("bound", "best")):
            steps.append(last)
        pair = session.ask()
        if pair is None:
            break
        if user.knows(pair.first, pair.second):
            session.tell(user.choose(pair))
        else:
            session.skip()
    return steps if steps[-1]["t"] == last["t"] else [*steps, last]


def _step(session: Session, user: User, wins: dict[str, float]) -> dict[str, Any]:
    best, baseline = session.best, session.pool.baseline
    if baseline is None:
        raise OptionError(f"{session.pool.question!r} has no baseline to measure win-rates against")
    if best.label not in wins:
        wins[best.label] = user.win_rate(best, baseline)
    return {
        "t": session.cost,
        "bound": round(session.bound, DIGITS),
        "best": best.label,
        "win": round(wins[best.label], DIGITS),
    }
