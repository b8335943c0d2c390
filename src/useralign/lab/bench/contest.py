"""What is compared on what: methods, pools, people, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import useralign
from useralign import domains
from useralign.checks import whole
from useralign.errors import MissingExtraError, OptionError
from useralign.lab.bench.cases import DOMAINS, SYNTHETIC, USERS
from useralign.lab.bench.cells import PEOPLE, BenchCell
from useralign.lab.bench.recorded import fingerprint, usable_people
from useralign.lab.cells import embedder_of
from useralign.methods import list_methods, method_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FORMAT = "useralign-bench/1"
POOLS = (*DOMAINS, *SYNTHETIC)
MOST_SEEDS = 5  # interactions a persona or recorded person, as in the paper
_ORDER = ("frugal", "useralign", "iidbest", "random", "tournament", "uncertainty", "thompson")
_LEFT_OUT = ("useralign_loss",)  # its set does not move within 20 answers in many dimensions


@dataclass(frozen=True, slots=True)
class Contest:
    """What is compared on what.

    Parameters
    ----------
    methods : tuple of str
    pools : tuple of str
        Some of `POOLS`, and `people` where there is a folder of records.
    users : tuple of str
        Some of `USERS`, for the synthetic pools.
    runs : int
        How many synthetic pools of a kind, and how many interactions, 5 at most, with each
        persona and recorded person.
    seed : int
    people : str or None
        The folder of records.
    """

    methods: tuple[str, ...]
    pools: tuple[str, ...]
    users: tuple[str, ...] = USERS
    runs: int = 100
    seed: int = 0
    people: str | None = None

    def cells(self) -> list[BenchCell]:
        """List the cells, always in the same order."""
        return [
            BenchCell(pool, users, person, seed, method, source, self.seed)
            for pool in self.pools
            for users, person, seed, source in self._people(pool)
            for method in self.methods
        ]

    def _people(self, pool: str) -> Iterator[tuple[str, str, int, str]]:
        """List everybody of a pool: the kind of user, the person, the seed and the source."""
        seeds = range(min(self.runs, MOST_SEEDS))
        if pool in SYNTHETIC:
            for users in self.users:
                yield from ((users, str(number), 0, "") for number in range(self.runs))
        elif pool == PEOPLE and self.people is not None:
            for name in usable_people(self.people):
                yield from (("recorded", name, seed, self.people) for seed in seeds)
        else:
            embedder = embedder_of(domains.load(pool))
            for question in domains.load(pool).questions:
                for persona in question.personas:
                    person = f"{question.id}/{persona.name}"
                    yield from (("persona", person, seed, embedder) for seed in seeds)

    def conditions(self) -> dict[str, Any]:
        """Return what else decides the results."""
        made = {pool: embedder_of(domains.load(pool)) for pool in self.pools if pool in DOMAINS}
        records = fingerprint(self.people) if self.people and PEOPLE in self.pools else None
        return {
            "format": FORMAT,
            "version": useralign.__version__,
            "seed": self.seed,
            "embedders": made,
            "people": records,
        }


def contest(
    chosen: Sequence[str] | None = None,
    pools: Sequence[str] | None = None,
    *,
    users: Sequence[str] | None = None,
    runs: int = 100,
    seed: int = 0,
    people: str | Path | None = None,
) -> Contest:
    """Say what to compare, and check it.

    Parameters
    ----------
    chosen : sequence of str, optional
        Methods; all that are installed and need nothing special when not given.
    pools : sequence of str, optional
        Some of `POOLS`; when not given all, or none but the recorded people if there are any.
    users, runs, seed, people
        As for `Contest`.

    Raises
    ------
    OptionError
        If a name is not known.
    MissingExtraError
        If a method needs an extra that is not installed.
    """
    for name in chosen or ():
        method_for(name)
    folder = None if people is None else str(Path(people).resolve())
    where = _known("pool", pools, POOLS) or (() if folder else POOLS)
    return Contest(
        tuple(dict.fromkeys(chosen or usual_methods())),
        (*where, PEOPLE) if folder else where,
        _known("kind of users", users, USERS) or USERS,
        whole("runs", runs, least=1),
        whole("seed", seed, least=0),
        folder,
    )


def usual_methods() -> list[str]:
    """List the methods that are installed and need nothing special, the best known first."""
    found = []
    for name in list_methods():
        try:
            method_for(name)
        except (OptionError, MissingExtraError):  # oracle, and what is not installed
            continue
        if name not in _LEFT_OUT:
            found.append(name)
    return sorted(found, key=lambda name: (_ORDER.index(name) if name in _ORDER else 99, name))


def _known(what: str, names: Sequence[str] | None, known: Sequence[str]) -> tuple[str, ...]:
    for name in names or ():
        if name not in known:
            raise OptionError(f"unknown {what} {name!r}; known: {', '.join(known)}")
    return tuple(dict.fromkeys(names or ()))
