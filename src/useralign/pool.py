"""A pool: one question, the candidate answers to it, and their features."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign.candidates import Candidate, Numbered, check_list, checked, indexed, joined
from useralign.errors import FileFormatError, PoolError
from useralign.files import read_json, write_json
from useralign.geometry.features import as_matrix, normalise

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from useralign.models.embedders import Embedder

__all__ = ["Candidate", "Pool"]

FORMAT = "useralign-pool/1"


class Pool:
    """A question, its candidate answers and their features.

    Parameters
    ----------
    question : str
        What was asked.
    candidates : sequence of Candidate
        The possible answers. Plain strings are taken as texts; None numbers the rows of features.
    features : array_like, shape (K, d)
        One row a candidate.
    baseline : Candidate or str, optional
        The answer that the model gives without personalisation (temperature 0). It is what
        win-rates are measured against; it is never asked about.
    normalise : {"ball", "unit", "diameter", "none"}
        How `features` come into the ball of radius 0.5; see `useralign.geometry.normalise`.
    embedder : str, optional
        Which embedder made the features, for the record.
    baseline_features : array_like, shape (d,), optional
        The baseline's own features; `pool.baseline_features` has them in the scale of `features`.
    meta : mapping, optional
        Anything else worth keeping with the pool.

    Attributes
    ----------
    raw_features : ndarray, shape (K, d)
        The features as given.
    features : ndarray, shape (K, d)
        The features that methods see: normalised and read-only.
    """

    def __init__(
        self,
        question: str,
        candidates: Sequence[Candidate | str] | None,
        features: ArrayLike,
        baseline: Candidate | str | None = None,
        *,
        normalise: str = "ball",
        embedder: str | None = None,
        baseline_features: ArrayLike | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(question, str):
            raise PoolError(f"the question must be a text, got {type(question).__name__}")
        if candidates is not None:
            check_list(candidates)
        matrix = as_matrix(features)
        if candidates is None:
            candidates = Numbered(len(matrix))
        if len(matrix) != len(candidates):
            raise PoolError(
                f"{len(candidates)} candidates but {len(matrix)} rows of features; "
                "give one row a candidate, in the same order"
            )
        self.question = question
        self.candidates = indexed(candidates)
        self.baseline = Candidate(text=baseline) if isinstance(baseline, str) else baseline
        self.normalise = normalise
        self.embedder = embedder
        self.meta: dict[str, Any] = dict(meta or {})
        self.raw_features: NDArray[np.float64] = matrix
        self.features: NDArray[np.float64] = _normalised(matrix, normalise)
        self.raw_baseline_features = self._checked_row(baseline_features)

    @classmethod
    def from_texts(
        cls,
        question: str,
        texts: Sequence[str | Candidate],
        *,
        baseline: str | Candidate | None = None,
        embedder: str | Embedder | None = None,
        normalise: str = "unit",
    ) -> Pool:
        """Build a pool of texts and embed them.

        Parameters
        ----------
        question : str
        texts : sequence of str or Candidate
        baseline : str or Candidate, optional
        embedder : str or Embedder, optional
            A registered name or an object; the default embedder when not given.
        normalise : str
            `"unit"`, as the paper does with embeddings.
        """
        from useralign.models.embedders import embedder_for  # noqa: PLC0415 - a layer for texts only

        if isinstance(texts, str) or len(texts) == 0:
            got = "one text" if isinstance(texts, str) else "none"
            raise PoolError(f"a pool needs a list of at least one text, got {got}")
        candidates = [
            Candidate(text=item, source="given") if isinstance(item, str) else checked(item, place)
            for place, item in enumerate(texts)
        ]
        if empty := [i for i, c in enumerate(candidates) if not c.text.strip()]:
            raise PoolError(f"text {empty[0]} is empty; leave it out or give its text")
        chosen = embedder_for(embedder)
        features = chosen.embed_texts([candidate.text for candidate in candidates])
        return cls(
            question, candidates, features, baseline, normalise=normalise, embedder=chosen.name
        )

    @classmethod
    def from_features(cls, features: ArrayLike, *, question: str = "", **options: Any) -> Pool:
        """Build a pool of numbered candidates, for those who have features and nothing else.

        Parameters
        ----------
        features : array_like, shape (K, d)
        question : str
        **options
            As for `Pool`.
        """
        return cls(question, None, features, **options)

    def joined(self, candidates: Sequence[Candidate | str] | None, features: ArrayLike) -> Pool:
        """Return a pool with more candidates; those it has keep their places.

        Parameters
        ----------
        candidates : sequence of Candidate or str, or None
            The new ones. One with the text and image of one that is there already is left out,
            with its row; None numbers the rows.
        features : array_like, shape (n, d)
            One row each, in the space of `raw_features`. The whole pool is normalised anew.

        Raises
        ------
        PoolError
            If the rows do not fit, or an id is taken by a candidate with another text.
        """
        rows = as_matrix(features)
        if rows.shape[1] != self.dimension:
            raise PoolError(
                f"the new candidates have {rows.shape[1]} features, the pool has {self.dimension}; "
                "embed them as the pool was embedded"
            )
        everyone: Sequence[Candidate]
        if candidates is None and isinstance(self.candidates, Numbered):
            everyone, kept = Numbered(len(self) + len(rows)), list(range(len(rows)))
        else:
            given = [Candidate()] * len(rows) if candidates is None else candidates
            everyone, kept = joined(self.candidates, given, len(rows))
        return Pool(
            self.question,
            everyone,
            np.vstack([self.raw_features, rows[kept]]),
            self.baseline,
            normalise=self.normalise,
            embedder=self.embedder,
            baseline_features=self.raw_baseline_features,
            meta=self.meta,
        )

    def __len__(self) -> int:
        return len(self.candidates)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    def __getitem__(self, index: int) -> Candidate:
        return self.candidates[index]

    def __repr__(self) -> str:
        return f"Pool({self.question!r}, {len(self)} candidates, {self.dimension}-d)"

    @property
    def dimension(self) -> int:
        """The number d of features a candidate."""
        return int(self.features.shape[1])

    @property
    def baseline_features(self) -> NDArray[np.float64] | None:
        """The baseline's features in the scale of `features`, shape (d,); None if not given."""
        row = self.raw_baseline_features
        if row is None:
            return None
        if self.normalise == "unit":
            return np.asarray(normalise(row[None, :], "unit")[0])
        largest = float(np.abs(self.raw_features).max())
        return row * (float(np.abs(self.features).max()) / largest) if largest else row

    def _checked_row(self, row: ArrayLike | None) -> NDArray[np.float64] | None:
        if row is None:
            return None
        matrix = as_matrix(np.asarray(row)[None])
        if matrix.shape[1] != self.dimension:
            raise PoolError(
                f"the baseline has {matrix.shape[1]} features, the candidates {self.dimension}"
            )
        return np.asarray(matrix[0])

    @property
    def fingerprint(self) -> str:
        """A short hash of question, candidates and features: a session knows its pool by it."""
        digest = hashlib.sha256(f"{self.question}\0{self.normalise}".encode())
        digest.update(str(self.raw_features.shape).encode())
        digest.update(self.raw_features.astype("<f8").tobytes())
        if not isinstance(self.candidates, Numbered):
            texts = "\0".join(candidate.text for candidate in self.candidates)
            digest.update(texts.strip("\0").encode(errors="replace"))
        return digest.hexdigest()[:16]

    def of(self, candidates: Sequence[Candidate], baseline: Candidate | None) -> Pool:
        """Return the same pool with its candidates told in another way.

        Parameters
        ----------
        candidates : sequence of Candidate, length K
            In their order, for instance with their pictures kept elsewhere.
        baseline : Candidate, optional
        """
        return Pool(
            self.question,
            candidates,
            self.raw_features,
            baseline,
            normalise=self.normalise,
            embedder=self.embedder,
            baseline_features=self.raw_baseline_features,
            meta=self.meta,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the pool as plain data; features are kept to the last bit."""
        return {
            "format": FORMAT,
            "question": self.question,
            "baseline": self.baseline.to_dict() if self.baseline else None,
            "candidates": [candidate.to_dict() for candidate in self.candidates],
            "embedder": self.embedder,
            "normalise": self.normalise,
            "meta": self.meta,
            "baseline_features": None
            if self.raw_baseline_features is None
            else self.raw_baseline_features.tolist(),
            "features": {
                "shape": list(self.raw_features.shape),
                "dtype": "<f8",
                "base64": base64.b64encode(self.raw_features.astype("<f8").tobytes()).decode(),
            },
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Pool:
        """Build a pool from `to_dict`'s form.

        Raises
        ------
        FileFormatError
            If something that belongs there is missing or of another form.
        """
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            got = data.get("format") if isinstance(data, Mapping) else type(data).__name__
            raise FileFormatError(
                f"not a pool of this version: expected format {FORMAT!r}, "
                f"got {got!r}. Make it anew with `useralign pool`"
            )
        try:
            packed = data["features"]
            raw = np.frombuffer(base64.b64decode(packed["base64"]), dtype="<f8")
            features = raw.reshape(packed["shape"])
            baseline = data.get("baseline")
            return cls(
                data["question"],
                [Candidate.from_dict(item) for item in data["candidates"]],
                features,
                Candidate.from_dict(baseline) if baseline else None,
                normalise=data["normalise"],
                embedder=data.get("embedder"),
                baseline_features=data.get("baseline_features"),
                meta=data.get("meta"),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileFormatError(f"the pool's data are damaged: {error!r}") from error

    def save(self, path: str | Path) -> Path:
        """Write the pool to one JSON file and return its path; never leaves half a file.

        Raises
        ------
        PoolError
            If some `meta` is not plain data. A file that was there is untouched.
        """
        try:
            return write_json(path, self.to_dict())
        except TypeError as error:
            raise PoolError(f"the pool cannot be saved: {error}; keep meta to plain data") from None

    @classmethod
    def load(cls, path: str | Path) -> Pool:
        """Read a pool that `save` wrote."""
        try:
            return cls.from_dict(read_json(path))
        except FileFormatError as error:
            raise FileFormatError(f"{path}: {error}") from error


def _normalised(matrix: NDArray[np.float64], how: str) -> NDArray[np.float64]:
    result = normalise(matrix, how)
    for array in (matrix, result):
        array.flags.writeable = False
    return result
