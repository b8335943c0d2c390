"""Files of weights that others made: read only if they are the very ones that were measured."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from useralign.errors import ModelUnavailableError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path


def read_pinned(path: Path, sha256: Collection[str], remedy: str) -> bytes:
    """Read a file and make sure that it is the right one.

    Parameters
    ----------
    path : Path
    sha256 : collection of str
        The checksums that it may have.
    remedy : str
        How to get the right one, for messages.

    Raises
    ------
    ModelUnavailableError
        If it cannot be read or is another file: vectors would not compare with earlier ones.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelUnavailableError(
            f"{path}: cannot be read ({error.strerror}); {remedy}"
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if found not in sha256:
        expected = " or ".join(f"{checksum[:16]}..." for checksum in sha256)
        raise ModelUnavailableError(
            f"{path}: has the checksum {found[:16]}..., expected {expected}; "
            f"it is damaged or of another version; {remedy}"
        )
    return content
