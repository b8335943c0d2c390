"""Many simulated people at once, and what came of it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from useralign.store import digest
from useralign.store.schema import matchups, participants, steps
from useralign.study import flow
from useralign.study.simulate.people import Behaviour, Minds
from useralign.study.simulate.visit import Log, Visit

if TYPE_CHECKING:
    from collections.abc import Callable

    from useralign.store import Store
    from useralign.study.design import Design

_PAUSE = 1.0  # seconds before someone tries again who found all places taken; doubled each time
_LONGEST_PAUSE = 8.0


@dataclass(slots=True)
class Report:
    """What a simulation measured.

    Parameters
    ----------
    finished, left, full, failed : int
        How many people came to which end; `full` found no place.
    answers : int
        Acknowledged by the server.
    seconds : float
    latency : dict of str to float
        Percentiles of the answer requests, in milliseconds.
    troubles : dict of str to int
        What should not have happened, and how often.
    missing, different, extra : int or None
        Answers that were acknowledged and are not in the database, or stand there otherwise, and
        rows that nobody sent; None where the database could not be looked into.
    """

    finished: int = 0
    left: int = 0
    full: int = 0
    failed: int = 0
    answers: int = 0
    seconds: float = 0.0
    latency: dict[str, float] = field(default_factory=dict)
    troubles: dict[str, int] = field(default_factory=dict)
    missing: int | None = None
    different: int | None = None
    extra: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


class Crowd:
    """Simulated people who come to a study until enough have finished.

    Parameters
    ----------
    url : str
        The server's address.
    design : Design
    behaviour : Behaviour
    wanted : int
        How many are to finish.
    concurrency : int
        How many are there at once.
    source : {"link", "prolific", "mturk"}
    seed : int
        For what they like and do.
    seen : callable, optional
        Told how many have finished.
    """

    def __init__(
        self,
        url: str,
        design: Design,
        behaviour: Behaviour,
        *,
        wanted: int,
        concurrency: int = 200,
        source: str = "link",
        seed: int = 0,
        seen: Callable[[int], None] | None = None,
    ) -> None:
        self._url, self._design, self._behaviour = url, design, behaviour
        self._wanted, self._concurrency, self._source = wanted, concurrency, source
        self._rng = Random(seed)  # noqa: S311 - a simulation
        questions = [question for entry in design.domains for question in entry.chosen()]
        self._minds = Minds(questions, behaviour)
        self._seen = seen or (lambda _: None)
        self._times: list[float] = []
        self.logs: list[Log] = []
        self.finished = 0

    async def run(self) -> Report:
        """Let them come, and measure."""
        begun = time.perf_counter()
        crowd = min(self._concurrency, 2 * self._wanted)
        async with asyncio.TaskGroup() as group:
            for _ in range(crowd):
                group.create_task(self._come_and_go())
        ends = Counter(log.end for log in self.logs)
        return Report(
            finished=self.finished,
            left=ends["left"],
            full=ends["full"],
            failed=ends["failed"],
            answers=sum(len(log.told) for log in self.logs),
            seconds=round(time.perf_counter() - begun, 2),
            latency=percentiles(self._times),
            troubles=dict(Counter(line for log in self.logs for line in log.trouble)),
        )

    async def _come_and_go(self) -> None:
        await asyncio.sleep(self._rng.uniform(0.0, 0.01 * self._concurrency))
        pause = _PAUSE
        while self.finished < self._wanted:
            visit = Visit(
                self._url,
                self._design.slug,
                source=self._source,
                minds=self._minds,
                behaviour=self._behaviour,
                rng=Random(self._rng.getrandbits(64)),  # noqa: S311 - a simulation
                times=self._times,
            )
            log = await visit.run()
            self.logs.append(log)
            if log.end == "finished":
                self.finished += 1
                self._seen(self.finished)
            elif log.end == "full":
                await asyncio.sleep(self._rng.uniform(0.5, 1.5) * pause)
                pause = min(2.0 * pause, _LONGEST_PAUSE)


def run(crowd: Crowd, store: Store | None = None) -> Report:
    """Run a crowd, then compare what the server acknowledged with what it wrote down."""
    report = asyncio.run(crowd.run())
    if store is not None:
        report.missing, report.different, report.extra = audit(store, crowd.logs)
    return report


def audit(store: Store, logs: list[Log]) -> tuple[int, int, int]:
    """Count answers that are missing, different, or in the database without having been sent."""
    missing = different = extra = 0
    for log in logs:
        if not log.path:
            continue
        kept = _kept(store, digest(log.path.rsplit("/", 1)[-1]))
        missing += len(log.told.keys() - kept.keys())
        extra += max(0, len(kept.keys() - log.told.keys()) - (log.end != "finished"))
        different += sum(kept[key] != log.told[key] for key in log.told.keys() & kept.keys())
    return missing, different, extra


def _kept(store: Store, who: str) -> dict[tuple[str, int], int]:
    with store.reading() as connection:
        told = connection.execute(
            select(steps.c.number, steps.c.told)
            .join_from(participants, steps, steps.c.session_id == participants.c.session_id)
            .where(participants.c.id == who, steps.c.kind.is_not(None))
        ).all()
        mine = (matchups.c.participant_id == who) & matchups.c.chosen.is_not(None)
        judged = connection.execute(select(matchups).where(mine)).all()
    kept = {(flow.COMPARISONS, row.number): row.told["request"]["position"] for row in told}
    return kept | {(flow.EVALUATION, row.number): flow.SIDES.index(row.chosen) for row in judged}


def percentiles(times: list[float]) -> dict[str, float]:
    """Return the median and the tail of some seconds, in milliseconds."""
    if not times:
        return {}
    ordered = sorted(times)
    marks = {"p50": 0.50, "p95": 0.95, "p99": 0.99, "max": 1.0}
    last = len(ordered) - 1
    return {name: round(1000 * ordered[round(share * last)], 1) for name, share in marks.items()}
