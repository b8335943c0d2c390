"""One cell of the comparison: one interaction of one person with one method.

A cell's result has the form of `lab.results`, but for its names and its steps:

    {"key": "synthetic64d/btl/7/0/thompson", "pool": "synthetic64d", "users": "btl",
     "person": "7", "seed": 0, "method": "thompson", "pool_size": 20,
     "steps": [{"t": 0, "best": "c3", "win": 0.4, "regret": 0.31, "top": 0}, ...],
     "stopped_at": 20, "stop_reason": "budget"}

`win` is the win-rate against the baseline, `regret` the normalised regret of the candidate that is
recommended after `t` answers, `top` whether it is the best. Steps without a change are left out.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from useralign.lab.bench.cases import DOMAINS, SYNTHETIC, persona_case, synthetic_case
from useralign.lab.bench.recorded import recorded_case
from useralign.lab.cells import seed_of
from useralign.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from useralign.lab.bench.cases import Case

TIMES = (0, 1, 2, 3, 5, 10, 15, 20)
BUDGET = TIMES[-1]
PEOPLE = "people"
_DIGITS = 9


class State(NamedTuple):
    """An interaction after some answers: what the recommended candidate is worth."""

    win: float
    regret: float
    top: float


@dataclass(frozen=True, slots=True)
class BenchCell:
    """What decides a cell's result.

    Parameters
    ----------
    pool : str
        A domain, one of `SYNTHETIC`, or `people`.
    users : str
        The kind of user; part of the group that results are averaged over.
    person : str
        The question and the persona, the number of the pool, or a person's name.
    seed : int
        Of the interaction.
    method : str
    source : str
        The embedder of a domain, or the folder of records.
    base : int
        The seed of the whole comparison.
    """

    pool: str
    users: str
    person: str
    seed: int
    method: str
    source: str
    base: int

    @property
    def key(self) -> str:
        """The cell's name, which no other cell of a comparison has."""
        return "/".join((self.pool, self.users, self.person, str(self.seed), self.method))

    def case(self) -> Case:
        """Return the person and their pool: the same for all methods."""
        if self.pool in SYNTHETIC:
            return synthetic_case(self.pool, self.users, int(self.person), self.base)
        if self.pool in DOMAINS:
            question, _, persona = self.person.partition("/")
            return persona_case(self.pool, question, persona, self.source)
        return recorded_case(self.source, self.person, self._seed("answers"))

    def run(self) -> dict[str, Any]:
        """Hold the interaction; see `lab.engines.Cell`."""
        case = self.case()
        clock = _Clock()
        with clock:
            session = Session(
                case.pool, self.method, epsilon=None, budget=BUDGET, seed=self._seed("session")
            )
        steps = _trajectory(session, case, clock)
        names = ("key", "pool", "users", "person", "seed", "method")
        return {
            **{name: getattr(self, name) for name in names},
            "pool_size": len(case.pool),
            "steps": steps,
            "stopped_at": session.cost,
            "stop_reason": session.stop_reason,
            "seconds": clock.spent,
        }

    def _seed(self, purpose: str) -> int:
        """Return a seed that all methods share."""
        return seed_of(purpose, self.pool, self.users, self.person, self.seed, self.base)


class _Clock:
    """Adds up the time that a method takes, apart from the person's."""

    def __init__(self) -> None:
        self.spent = 0.0
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.spent += time.perf_counter() - self._began


def state_at(cell: Mapping[str, Any], t: int) -> State:
    """Return a cell's state after `t` answers; the last one when it stopped before."""
    place = bisect_right(cell["steps"], t, key=lambda step: step["t"]) - 1
    step = cell["steps"][place]
    return State(step["win"], step["regret"], float(step["top"]))


def _trajectory(session: Session, case: Case, clock: _Clock) -> list[dict[str, Any]]:
    """Let the person answer to the end; return the steps at which the recommendation changes.

    Pairs that the person never said anything about are skipped, which costs nothing.
    """
    user, regret = case.user(), case.regret
    steps: list[dict[str, Any]] = []
    while True:
        with clock:
            best, pair = session.best, session.ask()
        if steps and steps[-1]["t"] == session.cost:  # a pair was skipped
            steps.pop()
        if not steps or steps[-1]["best"] != best.label:
            steps.append(
                {
                    "t": session.cost,
                    "best": best.label,
                    "win": round(float(case.wins[best.index]), _DIGITS),
                    "regret": round(float(regret[best.index]), _DIGITS),
                    "top": int(case.worth[best.index] == case.worth.max()),
                }
            )
        if pair is None:
            return steps
        if user.knows(pair.first, pair.second):
            chosen = user.choose(pair)
            with clock:
                session.tell(chosen)
        else:
            with clock:
                session.skip()
