"""What a person brings along: a pasted list, a file with one, or pictures, as a pool of their own.

Only texts and pictures are taken from files, never paths, features or anything else in them.
Pictures are decoded and encoded anew before anybody else opens them.
"""

# ruff: noqa: TC002 - the framework reads annotations when it runs
from __future__ import annotations

import re
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np
from starlette.datastructures import UploadFile
from starlette.requests import Request

from useralign.errors import FileFormatError, InputError, OptionError
from useralign.extras import import_extra
from useralign.models import embedder_for, picture_suffix
from useralign.pool import Pool
from useralign.pooling import list_items, read_pool, read_texts
from useralign.pooling.parse import words
from useralign.store import media

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from useralign.store.pools import Pools

FEWEST = 2
MOST_TEXTS = 500
MOST_PICTURES = 60
LARGEST_LIST = 400_000  # characters; 500 answers of 130 words
MOST_LINES = 20_000  # of a list, blank ones included: reading takes its time for each
LONGEST_TEXT = 4000  # characters
LISTS = (".txt", ".csv", ".jsonl", ".json")
WHICH = "Which of these suits you best?"  # when there is no other question
_SEPARATOR = re.compile(r"[;,]\s+")
# What cameras and screens call their files says nothing of what is on them.
_CAMERA = re.compile(
    r"(?:img|dscn?|pxl|photo|image|picture|screenshot|screen shot|p)?[\s\d_.()x-]*", re.IGNORECASE
)
_turns = threading.Semaphore(2)  # uploads that are decoded side by side: pictures take memory


@dataclass
class OwnAnswers:
    """The answers that somebody brought, as read so far."""

    listed: str = ""  # the texts as a list to show again, one per line where it came from files
    texts: list[str] = field(default_factory=list)
    pictures: list[tuple[str, bytes]] = field(default_factory=list)  # names and contents
    size: int = 0  # characters of all lists
    lines: int = 0

    def __bool__(self) -> bool:
        return bool(self.listed.strip() or self.texts or self.pictures)

    def add(self, pasted: str, files: Sequence[UploadFile]) -> None:
        """Take in a pasted list and some files; `InputError` if one of them is not usable.

        A list of one line is divided at its commas or semicolons.
        """
        self.listed = pasted
        self._count("The list", pasted)
        items = [text for _, text in list_items(pasted)]
        if len(items) == 1:
            items = [text.strip() for text in _SEPARATOR.split(items[0])]
        self.texts += [" ".join(item.split()) for item in items]
        for file in files:
            self._add_file(file)

    def _add_file(self, file: UploadFile) -> None:
        """Take in a file: a picture or a list."""
        name = PurePosixPath((file.filename or "").replace("\\", "/")).name[:100]
        if (file.size or 0) > media.LARGEST_FILE:
            raise InputError(
                f"{name}: is larger than {media.LARGEST_FILE // 10**6} MB; make it smaller"
            )
        content = file.file.read()
        if picture_suffix(content) is not None:
            self.pictures.append((name, content))
            return
        suffix = Path(name).suffix.lower()
        if suffix not in LISTS:
            raise FileFormatError(
                f"{name or 'a file'}: is neither a picture (PNG, JPEG, WebP, GIF, BMP) nor a list "
                f"({', '.join(LISTS)})"
            )
        self._count(name, content.decode("utf-8", "replace"))
        texts = _texts_in(content, name, suffix)
        self.texts += texts
        # A page cannot choose a file for somebody: so what was in it comes back as a list.
        self.listed = "\n".join(filter(None, [self.listed.rstrip(), *texts]))

    def _count(self, name: str, text: str) -> None:
        """Count a list; an `OptionError` if all of them together are too much to be read."""
        self.size += len(text)
        if self.size <= LARGEST_LIST:
            self.lines += len(text.splitlines())
        if self.size > LARGEST_LIST or self.lines > MOST_LINES:
            subject = f"{name} has" if self.size == len(text) else f"With {name} the list has"
            large = self.size > LARGEST_LIST
            amount = f"{self.size:,} characters" if large else f"{self.lines:,} lines"
            raise OptionError(
                f"{subject} {amount}, too much for a list of at most {MOST_TEXTS} answers; leave "
                "out what is no answer."
            )

    def store(self, pools: Pools, question: str, owner: str) -> str:
        """Store the pool of these answers and return its id; what is there twice counts once.

        The question may be empty. Raises `InputError` if there are too few or too many answers, or
        a text is too long.
        """
        if self.pictures and self.texts:
            raise OptionError(
                "Those are pictures and texts. Compare one kind at a time: leave the list empty, "
                "or choose no pictures."
            )
        if self.pictures:
            _check_count(len(self.pictures), MOST_PICTURES, "picture")
            with _turns, tempfile.TemporaryDirectory() as folder:
                _write_pictures(self.pictures, Path(folder))
                embedder = embedder_for(None, "image")
                blind = embedder.trouble() is not None
                pool = read_pool(folder, question or WHICH, colours if blind else embedder)
                return pools.add(pool, owner)
        texts = distinct_texts(self.texts)
        _check_count(len(texts), MOST_TEXTS, "answer")
        if long := [text for text in texts if len(text) > LONGEST_TEXT]:
            raise OptionError(
                f"“{long[0][:40]} …” has {len(long[0]):,} characters; at most {LONGEST_TEXT:,} "
                "can be compared at a glance. Shorten it."
            )
        return pools.add(Pool.from_texts(question or WHICH, texts), owner)


def distinct_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts of which no earlier one has the same words."""
    distinct: dict[tuple[str, ...], str] = {}
    for text in texts:
        distinct.setdefault(tuple(words(text)) or (text,), text)
    return list(distinct.values())


async def files(request: Request) -> list[UploadFile]:
    """Return the files of a form, if any were chosen."""
    parts = (await request.form()).getlist("files")
    return [part for part in parts if isinstance(part, UploadFile) and part.filename]


def _check_count(count: int, most: int, what: str) -> None:
    if count < FEWEST:
        got = f"There is only one {what}" if count else f"There is no {what}"
        raise OptionError(f"{got}. Give at least {FEWEST}, each on a line of its own.")
    if count > most:
        raise OptionError(f"There are {count:,} {what}s; at most {most} can be compared here.")


def _texts_in(content: bytes, name: str, suffix: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"list{suffix}"
        path.write_bytes(content)
        try:
            return read_texts(path)
        except FileFormatError as error:
            raise FileFormatError(str(error).replace(str(path), name)) from error


def _write_pictures(pictures: Sequence[tuple[str, bytes]], folder: Path) -> None:
    """Write pictures anew, with what their names say of them; one that is there twice once."""
    ids: set[str] = set()
    for number, (name, content) in enumerate(pictures, 1):
        picture = media.encode(content, name)
        if picture.id in ids:
            continue
        ids.add(picture.id)
        (folder / f"{number:02}.webp").write_bytes(picture.content)
        caption = re.sub(r"[_\-\s]+", " ", Path(name).stem).strip()
        if not _CAMERA.fullmatch(caption):
            (folder / f"{number:02}.txt").write_text(caption, encoding="utf-8")
    _check_count(len(ids), MOST_PICTURES, "picture")


def colours(paths: Sequence[str | Path]) -> NDArray[np.float64]:
    """Return what can be told of pictures without a model, shape (n, 124).

    Brightness and two differences of colours on a grid of 6 by 6, and how much of each edge
    direction there is on one of 2 by 2.
    """
    image, rows = import_extra("PIL.Image", "pictures", "web"), []
    for path in paths:
        with image.open(path) as opened:
            small = np.asarray(opened.convert("YCbCr").resize((48, 48)), dtype=np.float64)
        small = small / 255 - 0.5
        grid = small.reshape(6, 8, 6, 8, 3).mean(axis=(1, 3))
        down, across = np.gradient(small[:, :, 0])
        size, way = np.hypot(down, across), np.arctan2(down, across) % np.pi
        sector = np.minimum((way / np.pi * 4).astype(int), 3)
        edges = [(size * (sector == k)).reshape(2, 24, 2, 24).sum(axis=(1, 3)) for k in range(4)]
        strength = np.array(edges).ravel()
        rows.append(np.concatenate([grid.ravel(), strength / max(float(strength.sum()), 1.0)]))
    return np.array(rows)
