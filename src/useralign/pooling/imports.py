"""Import a pool that a user already has: a saved pool, a list of answers, a folder of files."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from useralign.errors import FileFormatError
from useralign.files import parse_json
from useralign.models import embedder_for
from useralign.pool import Candidate, Pool
from useralign.pooling.parse import SUFFIXES, picture_problem
from useralign.pooling.recipe import MAX_COSINE
from useralign.pooling.select import Features, Twins, near_duplicates, normalisation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from useralign.pooling.select import AnyEmbedder

MOST_COMPARED = 20_000  # different candidates that are compared with each other
MOST_TWINS = 10_000  # pairs that are alike and are listed
_FEATURE = re.compile(r"f\d+")
# A bullet or a number before an item, with the box of a list of things to do.
_MARK = re.compile(
    r"(?:[-*+\u00b7\u2013\u2014\u2022\u2023\u25aa\u25cf]|\(?\d{1,3}[.):])\s+(?:\[[ xX]?\]\s+)?"
)


class Row(NamedTuple):
    """One candidate of a file, its features if the file has them, and where it stands."""

    candidate: Candidate
    features: list[float] | None
    where: str


def read_pool(
    path: str | Path,
    question: str | None = None,
    embedder: AnyEmbedder = None,
) -> Pool:
    """Read a pool from a file or a folder.

    Parameters
    ----------
    path : str or Path
        `.json`: a saved pool. `.txt`: one answer per line, paragraphs with blank lines between
        them, or a list with bullets or numbers. `.jsonl`: strings, or objects with `text` or
        `image`, and maybe `id`, `source`, `interest`, `features`; other keys go to `meta`.
        `.csv`: the same as columns, the features as `f0`, `f1`, ...
        A folder: one answer per `.txt` file, or one picture per image file,
        with a `.txt` file of the same name for what it shows.
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
        pool = Pool.load(path)
        pool.question = question or pool.question
        return pool
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
    normalise = "ball" if name is None else normalisation(features)
    twins, note = _twins(candidates, features, kind)
    meta = {"kind": kind, "near_duplicates": twins, "notes": [*notes, *note]}
    return Pool(question or "", candidates, features, normalise=normalise, embedder=name, meta=meta)


def _rows(path: Path, *, pictures: bool = True) -> tuple[list[Row], list[str]]:
    """Return the rows of a file or folder, and notes; without `pictures` no other file is read."""
    if path.is_dir():
        return _folder(path)
    if not path.exists():
        raise FileFormatError(f"{path}: there is no such file or folder")
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        suffixes = ", ".join([".json", *_READERS])
        raise FileFormatError(
            f"{path}: cannot tell its form by its name; expected {suffixes}, or a folder"
        )
    return list(reader(path, pictures)), []


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
    text = " ".join(_decoded(file).split())
    if not text:
        raise FileFormatError(f"{file}: is empty; expected an answer")
    return Row(Candidate(text=text, id=file.stem, source="given"), None, str(file))


def _picture(file: Path, caption: Path | None) -> Row:
    if problem := picture_problem(file.read_bytes()):
        raise FileFormatError(f"{file}: {problem}; expected a whole picture")
    text = " ".join(_decoded(caption).split()) if caption else ""
    image = str(file.absolute())
    return Row(Candidate(text=text, image=image, id=file.stem, source="given"), None, str(file))


def _check(rows: list[Row], path: Path) -> None:
    if not rows:
        raise FileFormatError(f"{path}: is empty; expected at least one candidate")
    owners: dict[str, str] = {}
    first = len(rows[0].features or ())
    for row in rows:
        name = row.candidate.id
        if name in owners:
            raise FileFormatError(
                f"{row.where}: the id {name!r} is already that of {owners[name]}; ids must differ"
            )
        if name is not None:
            owners[name] = row.where
    for row in rows:
        if (length := len(row.features or ())) != first:
            raise FileFormatError(
                f"{row.where}: has {length} features, but the first candidate has {first}; "
                "expected the same number, or none at all"
            )


def _features(
    rows: list[Row], kind: str, embedder: AnyEmbedder
) -> tuple[NDArray[np.float64], str | None]:
    """Return the features in the file, or else embed; with the embedder's name."""
    matrix = [row.features for row in rows if row.features]
    if matrix:
        return np.array(matrix, dtype=np.float64), None
    features = Features(embedder_for(embedder, kind), kind)
    return features.matrix([row.candidate for row in rows]), features.embedder.name


def _twins(
    candidates: list[Candidate], features: NDArray[np.float64], kind: str
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the pairs that are alike, and a note if there are more than are listed.

    Copies are named once each, beside the first of them. The others are compared with each other
    only, and not at all where there are too many.
    """
    first_of: dict[str, int] = {}
    originals = [first_of.setdefault(_content(c, kind), i) for i, c in enumerate(candidates)]
    copies = [Twins(first, i, 1.0) for i, first in enumerate(originals) if first != i]
    distinct = list(first_of.values())
    notes = []
    pairs = []
    if len(distinct) > MOST_COMPARED:
        notes.append(
            f"{len(distinct)} different candidates are too many to compare with each other (at "
            f"most {MOST_COMPARED}); only equal ones are listed as near-duplicates"
        )
    else:
        texts = ["" if kind == "image" else candidates[i].text for i in distinct]
        nearest = MAX_COSINE[kind]
        near = near_duplicates(texts, features[distinct], max_cosine=nearest, most=MOST_TWINS)
        pairs = [Twins(distinct[t.first], distinct[t.second], t.similarity) for t in near]
    twins = sorted([*copies, *pairs])
    if len(pairs) >= MOST_TWINS or len(twins) > MOST_TWINS:
        notes.append(f"there are more near-duplicates than the {MOST_TWINS} that are listed")
    names = [candidate.id or f"c{index}" for index, candidate in enumerate(candidates)]
    rows = [
        {"first": names[twin.first], "second": names[twin.second], "similarity": twin.similarity}
        for twin in twins[:MOST_TWINS]
    ]
    return rows, notes


def _content(candidate: Candidate, kind: str) -> str:
    return str(candidate.image) if kind == "image" else candidate.text


def _text_rows(path: Path, _: bool) -> Iterator[Row]:
    """Read a text file as `list_items` does."""
    for line, text in list_items(_decoded(path)):
        yield Row(Candidate(text=text, source="given"), None, f"{path}, line {line}")


def list_items(text: str) -> list[tuple[int, str]]:
    """Return the items of a list as somebody wrote it, each with the number of its first line.

    Where lines have bullets or numbers, an item begins at each; the lines that follow it belong to
    it, and what stands before the first is a heading if it ends with a colon. Otherwise an item is
    a paragraph if a blank line divides any, else a line.
    """
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    filled = [(number, line) for number, line in lines if line]
    if not filled:
        return []
    marked = sum(bool(_MARK.match(line)) for _, line in filled)
    items: list[tuple[int, list[str]]] = []
    if marked > 1 and 2 * marked >= len(filled):
        for number, line in filled:
            bare = _MARK.sub("", line, count=1)
            if bare != line or not items:
                items.append((number, [bare]))
            else:
                items[-1][1].append(line)
        if items[0][1][-1].endswith(":") and not _MARK.match(filled[0][1]):
            items.pop(0)
    else:
        divided = filled[-1][0] - filled[0][0] + 1 > len(filled)
        for number, line in filled:
            goes_on = items and divided and number == items[-1][0] + len(items[-1][1])
            if goes_on:
                items[-1][1].append(line)
            else:
                items.append((number, [line]))
    return [(number, " ".join(block)) for number, block in items if "".join(block)]


def read_texts(path: str | Path) -> list[str]:
    """Return the texts in a file that a stranger may have written: nothing else in it is used.

    It is `.txt`, `.csv` or `.jsonl` as for `read_pool`, a `.csv` also without a heading if it has
    one column; or `.json`: a saved pool, or an array of strings and objects with `text`. Raises as
    `read_pool` does, and if it refers to pictures.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".json":
        texts = _json_texts(path)
    elif suffix == ".csv" and (column := _only_column(path)) is not None:
        texts = column
    else:
        texts = [row.candidate.text for row in _rows(path, pictures=False)[0]]
    texts = [" ".join(text.split()) for text in texts]
    if not any(texts):
        raise FileFormatError(f"{path}: is empty; expected at least one candidate")
    return list(filter(None, texts))


def _json_texts(path: Path) -> list[str]:
    try:
        value = parse_json(_decoded(path))
    except ValueError as error:
        raise FileFormatError(f"{path}: is not JSON, or was cut short ({error})") from error
    items = value.get("candidates") if isinstance(value, dict) else value
    if not isinstance(items, list):
        raise FileFormatError(f"{path}: expected an array of texts, or a saved pool")
    texts = []
    for number, item in enumerate(items, 1):
        text = item.get("text") if isinstance(item, dict) else item
        if not isinstance(text, str) or not text.strip():
            raise FileFormatError(f"{path}, item {number}: expected a text; got {str(text)[:60]}")
        texts.append(text)
    return texts


def _only_column(path: Path) -> list[str] | None:
    """Return the cells of a CSV file of one column, without the heading `text`; else None."""
    try:
        rows = list(csv.reader(io.StringIO(_decoded(path), newline=""), strict=True))
    except csv.Error as error:
        raise FileFormatError(f"{path}: is not CSV ({error})") from error
    if any(len(cells) > 1 for cells in rows):
        return None
    cells = [row[0] for row in rows if row]
    return cells[1:] if cells and cells[0].strip().casefold() == "text" else cells


def _jsonl_rows(path: Path, pictures: bool) -> Iterator[Row]:
    """Read JSON Lines: strings, or objects with `text` or `image`, and `features` if any."""
    # Not splitlines(): JSON strings may hold what that takes for the end of a line.
    for number, line in enumerate(_decoded(path).split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            value = parse_json(line)
        except ValueError as error:
            raise FileFormatError(f"{where}: is not JSON, or was cut short ({error})") from error
        if isinstance(value, str):
            value = {"text": value}
        if not isinstance(value, dict):
            raise FileFormatError(
                f'{where}: expected a string or an object such as {{"text": "..."}}; got '
                f"{type(value).__name__}"
            )
        features = value.pop("features", None)
        numbers = None if features is None else _numbers(features, where)
        yield Row(_candidate(value, path, where, pictures), numbers, where)


def _csv_rows(path: Path, pictures: bool) -> Iterator[Row]:
    """Read CSV with a column `text` or `image`; features stand in columns `f0`, `f1`, ..."""
    reader = csv.reader(io.StringIO(_decoded(path), newline=""), strict=True)
    try:
        columns = [name.strip() for name in next(reader, [])]
        axes = _axes(columns, path)
        for cells in reader:
            where = f"{path}, line {reader.line_num}"
            if not cells:
                continue
            if len(cells) != len(columns):
                raise FileFormatError(
                    f"{where}: has {len(cells)} cells, expected {len(columns)} as in line 1; was "
                    "the file cut short, or is a comma not in quotes?"
                )
            row = dict(zip(columns, cells, strict=True))
            numbers = [row.pop(axis) for axis in axes]
            filled = {name: cell for name, cell in row.items() if cell.strip()}
            candidate = _candidate(filled, path, where, pictures)
            yield Row(candidate, _numbers(numbers, where) if axes else None, where)
    except csv.Error as error:
        raise FileFormatError(f"{path}, line {reader.line_num}: is not CSV ({error})") from error


def _axes(columns: list[str], path: Path) -> list[str]:
    """Check the columns and return those of the features, in their order."""
    if not {"text", "image"} & set(columns):
        names = ", ".join(columns[:10])
        raise FileFormatError(
            f"{path}, line 1: expected a column named text or image; found {names or 'nothing'}"
        )
    if len(set(columns)) < len(columns):
        raise FileFormatError(f"{path}, line 1: a column is named twice in {', '.join(columns)}")
    axes = [f"f{axis}" for axis in range(sum(bool(_FEATURE.fullmatch(c)) for c in columns))]
    if missing := [axis for axis in axes if axis not in columns]:
        raise FileFormatError(
            f"{path}, line 1: features must stand in columns f0 to f{len(axes) - 1} without a gap; "
            f"{missing[0]} is missing"
        )
    return axes


def _numbers(values: Any, where: str) -> list[float]:
    try:
        numbers = [float(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        numbers = []
    if not numbers or not all(map(math.isfinite, numbers)):
        raise FileFormatError(f"{where}: features must be finite numbers; got {str(values)[:60]}")
    return numbers


def _candidate(value: dict[str, Any], path: Path, where: str, pictures: bool) -> Candidate:
    for name in ("text", "image", "id", "source", "interest"):
        if name == "id" and isinstance(value.get(name), int):
            value = {**value, name: str(value[name])}
        if value.get(name) is not None and not isinstance(value[name], str):
            raise FileFormatError(f"{where}: {name} must be a text; got {str(value[name])[:60]}")
    if not isinstance(value.get("meta", {}), dict):
        raise FileFormatError(f"{where}: meta must be an object; got {str(value['meta'])[:60]}")
    image = value.get("image")
    if image and not pictures:
        raise FileFormatError(f"{where}: names a picture; expected texts alone")
    if not (value.get("text") or "").strip() and not image:
        raise FileFormatError(f"{where}: expected a text or an image; both are missing or empty")
    if image:
        file = path.parent / image
        if not file.is_file():
            raise FileFormatError(f"{where}: there is no image {file}")
        value = {**value, "image": str(file.absolute())}
    fields = {name: item for name, item in value.items() if item is not None and name != "index"}
    return Candidate.from_dict({"source": "given", **fields})


def _decoded(path: Path) -> str:
    """Return a file's text, or raise `FileFormatError` if it cannot be read or is not UTF-8."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error.strerror})") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"{path}, line {line}: is not UTF-8 text (byte {data[error.start]:#04x}); save it as "
            "UTF-8"
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FileFormatError(f"{path}, line {line}: is not text (it holds a zero byte)")
    return text


_READERS: dict[str, Callable[[Path, bool], Iterator[Row]]] = {
    ".txt": _text_rows,
    ".jsonl": _jsonl_rows,
    ".csv": _csv_rows,
}
