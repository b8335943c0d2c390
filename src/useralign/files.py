"""Reading and writing files so that nothing is ever half there."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from useralign.errors import FileFormatError


def write_atomically(path: str | Path, content: str | bytes) -> Path:
    """Write a file by way of a neighbour and a rename: the old content or the new, never half.

    Parameters
    ----------
    path : str or Path
    content : str or bytes
        Text is written as UTF-8.

    Returns
    -------
    Path
        Where it was written.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise
    return target


def _umask() -> int:
    """Read the mode mask; the only way to read it is to set it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def write_json(path: str | Path, data: Any) -> Path:
    """Write plain data as a JSON file, atomically, and return its path."""
    return write_atomically(path, json.dumps(data, ensure_ascii=False, indent=1) + "\n")


def read_json(path: str | Path) -> Any:
    """Read a JSON file; say which file and what is wrong with it when it cannot be read.

    Raises
    ------
    FileFormatError
        If there is no such file, or it is not JSON (for instance cut short).
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error.strerror})") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise FileFormatError(f"{path}: is not JSON, or was cut short ({error})") from error
