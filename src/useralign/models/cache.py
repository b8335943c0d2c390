"""What models made before, so that nothing is generated, embedded, waited for or paid for twice.

`Cache` maps keys to bytes in one SQLite file: it is in the standard library, opens in under a
millisecond, appends without rewriting, and lets several threads and processes write at once. A file
that is damaged is put aside and begun anew; a disk that is full or read-only costs time, never a
result. `CachedGenerator` keeps replies, `CachedEmbedder` keeps vectors.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import sqlite3
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from useralign.errors import FileFormatError, InputError
from useralign.files import cache_dir, read_json
from useralign.models.embedder import Embedder, as_paths, as_texts, as_vectors
from useralign.models.generator import Generator, Picture, Text, TextRequest, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from useralign.models.generator import ImageRequest

log = logging.getLogger(__name__)
Item = TypeVar("Item")

# Seconds to wait for another process that is writing.
_PATIENCE = 10.0
# A vector of 384 or 512 numbers fits ten times into such a page; smaller ones waste half of it.
_PAGE = "PRAGMA page_size = 16384"
_TABLE = """
CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, value BLOB NOT NULL, crc INTEGER NOT NULL)
"""
_SELECT = "SELECT value, crc FROM entries WHERE key = ?"


class Cache:
    """A mapping from keys to bytes in an SQLite file, which is made at the first `put`.

    Nothing it does fails: what cannot be read counts as missing, and what cannot be written is
    logged and let go.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the values of those keys that are there and undamaged."""
        if not self.path.exists():
            return {}
        try:
            with self._open() as base:
                rows = [(key, base.execute(_SELECT, [key]).fetchone()) for key in keys]
        except sqlite3.Error as error:
            log.warning("the cache %s cannot be read (%s)", self.path, error)
            self._put_aside_if_damaged(error)
            return {}
        return {key: row[0] for key, row in rows if row and _is_sound(*row)}

    def put(self, entries: Mapping[bytes, bytes]) -> None:
        """Store values; those of keys that are there already are replaced."""
        rows = [(key, value, zlib.crc32(value)) for key, value in entries.items()]
        for _ in range(2):
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self._open() as base, base:
                    base.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", rows)
            except (sqlite3.Error, OSError) as error:
                log.warning("a result could not be kept in %s (%s)", self.path, error)
                if not self._put_aside_if_damaged(error):
                    return
            else:
                return

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open a connection for one use: they must not cross threads or forks."""
        base = sqlite3.connect(self.path, timeout=_PATIENCE)
        try:
            base.execute(_PAGE)
            base.execute(_TABLE)
            yield base
        finally:
            base.close()

    def _put_aside_if_damaged(self, error: Exception) -> bool:
        """Rename a file that is not a usable database; return whether a new one may be tried."""
        damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        )
        if damaged:
            with contextlib.suppress(OSError):
                self.path.replace(self.path.with_suffix(".damaged"))
                # It belonged to the damaged file and would be played into the new one.
                self.path.with_name(f"{self.path.name}-journal").unlink(missing_ok=True)
        return damaged


def _is_sound(value: object, crc: object) -> bool:
    return isinstance(value, bytes) and zlib.crc32(value) == crc


class CachedGenerator(Generator):
    """Another generator, whose replies are kept on disk.

    The key is everything that decides a reply: the generator's `identity` (name, model,
    address without credentials, ...) and the whole request. A request with a temperature above
    0 and without a seed asks for a fresh sample, and is neither looked up nor kept; so is a
    picture without a seed. They are in `replies.sqlite` in the folder, by default `generations` in
    the cache; replies that version 0.1 kept there as files of their own are found as well.
    """

    name = "cached"

    def __init__(self, generator: Generator, folder: str | Path | None = None) -> None:
        self.generator = generator
        self.folder = Path(folder) if folder is not None else cache_dir("generations")
        self.makes = generator.makes
        self.continues = generator.continues
        self.sees = generator.sees
        self.model = generator.model
        self._cache = Cache(self.folder / "replies.sqlite")
        self._busy: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()

    def __repr__(self) -> str:
        return f"CachedGenerator({self.generator!r})"

    @property
    def identity(self) -> dict[str, str]:
        """That of the generator itself: where a reply is kept does not change it."""
        return self.generator.identity

    async def text(self, request: TextRequest) -> Text:
        """Return the cached text, or generate it and keep it."""
        if request.seed is None and request.temperature > 0:
            return await self.generator.text(request)
        key = self._key("text", request)
        async with self._alone(key):
            if fields := self._read(key, "text", "model", "finish"):
                return Text(fields["text"], fields["model"], fields["finish"], cached=True)
            text = await self.generator.text(request)
            self._put(key, {"text": text.text, "model": text.model, "finish": text.finish})
            return text

    async def image(self, request: ImageRequest) -> Picture:
        """Return the cached picture, or generate it and keep it."""
        if request.seed is None:
            return await self.generator.image(request)
        key = self._key("image", request)
        async with self._alone(key):
            if fields := self._read(key, "model", "media_type"):
                return Picture(fields["data"], fields["model"], fields["media_type"], cached=True)
            picture = await self.generator.image(request)
            fields = {"model": picture.model, "media_type": picture.media_type}
            self._put(key, fields, picture.data)
            return picture

    async def release(self) -> None:
        """Release the generator."""
        await self.generator.release()

    async def aclose(self) -> None:
        """Close the generator."""
        await self.generator.aclose()

    def _key(self, kind: str, request: TextRequest | ImageRequest) -> bytes:
        parts = {"format": 1, "kind": kind, "by": self.identity, "request": plain(request)}
        text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).digest()

    def _put(self, key: bytes, fields: dict[str, str], data: bytes = b"") -> None:
        """Store a reply as a line of JSON and, for a picture, its bytes."""
        self._cache.put({key: json.dumps(fields).encode() + b"\n" + data})

    def _read(self, key: bytes, *names: str) -> dict[str, Any] | None:
        """Return the fields of a cached reply, or None if there is none that has these."""
        value = self._cache.get([key]).get(key)
        try:
            if value is None:
                fields = _old_reply(self.folder, key.hex())
            else:
                line, _, data = value.partition(b"\n")
                fields = dict(json.loads(line), data=data)
        except (FileFormatError, OSError, KeyError, TypeError, ValueError):
            return None
        return fields if all(isinstance(fields.get(name), str) for name in names) else None

    def _alone(self, key: bytes) -> asyncio.Lock:
        """Return a lock that makes the second of two equal requests wait for the first's reply."""
        return self._busy.setdefault(key, asyncio.Lock())


def _old_reply(folder: Path, digest: str) -> dict[str, Any]:
    """Return the fields of a reply that version 0.1 kept as a JSON file."""
    path = folder / digest[:2] / f"{digest}.json"
    fields = dict(read_json(path)["answer"])
    if file := fields.pop("data", None):
        # Only the name counts: an entry must not lead out of its own folder.
        data = (path.parent / Path(file["file"]).name).read_bytes()
        if hashlib.sha256(data).hexdigest() != file["sha256"]:
            raise ValueError("the picture was changed or damaged")
        fields["data"] = data
    return fields


class CachedEmbedder(Embedder):
    """Another embedder, whose vectors are kept on disk.

    Worth it for embedders that are `costly`; a static one is faster than the disk. They are in
    `vectors.sqlite` in the folder, by default `embeddings` in the cache.
    """

    def __init__(self, embedder: Embedder, folder: Path | None = None) -> None:
        self.embedder = embedder
        self.name = embedder.name
        self.embeds = embedder.embeds
        self._folder = folder

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """The length of the inner embedder's vectors."""
        return self.embedder.dimension

    @property
    def identity(self) -> str:
        """That of the inner embedder."""
        return self.embedder.identity

    def trouble(self) -> str | None:
        """Return why the inner embedder cannot work here, or None."""
        return self.embedder.trouble()

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Embed texts, shape (n, d); those seen before are read from the cache."""
        if "text" not in self.embeds:
            return self.embedder.embed_texts(texts)
        items = as_texts(texts)
        keys = [self._key(b"text", text.encode("utf-8", "surrogatepass")) for text in items]
        return self._embed(keys, items, self.embedder.embed_texts)

    def embed_images(self, paths: Sequence[str | Path]) -> NDArray[np.float64]:
        """Embed pictures, shape (n, d); by the bytes of the file, not by its name."""
        if "image" not in self.embeds:
            return self.embedder.embed_images(paths)
        items = as_paths(paths)
        keys = [self._key(b"image", _digest(path)) for path in items]
        return self._embed(keys, items, self.embedder.embed_images)

    def _key(self, kind: bytes, content: bytes) -> bytes:
        return hashlib.sha256(b"\0".join([self.identity.encode(), kind, content])).digest()

    def _embed(
        self,
        keys: list[bytes],
        items: list[Item],
        embed: Callable[[list[Item]], NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        cache = Cache((self._folder or cache_dir("embeddings")) / "vectors.sqlite")
        vectors = self._usable(cache.get(list(dict.fromkeys(keys))))
        absent = {key: item for key, item in zip(keys, items, strict=True) if key not in vectors}
        if absent:
            rows = as_vectors(embed(list(absent.values())), len(absent), self.dimension, self.name)
            cache.put({key: _packed_vector(row) for key, row in zip(absent, rows, strict=True)})
            vectors |= dict(zip(absent, rows, strict=True))
        return as_vectors([vectors[key] for key in keys], len(keys), self.dimension, self.name)

    def _usable(self, values: dict[bytes, bytes]) -> dict[bytes, NDArray[np.float64]]:
        """Return the vectors, without those that an earlier version of the embedder made."""
        vectors = {key: _unpacked_vector(value) for key, value in values.items()}
        length = self.dimension or next((len(v) for v in vectors.values()), 0)
        return {k: v for k, v in vectors.items() if len(v) == length and np.isfinite(v).all()}


def _digest(path: str | Path) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def _packed_vector(vector: NDArray[np.float64]) -> bytes:
    """Return a type code and the numbers: four bytes each where that loses nothing."""
    row = np.ascontiguousarray(vector, dtype="<f8")
    short = row.astype("<f4")
    exact = bool((short == row).all())
    return b"f" + short.tobytes() if exact else b"d" + row.tobytes()


def _unpacked_vector(value: bytes) -> NDArray[np.float64]:
    kind = "<f4" if value[:1] == b"f" else "<f8"
    return np.frombuffer(value, dtype=kind, offset=1).astype(np.float64)
