"""Pictures in the database: decoded, made small enough, and encoded anew.

Whatever a model or a stranger hands over as a picture, what a browser gets is a file that we
wrote: no scripts, no metadata, no surprises in the format.
"""

from __future__ import annotations

import hashlib
import io
import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, exists, insert, select

from useralign import pictures
from useralign.errors import InputError, NotFoundError
from useralign.extras import import_extra
from useralign.store.database import Part, take_turns
from useralign.store.schema import media, pools

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import ColumnElement, Connection, Exists

_TURN = "pictures"  # one adds or deletes them at a time
LARGEST_SIDE = 1024
LARGEST_FILE = 30_000_000
LARGEST_PIXELS = 40_000_000


@dataclass(frozen=True, slots=True)
class Media:
    """A picture as it is served."""

    id: str  # the hash of its content
    type: str  # its media type
    width: int
    height: int
    content: bytes


def read(path: str | Path) -> Media:
    """Read a picture file of whatever format and encode it anew; a shipped one is served as it is.

    What is no picture, or too large to be opened safely, is an InputError.
    """
    file = Path(path)
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise InputError(f"{path}: the picture is larger than {LARGEST_FILE // 10**6} MB")
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: the picture cannot be read ({error.strerror})") from error
    if pictures.is_shipped(file):
        return _webp(content, pictures.SIDE, pictures.SIDE)
    return encode(content, str(path))


def encode(content: bytes, name: str = "the picture") -> Media:
    """Decode a picture and encode it anew, as WebP, at most `LARGEST_SIDE` pixels wide and high."""
    picture = _decoded(content, name)
    picture.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    buffer = io.BytesIO()
    picture.save(buffer, "WEBP", quality=90, method=2)
    return _webp(buffer.getvalue(), picture.width, picture.height)


def _webp(content: bytes, width: int, height: int) -> Media:
    return Media(hashlib.sha256(content).hexdigest(), "image/webp", width, height, content)


def _decoded(content: bytes, name: str) -> Any:
    opener = import_extra("PIL.Image", "pictures", "web")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            opened = opener.open(io.BytesIO(content))
            small = opened.width * opened.height <= LARGEST_PIXELS
            opened.draft("RGB", (LARGEST_SIDE, LARGEST_SIDE))  # a large photograph in part alone
            picture = pictures.flatten(opened) if small else None
    except Exception as error:
        raise InputError(f"{name}: is not a picture that can be read ({error})") from error
    if picture is None:
        raise InputError(f"{name}: has more than {LARGEST_PIXELS // 10**6} megapixels")
    return picture


def insert_missing(connection: Connection, pictures: Sequence[Media]) -> None:
    """Write those pictures that the database does not have."""
    if pictures:
        take_turns(connection, _TURN)
    for picture in pictures:
        present = connection.execute(select(media.c.id).where(media.c.id == picture.id)).first()
        if present is None:
            row = {name: getattr(picture, name) for name in Media.__slots__}
            connection.execute(insert(media).values(row))


def pictures_of(connection: Connection, which: ColumnElement[bool]) -> set[str]:
    """Return the ids of the pictures in some pools."""
    ids: set[object] = set()
    for (data,) in connection.execute(select(pools.c.data).where(pools.c.kind == "image", which)):
        pool = json.loads(data)
        candidates = [*pool["candidates"], pool.get("baseline") or {}]
        ids |= {candidate.get("meta", {}).get("media") for candidate in candidates}
    return {media_id for media_id in ids if isinstance(media_id, str)}


def delete_unused(connection: Connection, ids: Iterable[str]) -> None:
    """Delete those of some pictures that are in no pool any more."""
    candidates = sorted(ids)
    if candidates:
        take_turns(connection, _TURN)
    for media_id in candidates:
        connection.execute(delete(media).where(media.c.id == media_id, ~_holds(media_id)))


def _holds(media_id: str) -> Exists:
    """Return the condition that some pool has a picture."""
    return exists().where(pools.c.kind == "image", pools.c.data.contains(media_id, autoescape=True))


class Pictures(Part):
    """The pictures of a database."""

    def get(self, media_id: str, *owners: str) -> Media:
        """Return a picture that is in everybody's pools, or in those of one of the owners."""
        readable = pools.c.owner.is_(None) | pools.c.owner.in_(owners)
        shows = _holds(media_id).where(readable)
        row = self._database.first(select(media).where(media.c.id == media_id, shows))
        if row is None:
            raise NotFoundError("there is no such picture")
        return Media(row.id, row.type, row.width, row.height, bytes(row.content))
