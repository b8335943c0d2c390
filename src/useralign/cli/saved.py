"""A session and its pool in one file, written after every answer."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from useralign.errors import FileFormatError
from useralign.files import cache_dir, read_json, write_json
from useralign.pool import Pool
from useralign.session import Session

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = "useralign-saved/1"


@dataclass(frozen=True, slots=True)
class Saved:
    """The file of a session."""

    path: Path

    def write(self, session: Session, answered_by: str = "person") -> None:
        """Write the session as it is now, with who answered."""
        data = {
            "format": FORMAT,
            "answered_by": answered_by,
            "pool": session.pool.to_dict(),
            "session": session.to_dict(),
        }
        write_json(self.path, data)

    def read(self) -> Session:
        """Return the session in the file, or raise `FileFormatError` if there is none."""
        data: Any = read_json(self.path)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise FileFormatError(
                f"{self.path}: not a saved session; expected what `useralign ask --save` writes"
            )
        try:
            return Session.from_dict(Pool.from_dict(data["pool"]), data["session"])
        except (KeyError, FileFormatError) as error:
            raise FileFormatError(f"{self.path}: the saved session is damaged ({error})") from error


def default_file(session: Session) -> Saved:
    """Return a new file in the cache, for a session without `--save`; none is overwritten."""
    folder = cache_dir("sessions")
    paths = (folder / f"{session.pool.fingerprint}-{number}.json" for number in count(1))
    return Saved(next(path for path in paths if not path.exists()))
