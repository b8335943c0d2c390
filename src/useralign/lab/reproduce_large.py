"""The interactions of the large-pool table: N = 1,000 answers, 30 people, three methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from useralign.domains import large
from useralign.lab.cells import seed_of
from useralign.models.embedders import default_name
from useralign.session import Session
from useralign.users import RankedPersona

if TYPE_CHECKING:
    from collections.abc import Callable

    from useralign.domains.questions import Persona
    from useralign.pool import Pool

METHODS: dict[str, dict[str, Any]] = {
    "useralign": {"reask": True},
    "iidbest": {},
    "random": {},
}
BUDGET = 20


def run_large(
    seeds: int = 5,
    progress: Callable[[int, int, float | None], None] | None = None,
    *,
    people: int | None = None,
) -> list[dict[str, Any]]:
    """Hold the interactions and return their cells, in the form of `results`.

    Parameters
    ----------
    seeds : int
    progress : callable, optional
        Called with the number done, the total and None.
    people : int, optional
        Only so many of the people.
    """
    question = large.question()
    pool = question.pool(embedder=default_name("text"))
    jobs = [
        (persona, method, seed)
        for persona in question.personas[:people]
        for seed in range(seeds)
        for method in METHODS
    ]
    cells = []
    for done, (persona, method, seed) in enumerate(jobs):
        if progress is not None:
            progress(done, len(jobs), None)
        cells.append(_cell(pool, persona, method, seed))
    if progress is not None:
        progress(len(jobs), len(jobs), None)
    return cells


def _cell(pool: Pool, persona: Persona, method: str, seed: int) -> dict[str, Any]:
    names = (large.NAME, "mixed", large.question().id, persona.name)
    session = Session(
        pool,
        method,
        epsilon=None,
        budget=BUDGET,
        seed=seed_of("session", *names, seed),
        **METHODS[method],
    )
    return {
        "key": "/".join((*names, method, "budget", str(seed))),
        **dict(zip(("domain", "style", "question", "user"), names, strict=True)),
        "user_kind": "persona",
        "method": method,
        "mode": "budget",
        "seed": seed,
        "pool_size": len(pool),
        "steps": _steps(session, RankedPersona(persona)),
        "stopped_at": session.cost,
        "stop_reason": session.stop_reason,
    }


def _steps(session: Session, user: RankedPersona) -> list[dict[str, Any]]:
    baseline = large.question().baseline
    steps = []
    while True:
        pair = session.ask()
        steps.append(
            {
                "t": session.cost,
                "bound": round(session.bound, 9),
                "best": session.best.label,
                "win": user.win_rate(session.best, baseline),
            }
        )
        if pair is None:
            return steps
        session.tell(user.choose(pair))
