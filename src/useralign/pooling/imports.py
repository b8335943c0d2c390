"""Import a pool that a user already has: a saved pool, a list of answers, a folder of files."""

from __future__ import annotations

import csv
import io
import math
import re
import warnings
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from useralign.errors import FileFormatError, ScalingWarning
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
FULL = 60  # characters of a line that may go on in the next
MOST_TWINS = 10_000  # pairs that are alike and are listed
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}  # between the columns of a CSV file
_FEATURE = re.compile(r"f\d+")
# A bullet or a number before an item, with the box of a list of things to do.
_MARK = re.compile(
    r"(?P<indent>\s*)(?:[-*+\u00b7\u2013\u2014\u2022\u2023\u25aa\u25cf]|\(?(?P<number>\d{1,3})[.):])"
    r"\s+(?:\[[ xX]?\]\s+)?"
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
    *,
    normalise: str | None = None,
) -> Pool:
    """Read a pool from a file or a folder; a saved pool has a question of its own.

    `.txt`: one answer per line, paragraphs with blank lines between them, or a list with bullets or
    numbers. `.jsonl`: strings, or objects with `text` or `image`, and maybe `id`, `source`,
    `interest`, `features`; other keys go to `meta`. `.json`: an array of these, or a saved pool.
    `.csv`: the same as columns, the features as `f0`, `f1`, ... A folder: one answer per `.txt`
    file, or one picture per image file, with a `.txt` file of the same name for what it shows.

    The embedder is for files without features; `normalise` is as for `Pool`, in place of what is
    usual with such features, or of what was saved. Near-duplicates stay; `meta["near_duplicates"]`
    lists them. Raises `FileFormatError` if it is empty, cut short, cannot be decoded, has an id
    twice, or is of another form.
    """
    path = Path(path)
    saved = path.suffix.lower() == ".json" and path.is_file()
    if saved and not _decoded(path).lstrip().startswith("["):
        pool = _load(path, normalise)
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
    if rows[0].features:
        name, usual = None, "ball"
        features = np.array([row.features for row in rows], dtype=np.float64)
    else:
        embedded = Features(embedder_for(embedder, kind), kind)
        features, name = embedded.matrix(candidates), embedded.embedder.name
        usual = normalisation(features)
    twins, note = _twins(candidates, features, kind)
    meta = {"kind": kind, "near_duplicates": twins, "notes": [*notes, *note]}
    how = usual if normalise is None else normalise
    return Pool(question or "", candidates, features, normalise=how, embedder=name, meta=meta)


def _load(path: Path, normalise: str | None) -> Pool:
    """Return a saved pool, scaled otherwise if that is asked for."""
    if normalise is None:
        return Pool.load(path)
    with warnings.catch_warnings():  # about what will not be so
        warnings.simplefilter("ignore", ScalingWarning)
        pool = Pool.load(path)
    return pool.scaled(normalise)


def _rows(path: Path, *, pictures: bool = True) -> tuple[list[Row], list[str]]:
    """Return the rows of a file or folder, and notes; without `pictures` no other file is read."""
    if path.is_dir():
        return _folder(path)
    if not path.exists():
        raise FileFormatError(f"{path}: there is no such file or folder")
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise FileFormatError(
            f"{path}: cannot tell its form by its name; expected {', '.join(_READERS)}, or a folder"
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
    owners: dict[str | None, str] = {}
    first = len(rows[0].features or ())
    for candidate, features, where in rows:
        if (owner := owners.setdefault(candidate.id, where)) != where and candidate.id is not None:
            raise FileFormatError(
                f"{where}: the id {candidate.id!r} is already that of {owner}; ids must differ"
            )
        if (length := len(features or ())) != first:
            raise FileFormatError(
                f"{where}: has {length} features, but the first candidate has {first}; "
                "expected the same number, or none at all"
            )


def _twins(
    candidates: list[Candidate], features: NDArray[np.float64], kind: str
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the pairs that are alike, and a note if there are more than are listed.

    Copies are named once each, beside the first of them. The others are compared with each other
    only, and not at all where there are too many.
    """
    first_of: dict[str, int] = {}
    contents = [str(c.image) if kind == "image" else c.text for c in candidates]
    originals = [first_of.setdefault(content, i) for i, content in enumerate(contents)]
    twins = [Twins(first, i, 1.0) for i, first in enumerate(originals) if first != i]
    distinct, notes, more = list(first_of.values()), [], False
    if len(distinct) > MOST_COMPARED:
        notes.append(
            f"{len(distinct)} different candidates are too many to compare with each other (at "
            f"most {MOST_COMPARED}); only equal ones are listed as near-duplicates"
        )
    else:
        texts = ["" if kind == "image" else contents[i] for i in distinct]
        nearest = MAX_COSINE[kind]
        near = near_duplicates(texts, features[distinct], max_cosine=nearest, most=MOST_TWINS)
        twins += [Twins(distinct[i], distinct[j], similarity) for i, j, similarity in near]
        more = len(near) >= MOST_TWINS
    if more or len(twins) > MOST_TWINS:
        notes.append(f"there are more near-duplicates than the {MOST_TWINS} that are listed")
    names = [candidate.id or f"c{index}" for index, candidate in enumerate(candidates)]
    rows = [
        {"first": names[i], "second": names[j], "similarity": similarity}
        for i, j, similarity in sorted(twins)[:MOST_TWINS]
    ]
    return rows, notes


def _text_rows(path: Path, _: bool) -> Iterator[Row]:
    """Read a text file as `list_items` does."""
    for line, text in list_items(_decoded(path)):
        yield Row(Candidate(text=text, source="given"), None, f"{path}, line {line}")


def list_items(text: str) -> list[tuple[int, str]]:
    """Return the items of a list as somebody wrote it, each with the number of its first line.

    Where lines have bullets or numbers, an item begins at each, and lines that follow belong to it;
    but where most items have one line, a line that looks like an item is one, mark or not. What
    stands before the first is a heading if it ends with a colon, and a paragraph after the last
    that asks or exclaims is not of the list. Without marks an item is a paragraph if a blank line
    divides any, else a line.
    """
    every = text.splitlines()
    numbers = [n for n, line in enumerate(every, 1) if line and not line.isspace()]
    lines = [every[n - 1].rstrip() for n in numbers]
    marks = list(map(_MARK.match, lines))
    counters = [int(mark["number"]) for mark in marks if mark and mark["number"]]
    counted = len(counters) > 1 and counters == list(range(1, len(counters) + 1))
    marked = len(marks) - marks.count(None)
    has_marks = counted or (marked > 1 and 2 * marked >= len(lines))
    bounds = _item_bounds(numbers, lines, marks) if has_marks else _paragraph_bounds(numbers)
    texts = list(map(str.strip, lines))
    if len(bounds) <= len(lines):  # else each line is an item
        texts = [" ".join(texts[i:j]) for i, j in pairwise(bounds)]
        numbers = [numbers[i] for i in bounds[:-1]]
    if has_marks:
        texts = [text[mark.end() :] if (mark := _MARK.match(text)) else text for text in texts]
    return [item for item in zip(numbers, texts, strict=True) if item[1]]


def _paragraph_bounds(numbers: list[int]) -> list[int]:
    """Return where paragraphs begin, and the end; without blank lines each line is one."""
    divided = bool(numbers) and numbers[-1] - numbers[0] + 1 > len(numbers)
    if not divided:
        return list(range(len(numbers) + 1))
    starts = [k for k, (before, n) in enumerate(pairwise(numbers), 1) if n > before + 1]
    return [0, *starts, len(numbers)]


def _item_bounds(
    numbers: list[int], lines: list[str], marks: list[re.Match[str] | None]
) -> list[int]:
    """Return where the items of a list begin, and the end, as indices of its lines.

    Marks further in than the first one belong to an item.
    """
    margin = next(mark.end("indent") for mark in marks if mark)
    starts = [k for k, mark in enumerate(marks) if mark and mark.end("indent") <= margin]
    if starts[0] > 0 and not lines[starts[0] - 1].endswith(":"):
        starts.insert(0, 0)
    end = len(lines)
    if end - starts[-1] > 1 and numbers[-1] > numbers[-2] + 1 and lines[-1].endswith(("!", "?")):
        end -= 1  # what a chatbot says after its list
    if 2 * sum(j - i > 1 for i, j in pairwise([*starts, end])) > len(starts):
        return [*starts, end]  # a title and a text each, say
    begins = set(starts)
    return [k for k in range(starts[0], end) if k in begins or _looks_new(lines, k)] + [end]


def _looks_new(lines: list[str], k: int) -> bool:
    """Whether a line looks like an item: not further in, nor after one that is full."""
    return not (lines[k][0].isspace() or lines[k][0].islower() or len(lines[k - 1]) >= FULL)


def read_texts(path: str | Path) -> list[str]:
    """Return the texts in a file that a stranger may have written: nothing else in it is used.

    Its form is as for `read_pool`, but that a `.csv` of one column needs no heading. Raises as that
    does, and if it refers to pictures.
    """
    rows, _ = _rows(Path(path), pictures=False)
    if not rows:
        raise FileFormatError(f"{path}: is empty; expected at least one candidate")
    return [" ".join(row.candidate.text.split()) for row in rows]


def _json_rows(path: Path, pictures: bool) -> Iterator[Row]:
    """Read an array of what lines of JSON Lines may hold, or the candidates of a saved pool."""
    value = _parsed(_decoded(path), str(path))
    items = value.get("candidates") if isinstance(value, dict) else value
    if not isinstance(items, list):
        raise FileFormatError(f"{path}: expected an array of texts, or a saved pool")
    for number, item in enumerate(items, 1):
        yield _json_row(item, path, f"{path}, item {number}", pictures)


def _jsonl_rows(path: Path, pictures: bool) -> Iterator[Row]:
    """Read JSON Lines: strings, or objects with `text` or `image`, and `features` if any."""
    # Not splitlines(): JSON strings may hold what that takes for the end of a line.
    for number, line in enumerate(_decoded(path).split("\n"), 1):
        if line.strip():
            where = f"{path}, line {number}"
            yield _json_row(_parsed(line, where), path, where, pictures)


def _parsed(text: str, where: str) -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise FileFormatError(f"{where}: is not JSON, or was cut short ({error})") from error


def _json_row(value: Any, path: Path, where: str, pictures: bool) -> Row:
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, dict):
        raise FileFormatError(
            f'{where}: expected a text, or an object such as {{"text": "..."}}; got '
            f"{type(value).__name__}"
        )
    features = value.pop("features", None)
    numbers = None if features is None else _numbers(features, where)
    return Row(_candidate(value, path, where, pictures), numbers, where)


def _csv_rows(path: Path, pictures: bool) -> Iterator[Row]:
    """Read CSV with a column `text` or `image`; features stand in columns `f0`, `f1`, ...

    Where texts alone are expected, a single column needs no heading.
    """
    content = _decoded(path)
    mark = _separator(content.partition("\n")[0])
    reader = csv.reader(io.StringIO(content, newline=""), strict=True, delimiter=mark)
    try:
        first = next(reader, [])
        columns = [name.strip() for name in first]
        bare = len(columns) == 1 and not pictures
        if bare:
            first, columns = first if columns[0].casefold() != "text" else [], ["text"]
        axes = _axes(columns, path)
        for cells in chain([first] if bare else [], reader):
            where = f"{path}, line {reader.line_num}"
            if not any(map(str.strip, cells)):
                continue
            if len(cells) != len(columns):
                raise FileFormatError(
                    f"{where}: has {len(cells)} cells, expected {len(columns)} as in line 1; was "
                    f"the file cut short, or is a {SEPARATORS[mark]} not in quotes?"
                )
            row = dict(zip(columns, cells, strict=True))
            numbers = [row.pop(axis) for axis in axes]
            filled = {name: cell for name, cell in row.items() if cell.strip()}
            candidate = _candidate(filled, path, where, pictures)
            yield Row(candidate, _numbers(numbers, where) if axes else None, where)
    except csv.Error as error:
        raise FileFormatError(f"{path}, line {reader.line_num}: is not CSV ({error})") from error


def _separator(heading: str) -> str:
    """Return what separates the columns that a heading names; many spreadsheets use no comma."""
    for mark in SEPARATORS:
        names = [name.strip(' "\r') for name in heading.split(mark)]
        if len(names) > 1 and ("text" in names or "image" in names):
            return mark
    return ","


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
    if isinstance(value.get("id"), int):
        value = {**value, "id": str(value["id"])}
    for name in ("text", "image", "id", "source", "interest"):
        if value.get(name) is not None and not isinstance(value[name], str):
            raise FileFormatError(f"{where}: {name} must be a text; got {str(value[name])[:60]}")
    if not isinstance(value.get("meta", {}), dict):
        raise FileFormatError(f"{where}: meta must be an object; got {str(value['meta'])[:60]}")
    if image := value.get("image"):
        file = path.parent / image
        if not pictures:
            raise FileFormatError(f"{where}: names a picture; expected texts alone")
        if not file.is_file():
            raise FileFormatError(f"{where}: there is no image {file}")
        value = {**value, "image": str(file.absolute())}
    elif not (value.get("text") or "").strip():
        raise FileFormatError(f"{where}: expected a text or an image; both are missing or empty")
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
    ".json": _json_rows,
    ".txt": _text_rows,
    ".jsonl": _jsonl_rows,
    ".csv": _csv_rows,
}
