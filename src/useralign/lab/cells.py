"""One cell of an experiment: a whole interaction of one user with one method.

A cell's result is a function of its description alone. Its randomness follows from its key, except
that all methods share the seeds of a session with the same user, so that they begin with the same
candidate and with equal luck.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from useralign import domains
from useralign.models.embedders import default_name, embedder_for
from useralign.pool import Pool
from useralign.users import LinearUser, user_kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from useralign.domains import Domain
    from useralign.users import User

AXES = "axes"  # in place of an embedder, where a domain has features of its own


@dataclass(frozen=True, slots=True)
class CellSpec:
    """What decides a cell's result; it can be pickled and sent anywhere.

    Parameters
    ----------
    domain, style, question, user, user_kind : str
    method : str
        What the method is called in results.
    mode : {"epsilon", "budget"}
    seed : int
    method_name : str
        What it is registered as.
    options : tuple of (str, value)
        For the method.
    cap : int
        How many answers at most in mode `epsilon`; how many in mode `budget`.
    embedder : str
    """

    domain: str
    style: str
    question: str
    user: str
    user_kind: str
    method: str
    mode: str
    seed: int
    method_name: str
    options: tuple[tuple[str, bool | int | float | str], ...]
    cap: int
    embedder: str

    @property
    def key(self) -> str:
        """The cell's name, which no other cell of a plan has."""
        where = (self.domain, self.style, self.question, self.user)
        return "/".join((*where, self.method, self.mode, str(self.seed)))

    @property
    def session_seed(self) -> int:
        """The seed of the session: the same for all methods."""
        return seed_of("session", self.domain, self.style, self.question, self.user, self.seed)

    def run(self) -> dict[str, Any]:
        """Hold the interaction, and return its result in the form of `results`."""
        from useralign.lab.cells_run import run_cell  # noqa: PLC0415 - it needs this module

        return run_cell(self)


@lru_cache(maxsize=256)
def pool_of(domain: str, style: str, question: str, embedder: str) -> Pool:
    """Build a question's pool, once a process."""
    asked = domains.load(domain).question(question)
    return asked.pool(style, None if embedder == AXES else embedder)


def user_of(cell: Mapping[str, Any], embedder: str) -> User:
    """Make the user of a cell, as it was when the cell began.

    Parameters
    ----------
    cell : mapping
        A cell's result.
    embedder : str
        What made the features of its domain.
    """
    domain, style, question = cell["domain"], cell["style"], cell["question"]
    kind = user_kind(cell["user_kind"])
    pool = pool_of(domain, style, question, embedder)
    if issubclass(kind, LinearUser):
        pool = _with_baseline(pool)
    return kind.enlist(
        domains.load(domain).question(question),
        pool,
        cell["user"],
        taste=seed_of("taste", domain, question),
        seed=seed_of("answers", domain, style, question, cell["user"], cell["seed"]),
    )


def embedder_of(domain: Domain, text: str | None = None, image: str | None = None) -> str:
    """Return the name of what makes a domain's features: the one given, or the default."""
    if all(question.axes for question in domain.questions):
        return AXES
    return (image if domain.kind == "image" else text) or default_name(domain.kind)


def seed_of(*parts: str | int) -> int:
    """Return a seed that follows from names, on every machine alike."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4], "big")


@lru_cache(maxsize=256)
def _with_baseline(pool: Pool) -> Pool:
    """Give the baseline features, which users with a taste in the features need."""
    if pool.baseline_features is not None or pool.baseline is None:
        return pool
    row = embedder_for(pool.embedder).embed_texts([pool.baseline.text])[0]
    return Pool(
        pool.question,
        pool.candidates,
        pool.raw_features,
        pool.baseline,
        normalise=pool.normalise,
        embedder=pool.embedder,
        baseline_features=row,
        meta=pool.meta,
    )
