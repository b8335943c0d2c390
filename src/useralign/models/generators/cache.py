"""Answers kept on disk, so that nothing is generated, waited for or paid for twice."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from useralign.errors import FileFormatError
from useralign.files import cache_dir, read_json, write_atomically
from useralign.models.generators.base import Generator, Picture, Text, TextRequest, plain

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from useralign.models.generators.base import ImageRequest

log = logging.getLogger(__name__)
FORMAT = 1


class Cached(Generator):
    """Another generator, whose answers are kept in a folder.

    The key is everything that decides an answer: the generator's `identity` (name, model,
    address without credentials, ...) and the whole request. A request with a temperature above
    0 and without a seed asks for a fresh sample, and is neither looked up nor kept; so is a
    picture without a seed.

    An entry that is damaged counts as missing. When the folder cannot be written, the answer
    is returned all the same, and the trouble logged.

    Parameters
    ----------
    generator : Generator
    folder : str or Path, optional
        By default `generations` in the cache folder.
    """

    name = "cached"

    def __init__(self, generator: Generator, folder: str | Path | None = None) -> None:
        self.generator = generator
        self.folder = Path(folder) if folder is not None else cache_dir("generations")
        self.makes = generator.makes
        self.continues = generator.continues
        self.model = generator.model
        self._busy: dict[str, asyncio.Lock] = {}

    def __repr__(self) -> str:
        return f"Cached({self.generator!r})"

    @property
    def identity(self) -> dict[str, str]:
        """That of the generator itself: where an answer is kept does not change it."""
        return self.generator.identity

    async def text(self, request: TextRequest) -> Text:
        """Return the kept text, or generate it and keep it."""
        if request.seed is None and request.temperature > 0:
            return await self.generator.text(request)
        path = self._path("text", request)
        async with self._alone(path):
            if (kept := _read_text(path)) is not None:
                return kept
            made = await self.generator.text(request)
            self._keep(path, request, {**asdict(made), "cached": False})
            return made

    async def image(self, request: ImageRequest) -> Picture:
        """Return the kept picture, or generate it and keep it."""
        if request.seed is None:
            return await self.generator.image(request)
        path = self._path("image", request)
        async with self._alone(path):
            if (kept := _read_picture(path)) is not None:
                return kept
            made = await self.generator.image(request)
            digest = hashlib.sha256(made.data).hexdigest()
            file = path.with_suffix("." + made.media_type.rpartition("/")[2])
            fields = asdict(made) | {"data": {"file": file.name, "sha256": digest}}
            self._keep(path, request, fields, {file: made.data})
            return made

    async def release(self) -> None:
        """Let the generator go."""
        await self.generator.release()

    async def aclose(self) -> None:
        """Close the generator."""
        await self.generator.aclose()

    def _path(self, kind: str, request: TextRequest | ImageRequest) -> Path:
        what = {"format": FORMAT, "kind": kind, "by": self.identity, "request": plain(request)}
        text = json.dumps(what, sort_keys=True, ensure_ascii=True)
        digest = hashlib.sha256(text.encode()).hexdigest()
        return self.folder / digest[:2] / f"{digest}.json"

    @contextlib.asynccontextmanager
    async def _alone(self, path: Path) -> AsyncIterator[None]:
        """Let the second of two equal requests wait for the first, and find its answer."""
        lock = self._busy.setdefault(path.name, asyncio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.locked():
                self._busy.pop(path.name, None)

    def _keep(
        self,
        path: Path,
        request: TextRequest | ImageRequest,
        fields: dict[str, Any],
        files: dict[Path, bytes] | None = None,
    ) -> None:
        entry = {"by": self.identity, "request": plain(request), "answer": fields}
        try:
            for file, content in (files or {}).items():
                write_atomically(file, content)
            # Last, because it is what says that the others are there.
            write_atomically(path, json.dumps(entry, ensure_ascii=False, indent=1))
        except OSError as error:
            log.warning("an answer could not be kept in %s (%s)", self.folder, error.strerror)


def _answer(path: Path) -> dict[str, Any] | None:
    try:
        entry = read_json(path)
    except FileFormatError:
        return None
    answer = entry.get("answer") if isinstance(entry, dict) else None
    return answer if isinstance(answer, dict) else None


def _read_text(path: Path) -> Text | None:
    answer = _answer(path)
    if answer is None or not all(isinstance(answer.get(k), str) for k in _TEXT_FIELDS):
        return None
    return Text(answer["text"], answer["model"], answer["finish"], cached=True)


def _read_picture(path: Path) -> Picture | None:
    answer = _answer(path)
    if answer is None or not isinstance(answer.get("data"), dict):
        return None
    try:
        # Only the name counts: an entry must not lead out of its own folder.
        data = (path.parent / Path(answer["data"]["file"]).name).read_bytes()
        if hashlib.sha256(data).hexdigest() != answer["data"]["sha256"]:
            return None
        return Picture(data, str(answer["model"]), str(answer["media_type"]), cached=True)
    except (OSError, KeyError, TypeError):
        return None


_TEXT_FIELDS = ("text", "model", "finish")
