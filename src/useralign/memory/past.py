"""What is remembered of one earlier session: what was shown, and what was said of it."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign.checks import is_whole
from useralign.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from useralign.answers import Answer
    from useralign.pool import Candidate, Pool
    from useralign.session import Session

    Array = NDArray[np.float64]
    Pairs = tuple[tuple[int, int], ...]

_TINY = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """One earlier session of one person, without anything that is not needed to learn from it.

    Features stand as the pool's own, less their mean and divided by their spread. Answers are
    about differences, so the mean says nothing; the spread makes a difference in one pool as
    large as in another, which is how the frugal method sees each pool. It is one number a pool,
    since dividing each feature by its own would turn the same taste into another direction.

    Parameters
    ----------
    person : str
        Who answered. Sessions with the same name belong together.
    question : str
    embedder : str or None
        What made the features. Tastes are comparable only where it is the same.
    keys : tuple of str, length n
        What candidates are known by across pools; only those that were said something about.
    features : ndarray, shape (n, d)
    wins : tuple of (int, int)
        Places of the better and the worse one.
    ties : tuple of (int, int)
        Places of two that were called equal.
    dislikes : tuple of int
        Places of those that would not do.
    """

    person: str
    question: str
    embedder: str | None
    keys: tuple[str, ...]
    features: Array
    wins: Pairs = ()
    ties: Pairs = ()
    dislikes: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.wins) + len(self.ties) + len(self.dislikes)

    @property
    def space(self) -> tuple[str | None, int]:
        """Embedder and dimension: what must agree for two sessions to be about the same taste."""
        return self.embedder, self.features.shape[1]

    @classmethod
    def of(cls, session: Session, person: str = "") -> Past:
        """Return what is to be remembered of a session, as far as it has come."""
        return cls.said(session.pool, session.answers, person)

    @classmethod
    def said(cls, pool: Pool, answers: Iterable[Answer], person: str = "") -> Past:
        """Return what is to be remembered of answers over a pool.

        Skips say nothing of a taste, and remarks are about one occasion: neither is kept.

        Parameters
        ----------
        pool : Pool
        answers : iterable of Answer
        person : str
        """
        wins: list[tuple[int, int]] = []
        ties: list[tuple[int, int]] = []
        dislikes: list[int] = []
        for answer in answers:
            wins += answer.wins
            if answer.kind == "equal":
                ties += combinations(answer.candidates, 2)
            elif answer.kind == "neither":
                dislikes += answer.candidates
        return over(pool, wins, ties, dislikes, person)

    def continues(self, other: Past) -> bool:
        """Return whether this is the same session as another, or that one gone on."""
        same = self.question == other.question and self.space == other.space
        told = zip(self._told(), other._told(), strict=True)
        return same and all(mine[: len(its)] == its for mine, its in told)

    def _told(self) -> list[list[tuple[str, ...]]]:
        parts: list[Iterable[tuple[int, ...]]]
        parts = [self.wins, self.ties, [(k,) for k in self.dislikes]]
        return [[tuple(self.keys[k] for k in places) for places in part] for part in parts]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data; features are kept as 32-bit numbers."""
        packed = base64.b64encode(self.features.astype("<f4").tobytes()).decode()
        return {
            "question": self.question,
            "embedder": self.embedder,
            "candidates": list(self.keys),
            "features": {"shape": list(self.features.shape), "base64": packed},
            "wins": [list(pair) for pair in self.wins],
            "ties": [list(pair) for pair in self.ties],
            "dislikes": list(self.dislikes),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], person: str = "") -> Past:
        """Rebuild it from what `to_dict` returned.

        Raises
        ------
        FileFormatError
            If something is missing, or of another form.
        """
        try:
            past = cls(
                person,
                str(data["question"]),
                None if data["embedder"] is None else str(data["embedder"]),
                tuple(str(key) for key in data["candidates"]),
                _unpacked(data["features"]),
                tuple((a, b) for a, b in data["wins"]),
                tuple((a, b) for a, b in data["ties"]),
                tuple(data["dislikes"]),
            )
            past._check()
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileFormatError(f"a remembered session is damaged: {error!r:.200}") from error
        return past

    def _check(self) -> None:
        places = [*_flat(self.wins), *_flat(self.ties), *self.dislikes]
        count = len(self.keys)
        if count != len(self.features) or not np.isfinite(self.features).all():
            raise ValueError("the features do not fit the candidates")
        if not all(is_whole(k) and 0 <= k < count for k in places):
            raise ValueError("an answer is about a candidate that is not there")


def over(
    pool: Pool,
    wins: Sequence[tuple[int, int]],
    ties: Sequence[tuple[int, int]] = (),
    dislikes: Sequence[int] = (),
    person: str = "",
) -> Past:
    """Return what was said about places in a pool, kept to the candidates it is about."""
    touched = sorted({*_flat(wins), *_flat(ties), *dislikes})
    place = {k: n for n, k in enumerate(touched)}
    return Past(
        person,
        pool.question,
        pool.embedder,
        tuple(keys_of(pool, touched)),
        standard(pool)[touched],
        tuple((place[a], place[b]) for a, b in wins),
        tuple((place[a], place[b]) for a, b in ties),
        tuple(place[k] for k in dislikes),
    )


def standard(pool: Pool) -> Array:
    """Return features less their mean, scaled to squared lengths of 1 on average, shape (K, d)."""
    centred = pool.features - pool.features.mean(axis=0)
    size = np.sqrt(np.einsum("kd,kd->", centred, centred) / len(centred))
    result: Array = centred / size if size > _TINY else centred
    return result


def keys_of(pool: Pool, places: Iterable[int] | None = None) -> list[str]:
    """Return what candidates are known by in other pools.

    That is the picture or the text, else the id. One that is only numbered is known in the same
    pool and in no other.
    """
    chosen = range(len(pool)) if places is None else places
    return [_key(pool[k], pool) for k in chosen]


def _key(candidate: Candidate, pool: Pool) -> str:
    if media := candidate.meta.get("media"):
        return f"picture {media}"
    if text := candidate.text.strip():
        return text
    numbered = candidate.source is None and candidate.id == f"c{candidate.index}"
    if candidate.id and not numbered:
        return f"id {candidate.id}"
    return f"{pool.fingerprint} {candidate.index}"


def named(pasts: Iterable[Past], person: str) -> list[Past]:
    """Return the same sessions as one person's."""
    return [replace(past, person=person) for past in pasts]


def _unpacked(packed: Mapping[str, Any]) -> Array:
    raw = np.frombuffer(base64.b64decode(packed["base64"], validate=True), dtype="<f4")
    count, dimension = packed["shape"]
    return raw.reshape(count, dimension).astype(np.float64)


def _flat(pairs: Iterable[Sequence[int]]) -> list[int]:
    return [k for pair in pairs for k in pair]
