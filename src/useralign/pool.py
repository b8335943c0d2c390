"""A pool: one question, the candidate answers to it, and their features."""

from __future__ import annotations

import base64
import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from useralign import pictures, registry
from useralign.errors import FileFormatError, PoolError, ScalingWarning
from useralign.files import load_json, write_json
from useralign.geometry.features import as_matrix, normalise, outlier

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from useralign.models import Embedder, Generator
    from useralign.pooling import Progress
    from useralign.pooling.recipe import Kind

FORMAT = "useralign-pool/1"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One possible answer.

    Parameters
    ----------
    text : str
        The answer, or for an image what it shows.
    image : str, optional
        Path of an image file, for candidates that are pictures.
    id : str, optional
        A name that is stable across runs; the pool gives `c0`, `c1`, ... where there is none.
    source : str, optional
        How it came to be: `"unbiased"`, `"interest"`, `"given"`, ...
    interest : str, optional
        The interest that an answer was written for.
    meta : mapping
        Anything else worth keeping: prompt, model, usage, ... Must be JSON-able to be saved.
    index : int
        Its index in the pool; set by the pool.
    """

    text: str = ""
    image: str | None = None
    id: str | None = None
    source: str | None = None
    interest: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict, compare=False)
    index: int = -1

    def __str__(self) -> str:
        return self.text or self.image or f"candidate {self.index}"

    @property
    def label(self) -> str:
        """Its id if it has one, else one made of its index."""
        return self.id or f"c{self.index}"

    @property
    def is_picture(self) -> bool:
        """Whether it has a picture: a file, or what a database keeps of one."""
        return bool(self.image or self.meta.get("media"))

    def to_dict(self) -> dict[str, Any]:
        """Return its fields but the index, without those that are empty."""
        return {k: v for k, v in asdict(self).items() if k != "index" and v not in (None, "", {})}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Candidate:
        """Build a candidate from `to_dict`'s form; unknown keys go to `meta`.

        A shipped picture is found again wherever the package is now.
        """
        names = {f.name for f in fields(cls)} - {"index", "meta"}
        extra = {k: v for k, v in data.items() if k not in names and k != "meta"}
        values = {k: v for k, v in data.items() if k in names}
        if isinstance(values.get("image"), str):
            values["image"] = pictures.locate(values["image"])
        return cls(**values, meta={**data.get("meta", {}), **extra})


class Numbered(Sequence[Candidate]):
    """Candidates that have nothing but a number, built on access: a million cost no memory."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Candidate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Candidate]: ...
    def __getitem__(self, index: int | slice) -> Candidate | Sequence[Candidate]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        number = range(self._count)[index]
        return Candidate(id=f"c{number}", index=number)


class Pool:
    """A question, its candidate answers and their features.

    Parameters
    ----------
    question : str
        What was asked.
    candidates : sequence of Candidate
        The possible answers. Plain strings are taken as texts; None numbers the rows of features.
    features : array_like, shape (K, d)
        One row per candidate.
    baseline : Candidate or str, optional
        The answer that the model gives without personalisation (temperature 0). It is what
        win-rates are measured against; it is never asked about.
    normalise : {"ball", "unit", "diameter", "clip", "none"}
        How `features` come into the ball of radius 0.5; see `useralign.geometry.normalise`.
    embedder : str, optional
        The name of the embedder that made the features; `embed` uses it for new candidates.
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
            _check_list(candidates)
        matrix = as_matrix(features)
        if candidates is None:
            candidates = Numbered(len(matrix))
        if len(matrix) != len(candidates):
            raise PoolError(
                f"{len(candidates)} candidates but {len(matrix)} rows of features; "
                "give one row per candidate, in the same order"
            )
        self.question = question
        self.candidates: Sequence[Candidate] = (
            candidates if isinstance(candidates, Numbered) else _labelled(_indexed(candidates))
        )
        self.baseline = Candidate(text=baseline) if isinstance(baseline, str) else baseline
        self.normalise = normalise
        self.embedder = embedder
        self.meta: dict[str, Any] = dict(meta or {})
        self.raw_features: NDArray[np.float64] = matrix
        self.features: NDArray[np.float64] = _normalised(matrix, normalise)
        if (trouble := outlier(matrix, normalise)) is not None:
            warnings.warn(trouble, ScalingWarning, stacklevel=2)
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
        if isinstance(texts, str) or len(texts) == 0:
            got = "one text" if isinstance(texts, str) else "none"
            raise PoolError(f"a pool needs a list of at least one text, got {got}")
        candidates = [
            Candidate(text=item, source="given") if isinstance(item, str) else _checked(item, index)
            for index, item in enumerate(texts)
        ]
        features, name = _embed(candidates, "text", embedder)
        return cls(question, candidates, features, baseline, normalise=normalise, embedder=name)

    @classmethod
    def generate(
        cls,
        question: str,
        model: str | Path | Generator | None = None,
        *,
        size: int | None = None,
        kind: Kind = "text",
        embedder: str | Embedder | None = None,
        progress: Progress | None = None,
    ) -> Pool:
        """Let a model write, or draw, the candidates, and embed them.

        Parameters
        ----------
        question : str
        model : str, Path or Generator, optional
            A generator or its name, such as "openai:gpt-4o" or "ollama:llama3.2"; the best one
            available when not given.
        size : int, optional
            How many candidates.
        kind : {"text", "image"}
        embedder : str or Embedder, optional
            The default one for texts or pictures when not given.
        progress : callable, optional
            Called with an event at every step.

        Raises
        ------
        OptionError
            If the question is empty or too long.
        ModelError
            If the model failed for good. What it wrote is kept: the same call again goes on.
        """
        from useralign import pooling  # noqa: PLC0415 - the way up to the models

        generator = pooling.load_generator(model)
        recipe = pooling.default_recipe(generator, kind=kind, size=size)
        return pooling.generate_pool(question, generator, embedder, recipe, progress=progress)

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

    def embed(self, candidates: Sequence[Candidate | str]) -> NDArray[np.float64]:
        """Return the features of other candidates, made as the pool's were, shape (n, d).

        Parameters
        ----------
        candidates : sequence of Candidate or str
            Pictures if all have images, else texts.

        Raises
        ------
        PoolError
            If no registered embedder made the pool's features.
        ModelError
            If the embedder cannot do its work.
        """
        if self.embedder is None or self.embedder not in registry.names("embedders"):
            maker = f"by {self.embedder!r}, " if self.embedder else "by hand, "
            raise PoolError(
                f"the pool's features were made {maker}not by a registered embedder, so that those "
                "of new candidates are not known; give features=, one row per candidate"
            )
        _check_list(candidates)
        items = _indexed(candidates)
        kind = "image" if all(item.image for item in items) else "text"
        return _embed(items, kind, self.embedder)[0]

    def extended(self, candidates: Sequence[Candidate | str] | None, features: ArrayLike) -> Pool:
        """Return a pool with more candidates; those it has keep their indices.

        Parameters
        ----------
        candidates : sequence of Candidate or str, or None
            The new ones. One whose text and image the pool has already is left out, with its
            row; None numbers the rows.
        features : array_like, shape (n, d)
            One row per candidate, in the space of `raw_features`. The whole pool is normalised
            anew.

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
        union: Sequence[Candidate]
        if candidates is None and isinstance(self.candidates, Numbered):
            union, new = Numbered(len(self) + len(rows)), list(range(len(rows)))
        else:
            items = [Candidate()] * len(rows) if candidates is None else candidates
            union, new = _union(self.candidates, items, len(rows))
        return self._copy(union, np.vstack([self.raw_features, rows[new]]), self.baseline)

    def with_candidates(self, candidates: Sequence[Candidate], baseline: Candidate | None) -> Pool:
        """Return the same pool with its candidates described in another way.

        Parameters
        ----------
        candidates : sequence of Candidate, length K
            In their order, for instance with their pictures kept elsewhere.
        baseline : Candidate, optional
        """
        return self._copy(candidates, self.raw_features, baseline)

    def scaled(self, normalise: str) -> Pool:
        """Return the same pool with its features normalised in another way."""
        return self._copy(self.candidates, self.raw_features, self.baseline, normalise)

    def _copy(
        self,
        candidates: Sequence[Candidate],
        features: NDArray[np.float64],
        baseline: Candidate | None,
        normalise: str | None = None,
    ) -> Pool:
        return Pool(
            self.question,
            candidates,
            features,
            baseline,
            normalise=self.normalise if normalise is None else normalise,
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
        """The number d of features per candidate."""
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
        return load_json(path, cls.from_dict)


def _embed(
    candidates: Sequence[Candidate], kind: str, embedder: str | Embedder | None
) -> tuple[NDArray[np.float64], str]:
    """Return the features of texts or pictures, shape (n, d), and the embedder's name."""
    from useralign.models import embedder_for  # noqa: PLC0415 - the way up to the models

    if kind == "text" and (empty := [i for i, c in enumerate(candidates) if not c.text.strip()]):
        raise PoolError(f"text {empty[0]} is empty; leave it out or give its text")
    model = embedder_for(embedder, kind)
    if kind == "image":
        return model.embed_images([str(candidate.image) for candidate in candidates]), model.name
    return model.embed_texts([candidate.text for candidate in candidates]), model.name


def _normalised(matrix: NDArray[np.float64], how: str) -> NDArray[np.float64]:
    result = normalise(matrix, how)
    for array in (matrix, result):
        array.flags.writeable = False
    return result


def _indexed(candidates: Sequence[Candidate | str]) -> tuple[Candidate, ...]:
    """Return candidates that have their indices; texts become candidates."""
    return tuple(
        Candidate(text=item, index=index)
        if isinstance(item, str)
        else replace(_checked(item, index), index=index)
        for index, item in enumerate(candidates)
    )


def _labelled(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Return the candidates, or raise PoolError if two go by the same id: answers name it."""
    owners: dict[str, int] = {}
    for candidate in candidates:
        first = owners.setdefault(candidate.label, candidate.index)
        if first != candidate.index:
            raise PoolError(
                f"candidates {first} and {candidate.index} have the same id {candidate.label!r}; "
                "ids must differ (a candidate without one is called c0, c1, ... by its index)"
            )
    return candidates


def _check_list(candidates: object) -> None:
    """Raise PoolError unless it is a list with something in it."""
    if isinstance(candidates, str) or not isinstance(candidates, Sequence):
        raise PoolError(
            f"candidates must be a list of Candidate or str, got {type(candidates).__name__}"
        )
    if len(candidates) == 0:
        raise PoolError("the pool is empty: at least one candidate is needed")


def _checked(item: object, index: int) -> Candidate:
    """Return a candidate, or raise PoolError if it is something else."""
    if not isinstance(item, Candidate) or not isinstance(item.text, str):
        raise PoolError(f"candidate {index} must be a Candidate or a text, got {item!r:.60}")
    return item


def _union(
    present: Sequence[Candidate], items: Sequence[Candidate | str], rows: int
) -> tuple[Sequence[Candidate], list[int]]:
    """Return the candidates of a pool followed by new ones, and the indices of those in `items`.

    One whose text and image are there already, or came before, is left out. Raises `PoolError` if
    an id is taken by another candidate, or `rows`, the number of rows of features, is another.
    """
    _check_list(items)
    if len(items) != rows:
        raise PoolError(f"{len(items)} new candidates but {rows} rows of features; give one each")
    contents = {(c.text.strip(), c.image) for c in present}
    labels = {c.label for c in present}
    union, new = list(present), list[int]()
    for index, item in enumerate(_indexed(items)):
        content = (item.text.strip(), item.image)
        if any(content) and content in contents:
            continue
        candidate = replace(item, index=len(union))
        if candidate.label in labels:
            raise PoolError(
                f"the id {candidate.label!r} belongs to another candidate already; give new "
                f"candidate {index} another id, or none"
            )
        contents.add(content)
        labels.add(candidate.label)
        union.append(candidate)
        new.append(index)
    return union, new
