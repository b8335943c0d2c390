"""Pools that a user already has: a saved pool, a list of answers, a folder of files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign.errors import FileFormatError
from useralign.models.embedders import embedder_for
from useralign.pool import Candidate, Pool
from useralign.pooling.duplicates import MAX_COSINE, near_duplicates
from useralign.pooling.features import Features, normalisation
from useralign.pooling.pictures import SUFFIXES, picture_problem
from useralign.pooling.rows import Row, csv_rows, decoded, jsonl_rows, text_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from useralign.pooling.features import AnyEmbedder

_READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    ".txt": text_rows,
    ".jsonl": jsonl_rows,
    ".csv": csv_rows,
}


def read_pool(
    path: str | Path,
    question: str | None = None,
    embedder: AnyEmbedder = None,
) -> Pool:
    """Read a pool from a file or a folder.

    Parameters
    ----------
    path : str or Path
        `.json`: a saved pool. `.txt`: one answer a line, or paragraphs with blank lines between
        them. `.jsonl`: strings, or objects with `text` or `image`, and maybe `id`, `source`,
        `interest`, `features`; other keys go to `meta`. `.csv`: the same as columns, the features
        as `f0`, `f1`, ... A folder: one answer a `.txt` file, or one picture an image file, with a
        `.txt` file of the same name for what it shows.
    question : str, optional
        What the candidates answer; a saved pool has its own.
    embedder : str, Embedder or callable, optional
        For files without features.

    Returns
    -------
    Pool
        Near-duplicates stay in it; `meta["near_duplicates"]` lists them.

    Raises
    ------
    FileFormatError
        If it is empty, cut short, cannot be decoded, has an id twice, or is of another form.
    """
    path = Path(path)
    if path.suffix.lower() == ".json" and path.is_file():
        return _saved(path, question)
    rows, notes = _rows(path)
    _check(rows, path)
    candidates = [row.candidate for row in rows]
    images = sum(candidate.image is not None for candidate in candidates)
    if 0 < images < len(candidates):
        raise FileFormatError(
            f"{path}: {images} of {len(candidates)} candidates have an image; expected all or none"
        )
    kind = "image" if images else "text"
    features, name = _features(rows, kind, embedder)
    how = "ball" if name is None else normalisation(features)
    meta = {"kind": kind, "near_duplicates": _alike(candidates, features, kind), "notes": notes}
    return Pool(question or "", candidates, features, normalise=how, embedder=name, meta=meta)


def _saved(path: Path, question: str | None) -> Pool:
    pool = Pool.load(path)
    if question:
        pool.question = question
    return pool


def _rows(path: Path) -> tuple[list[Row], list[str]]:
    if path.is_dir():
        return _folder(path)
    if not path.exists():
        raise FileFormatError(f"{path}: there is no such file or folder")
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        known = ", ".join([".json", *_READERS])
        raise FileFormatError(
            f"{path}: cannot tell its form by its name; expected {known}, or a folder"
        )
    return list(reader(path)), []


def _folder(path: Path) -> tuple[list[Row], list[str]]:
    """Read a folder's pictures, with their captions, or else its texts."""
    files = sorted(f for f in path.iterdir() if f.is_file() and not f.name.startswith("."))
    images = [file for file in files if file.suffix.lower() in SUFFIXES]
    texts = {file.stem: file for file in files if file.suffix.lower() == ".txt"}
    stems = {file.stem for file in images}
    if images and (astray := sorted(set(texts) - stems)):
        raise FileFormatError(
            f"{path}: holds pictures, and a text that belongs to none of them, {astray[0]}.txt; "
            "expected only texts, or pictures with texts of the same names"
        )
    ignored = [f.name for f in files if f not in images and f not in texts.values()]
    notes = [f"not read: {', '.join(ignored)}"] if ignored else []
    if images:
        return [_picture(file, texts.get(file.stem)) for file in images], notes
    return [_text(file) for file in texts.values()], notes


def _text(file: Path) -> Row:
    text = " ".join(decoded(file).split())
    if not text:
        raise FileFormatError(f"{file}: is empty; expected an answer")
    return Row(Candidate(text=text, id=file.stem, source="given"), None, str(file))


def _picture(file: Path, caption: Path | None) -> Row:
    if problem := picture_problem(file.read_bytes()):
        raise FileFormatError(f"{file}: {problem}; expected a whole picture")
    text = " ".join(decoded(caption).split()) if caption else ""
    image = str(file.absolute())
    return Row(Candidate(text=text, image=image, id=file.stem, source="given"), None, str(file))


def _check(rows: list[Row], path: Path) -> None:
    if not rows:
        raise FileFormatError(f"{path}: is empty; expected at least one candidate")
    places: dict[str, str] = {}
    for row in rows:
        if row.candidate.id is None:
            continue
        if row.candidate.id in places:
            raise FileFormatError(
                f"{row.where}: the id {row.candidate.id!r} is already that of "
                f"{places[row.candidate.id]}; ids must differ"
            )
        places[row.candidate.id] = row.where
    lengths = {len(row.features) if row.features else 0 for row in rows}
    for row in rows:
        length = len(row.features) if row.features else 0
        if len(lengths) > 1 and length != len(rows[0].features or ()):
            raise FileFormatError(
                f"{row.where}: has {length} features, but the first candidate has "
                f"{len(rows[0].features or ())}; expected the same number, or none at all"
            )


def _features(
    rows: list[Row], kind: str, embedder: AnyEmbedder
) -> tuple[NDArray[np.float64], str | None]:
    """Return the features in the file, or else embed; with the embedder's name."""
    given = [row.features for row in rows if row.features]
    if given:
        return np.array(given, dtype=np.float64), None
    features = Features(embedder_for(embedder, kind), kind)
    return features.matrix([row.candidate for row in rows]), features.embedder.name


def _alike(
    candidates: list[Candidate], features: NDArray[np.float64], kind: str
) -> list[dict[str, Any]]:
    texts = ["" if kind == "image" else candidate.text for candidate in candidates]
    names = [candidate.id or f"c{place}" for place, candidate in enumerate(candidates)]
    return [
        {"first": names[twins.first], "second": names[twins.second], "similarity": twins.similarity}
        for twins in near_duplicates(texts, features, max_cosine=MAX_COSINE[kind])
    ]
