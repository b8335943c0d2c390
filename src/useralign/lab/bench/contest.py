"""The comparison of methods: what is compared on what, its cells, and its run into a folder.

bench.json     what decides the results beside the cells: version, seed, embedders, records
tables/        every table as Markdown, CSV and JSON
figures/       a figure per pool, as PNG and SVG, where the extra `plots` is installed

The other files are those of `lab.journal`. A folder may be used again with other methods, pools or
numbers of runs: what is there is not computed again. A cell's result has other names than a plan's:

    {"key": "synthetic64d/btl/7/0/thompson", "pool": "synthetic64d", "users": "btl",
     "person": "7", "seed": 0, "method": "thompson", "pool_size": 20,
     "steps": [{"t": 0, "best": "c3", "win": 0.4, "regret": 0.31, "top": 0}, ...],
     "stopped_at": 20, "stop_reason": "budget"}

`win` is the win-rate against the baseline, `regret` the normalised regret of the candidate that is
recommended after `t` answers, `top` whether it is the best. Steps with the same candidate as before
are left out.

Where several candidates are shown at once, or the preset `few` is among the methods, a cell also
has `show`, how many; `read`, the share of all words that was read after each answer; and `top3` in
its steps, whether the candidate is among the best three. The number is at the end of its key then.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

import useralign
from useralign import domains
from useralign.checks import whole
from useralign.errors import MissingExtraError, OptionError
from useralign.lab.bench.cases import (
    DOMAINS,
    PERSONAS,
    SYNTHETIC,
    USERS,
    answering,
    fingerprint,
    persona_case,
    recorded_case,
    synthetic_case,
    usable_people,
)
from useralign.lab.cell import DIGITS, Cell, embedder_of, seed_of, trajectory
from useralign.lab.dispatch import dispatcher_for
from useralign.lab.journal import check_conditions, read_timings, step_at, write_results
from useralign.lab.runner import lock_folder, refuse_troubles, run_cells
from useralign.methods import list_methods, method_for
from useralign.session import Session, check_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from useralign.lab.bench.cases import Case
    from useralign.lab.dispatch import Dispatcher
    from useralign.lab.runner import Progress

FORMAT = "useralign-bench/1"
TIMES = (0, 1, 2, 3, 5, 10, 15, 20)
BUDGET = TIMES[-1]
PEOPLE = "people"
POOLS = (*DOMAINS, *SYNTHETIC)
MOST_SEEDS = 5  # interactions per persona or recorded person, as in the paper
FEW = "few"  # the preset for a person, as a contestant
LEAST_SCREENS = 5
_ORDER = ("frugal", "useralign", "iidbest", "random", "tournament", "uncertainty", "thompson")
_LEFT_OUT = ("useralign_loss",)  # its set does not move within 20 answers in many dimensions


@dataclass(frozen=True, slots=True)
class BenchCell(Cell):
    """One interaction of one person with one method."""

    names: ClassVar = ("key", "pool", "users", "person", "seed", "method")

    pool: str  # a domain, one of `SYNTHETIC`, or `people`
    users: str  # the kind of user; part of the group that results are averaged over
    person: str  # the question and the persona, the number of the pool, or a person's name
    seed: int  # of the interaction
    method: str
    source: str  # the embedder of a domain, or the folder of records
    base: int  # the seed of the whole comparison
    # how many candidates a screen has, when that is compared; None asks about pairs, and the preset
    # `few` then shows what a glance takes
    show: int | None = None

    @property
    def key(self) -> str:
        """The cell's name, which no other cell of a comparison has."""
        names = (self.pool, self.users, self.person, str(self.seed), self.method)
        return "/".join(names if self.show is None else (*names, str(self.show)))

    def case(self) -> Case:
        """Return the person and their pool: the same for all methods."""
        if self.pool in SYNTHETIC:
            return synthetic_case(self.pool, self.users, int(self.person), self.base)
        if self.pool in DOMAINS:
            question, _, persona = self.person.partition("/")
            case = persona_case(self.pool, question, persona, self.source)
            return answering(case, self.users, self._seed("answers"))
        return recorded_case(self.source, self.person, self._seed("answers"))

    def run(self) -> dict[str, Any]:
        """Run the interaction; `seconds` leave out making the pool and the person.

        They hold the person's answers, which take microseconds.
        """
        case = self.case()
        user, began = case.user(), time.perf_counter()
        session = self._session(case)
        regret, screens = case.regret, self.show is not None or self.method == FEW
        third = np.sort(case.worth)[-min(3, len(case.worth))]

        def measure(session: Session) -> dict[str, Any]:
            best = session.best
            return {
                "best": best.label,
                "win": round(float(case.wins[best.index]), DIGITS),
                "regret": round(float(regret[best.index]), DIGITS),
                "top": int(case.worth[best.index] == case.worth.max()),
                **({"top3": int(case.worth[best.index] >= third)} if screens else {}),
            }

        steps, _ = trajectory(session, user, measure, ["best"])
        seconds = time.perf_counter() - began
        result = self.result(session, steps)
        if screens:
            result |= {"show": session.per_screen, "read": _words_read(session)}
        return {**result, "seconds": seconds}

    def _session(self, case: Case) -> Session:
        """Start the session; all but the preset ask for the whole budget."""
        seed = self._seed("session")
        if self.method == FEW:
            options = {} if self.show is None else {"per_screen": self.show}
            return Session.few(case.pool, seed, **options)
        show = self.show or 2
        budget = max(2 * BUDGET // show, LEAST_SCREENS)
        return Session(
            case.pool, self.method, epsilon=None, budget=budget, seed=seed, per_screen=show
        )

    def _seed(self, purpose: str) -> int:
        """Return a seed that all methods share."""
        return seed_of(purpose, self.pool, self.users, self.person, self.seed, self.base)


def _words_read(session: Session) -> list[float]:
    """Return which share of all words was read by each answer; a picture counts as one word."""
    words = [1 if c.image else max(len(c.text.split()), 1) for c in session.pool]
    seen: set[int] = set()
    shares = [0.0]
    for answer in session.answers:
        seen.update(answer.candidates)
        share = round(sum(words[k] for k in seen) / sum(words), DIGITS)
        shares = [*shares, share] if answer.counts else [*shares[:-1], share]
    return shares


def state_at(cell: Mapping[str, Any], t: int) -> dict[str, float]:
    """Return what the candidate recommended after `t` answers, or at the end, is worth."""
    step = step_at(cell, t)
    state = {metric: float(step[metric]) for metric in ("win", "regret", "top")}
    if "read" in cell:
        state["top3"] = float(step["top3"])
        state["words"] = cell["read"][min(t, len(cell["read"]) - 1)]
    return state


@dataclass(frozen=True, slots=True)
class Contest:
    """What is compared on what."""

    methods: tuple[str, ...]
    pools: tuple[str, ...]  # some of `POOLS`, and `people` where there is a folder of records
    # some of `USERS`, for the synthetic pools, and of `PERSONAS`, for the domains
    users: tuple[str, ...] = USERS
    # how many synthetic pools of a kind, and how many interactions, 5 at most, with each persona
    # and recorded person
    runs: int = 100
    seed: int = 0
    people: str | None = None  # the folder of records
    show: int | None = None  # how many candidates a screen has; None asks about pairs

    def cells(self) -> list[BenchCell]:
        """List the cells, always in the same order."""
        return [
            BenchCell(pool, users, person, seed, method, source, self.seed, self._shown(method))
            for pool in self.pools
            for users, person, seed, source in self._people(pool)
            for method in self.methods
        ]

    def _shown(self, method: str) -> int | None:
        """Return how many candidates a method shows; beside the preset pairs are measured alike."""
        return 2 if self.show is None and method != FEW and FEW in self.methods else self.show

    def _people(self, pool: str) -> Iterator[tuple[str, str, int, str]]:
        """List everybody of a pool: the kind of user, the person, the seed and the source."""
        seeds = range(min(self.runs, MOST_SEEDS))
        if pool in SYNTHETIC:
            for users in self.users:
                if users in USERS:
                    yield from ((users, str(number), 0, "") for number in range(self.runs))
        elif pool == PEOPLE and self.people is not None:
            for name in usable_people(self.people):
                yield from (("recorded", name, seed, self.people) for seed in seeds)
        else:
            embedder = embedder_of(domains.load(pool))
            for users in [kind for kind in self.users if kind in PERSONAS] or ["persona"]:
                for question in domains.load(pool).questions:
                    for persona in question.personas:
                        person = f"{question.id}/{persona.name}"
                        yield from ((users, person, seed, embedder) for seed in seeds)

    def conditions(self) -> dict[str, Any]:
        """Return what else decides the results."""
        records = fingerprint(self.people) if self.people and PEOPLE in self.pools else None
        return {
            "format": FORMAT,
            "version": useralign.__version__,
            "seed": self.seed,
            "embedders": self.embedders(),
            "people": records,
        }

    def embedders(self) -> dict[str, str]:
        """Return what makes the features of each domain on this machine."""
        return {pool: embedder_of(domains.load(pool)) for pool in self.pools if pool in DOMAINS}


def contest(
    methods: Sequence[str] | None = None,
    pools: Sequence[str] | None = None,
    *,
    users: Sequence[str] | None = None,
    runs: int = 100,
    seed: int = 0,
    people: str | Path | None = None,
    show: int | None = None,
) -> Contest:
    """Return what to compare, once it is checked; parameters are those of `Contest`.

    Methods are all that are installed and need nothing special when not given, pools all of
    `POOLS`, or none but the recorded people if there are any. Raises OptionError if a name is not
    known, and MissingExtraError if a method needs an extra that is not installed.
    """
    for name in methods or ():
        if name != FEW:
            method_for(name)
    if show is not None:
        check_options(method_for("frugal"), per_screen=show)
    folder = None if people is None else str(Path(people).resolve())
    shipped = _checked("pool", pools, POOLS) or (() if folder else POOLS)
    return Contest(
        tuple(dict.fromkeys(methods or usual_methods())),
        (*shipped, PEOPLE) if folder else shipped,
        _checked("kind of users", users, (*USERS, *PERSONAS)) or USERS,
        whole("runs", runs, least=1),
        whole("seed", seed, least=0),
        folder,
        show,
    )


def usual_methods() -> list[str]:
    """List the methods that are installed and need nothing special, the best known first."""
    names = []
    for name in list_methods():
        try:
            method_for(name)
        except (OptionError, MissingExtraError):  # oracle, and what is not installed
            continue
        if name not in _LEFT_OUT:
            names.append(name)
    return sorted(names, key=lambda name: (_ORDER.index(name) if name in _ORDER else 99, name))


def run_contest(
    comparison: Contest,
    folder: str | Path,
    *,
    engine: Dispatcher | str = "local",
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """Compute the cells that are not finished yet, and write `results.json`.

    Returns the cells, sorted by key, and the milliseconds of a step by key, as measured when the
    cell was computed. Other parameters and errors are those of `run_plan`.
    """
    engine, folder = dispatcher_for(engine, jobs, scheduler), Path(folder)
    troubles = {p: domains.load(p).trouble(e) for p, e in comparison.embedders().items()}
    refuse_troubles({pool: why for pool, why in troubles.items() if why is not None})
    with lock_folder(folder):
        conditions = comparison.conditions()
        check_conditions(folder / "bench.json", conditions, "comparison")
        cells = run_cells(comparison.cells(), folder, engine, progress)
        head = {**conditions, "methods": comparison.methods, "runs": comparison.runs}
        write_results(folder, head, cells)
        timings = read_timings(folder)
    milliseconds = {
        cell["key"]: 1e3 * timings[cell["key"]]["seconds"] / max(cell["stopped_at"], 1)
        for cell in cells
        if cell["key"] in timings
    }
    return cells, milliseconds


def _checked(what: str, names: Sequence[str] | None, options: Sequence[str]) -> tuple[str, ...]:
    for name in names or ():
        if name not in options:
            raise OptionError(f"unknown {what} {name!r}; known: {', '.join(options)}")
    return tuple(dict.fromkeys(names or ()))
