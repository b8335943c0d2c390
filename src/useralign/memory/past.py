"""Earlier sessions as memory keeps them: which candidates were shown, and what was answered.

They come from sessions, from answers over a pool, or from people on record.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign.checks import is_whole
from useralign.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from useralign.answers import Answer
    from useralign.models import Embedder
    from useralign.pool import Candidate, Pool
    from useralign.session import Session
    from useralign.users.recorded import People

    Array = NDArray[np.float64]
    Pairs = tuple[tuple[int, int], ...]

_TINY = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class PastSession:
    """One earlier session of one person, without anything that is not needed to learn from it.

    Features are the pool's own, less their mean and divided by their spread. Answers are about
    differences, so the mean has no effect; the spread makes a difference in one pool as large as
    in another, which is how the frugal method sees each pool. It is one number per pool, since
    dividing each feature by its own would turn the same taste into another direction.

    Parameters
    ----------
    person : str
        Who answered. Sessions with the same name belong together.
    question : str
    embedder : str or None
        What made the features. Tastes are comparable only where it is the same.
    keys : tuple of str, length n
        What identifies candidates across pools; only those that an answer is about.
    features : ndarray, shape (n, d)
    wins : tuple of (int, int)
        Indices of the better and the worse candidate.
    ties : tuple of (int, int)
        Indices of two that were called equal.
    dislikes : tuple of int
        Indices of those that would not do.
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
    def from_session(cls, session: Session, person: str = "") -> PastSession:
        """Return what is to be remembered of a session, as far as it has come."""
        return cls.from_answers(session.pool, session.answers, person)

    @classmethod
    def from_answers(cls, pool: Pool, answers: Iterable[Answer], person: str = "") -> PastSession:
        """Return what is to be remembered of answers over a pool.

        Skips say nothing about a taste, and remarks and wishes are about one occasion: they are
        left out.
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
        return _over(pool, wins, ties, dislikes, person)

    def continues(self, other: PastSession) -> bool:
        """Return whether this is the same session as another, or that one gone on."""
        same = self.question == other.question and self.space == other.space
        parts = zip(self._answers_by_key(), other._answers_by_key(), strict=True)
        return same and all(answers[: len(earlier)] == earlier for answers, earlier in parts)

    def _answers_by_key(self) -> list[list[tuple[str, ...]]]:
        parts: list[Iterable[tuple[int, ...]]]
        parts = [self.wins, self.ties, [(k,) for k in self.dislikes]]
        return [[tuple(self.keys[k] for k in indices) for indices in part] for part in parts]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data; features are stored as 32-bit numbers."""
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
    def from_dict(cls, data: Mapping[str, Any], person: str = "") -> PastSession:
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
        indices = [*_flat(self.wins), *_flat(self.ties), *self.dislikes]
        count = len(self.keys)
        if count != len(self.features) or not np.isfinite(self.features).all():
            raise ValueError("the features do not fit the candidates")
        if not all(is_whole(k) and 0 <= k < count for k in indices):
            raise ValueError("an answer is about a candidate that is not there")


def _over(
    pool: Pool,
    wins: Sequence[tuple[int, int]],
    ties: Sequence[tuple[int, int]],
    dislikes: Sequence[int],
    person: str,
) -> PastSession:
    """Return answers about indices of a pool, with the candidates they are about."""
    touched = sorted({*_flat(wins), *_flat(ties), *dislikes})
    index = {k: n for n, k in enumerate(touched)}
    return PastSession(
        person,
        pool.question,
        pool.embedder,
        tuple(candidate_keys(pool, touched)),
        standardised(pool)[touched],
        tuple((index[a], index[b]) for a, b in wins),
        tuple((index[a], index[b]) for a, b in ties),
        tuple(index[k] for k in dislikes),
    )


def standardised(pool: Pool) -> Array:
    """Return features less their mean, scaled to squared lengths of 1 on average, shape (K, d)."""
    centred = pool.features - pool.features.mean(axis=0)
    size = np.sqrt(np.einsum("kd,kd->", centred, centred) / len(centred))
    result: Array = centred / size if size > _TINY else centred
    return result


def candidate_keys(pool: Pool, indices: Iterable[int] | None = None) -> list[str]:
    """Return what identifies candidates in other pools.

    That is the picture or the text, else the id. One that is only numbered is the same candidate
    in the same pool and in no other.
    """
    return [_key(pool[k], pool) for k in (range(len(pool)) if indices is None else indices)]


def _key(candidate: Candidate, pool: Pool) -> str:
    if media := candidate.meta.get("media"):
        return f"picture {media}"
    if text := candidate.text.strip():
        return text
    numbered = candidate.source is None and candidate.id == f"c{candidate.index}"
    if candidate.id and not numbered:
        return f"id {candidate.id}"
    return f"{pool.fingerprint} {candidate.index}"


def past_sessions(
    people: People, pool: Pool | None = None, *, embedder: str | Embedder | None = None
) -> list[PastSession]:
    """Return one earlier session for everybody on record who answered anything.

    Parameters
    ----------
    people : People
    pool : Pool, optional
        The pool that they are to be over; answers about other items are left out. All items when
        not given.
    embedder : str or Embedder, optional
        For items without features, where no pool is given; the default embedder when not given.
    """
    pool = people.pool(embedder=embedder) if pool is None else pool
    index = {candidate.label: candidate.index for candidate in pool}
    pasts = []
    for name in people.names:
        wins, ties = [], []
        for first, second, winner in people.answers.get(name, ()):
            if first in index and second in index:
                pair = index[first], index[second]
                if winner is None:
                    ties.append(pair)
                else:
                    wins.append(pair if winner == first else pair[::-1])
        rated = {index[k]: v for k, v in people.ratings.get(name, {}).items() if k in index}
        pasts.append(_over(pool, wins + clear_pairs(rated), ties, (), name))
    return [past for past in pasts if len(past)]


def clear_pairs(rated: Mapping[int, float]) -> list[tuple[int, int]]:
    """Return pairs, the better first, that ratings decide clearly, about one per rating.

    Neighbours in a list of ratings differ by chance; those half a list apart, and a quarter,
    do not.
    """
    order = sorted(rated, key=lambda k: -rated[k])
    lags = dict.fromkeys(max(1, len(order) // part) for part in (2, 4))
    return [
        (better, worse)
        for lag in lags
        for better, worse in zip(order, order[lag:], strict=False)
        if rated[better] > rated[worse]
    ]


def _unpacked(packed: Mapping[str, Any]) -> Array:
    raw = np.frombuffer(base64.b64decode(packed["base64"], validate=True), dtype="<f4")
    count, dimension = packed["shape"]
    return raw.reshape(count, dimension).astype(np.float64)


def _flat(pairs: Iterable[Sequence[int]]) -> list[int]:
    return [k for pair in pairs for k in pair]
