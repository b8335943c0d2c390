"""What the golden outputs are made with, by way of doors that stay: commands, HTTP and files."""

from __future__ import annotations

import contextlib
import csv
import importlib
import io
import json
import lzma
import os
import runpy
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import useralign as ua

DATA = Path(__file__).parent / "v0"
DINNER = "What should I cook for dinner tonight?"
WEEKEND = "Where should I go for a long weekend in Europe?"
HERO = "Generate concept art for a videogame hero that players would instantly connect with."
TEXT = ("--embedder", "wordllama")
PAPER = ("--method", "useralign")
# What `ask --json` says beyond what version 0.1.0 said.
ADDED = ("screens", "expected_screens", "shortlist", "why", "words_read", "words")

# Whole sessions of `useralign ask`, with the embedder named: the default depends on the machine.
ASKS: dict[str, tuple[str, ...]] = {
    "food-useralign": (DINNER, "--persona", "HeatSeekingExplorer", *PAPER, *TEXT),
    "food-useralign-epsilon": (
        *(DINNER, "--persona", "TiredFrugalParent", "--epsilon", "0.5", *PAPER, *TEXT),
    ),
    "food-useralign-show": (
        *(DINNER, "--persona", "UnhurriedPlantGourmet", "--show", "3", *PAPER, *TEXT),
    ),
    "food-useralign-rank": (DINNER, "--persona", "TiredFrugalParent", "--rank", *PAPER, *TEXT),
    "food-frugal": (
        *(DINNER, "--persona", "HeatSeekingExplorer", "--method", "frugal", "--budget", "8"),
        *TEXT,
    ),
    "food-frugal-show": (
        *(DINNER, "--persona", "TiredFrugalParent", "--method", "frugal", "--budget", "4"),
        *("--show", "4", *TEXT),
    ),
    "food-tournament": (DINNER, "--persona", "TiredFrugalParent", "--method", "tournament", *TEXT),
    "food-description": (
        *(DINNER, "--persona", "someone who eats no meat", "--seed", "3", *PAPER, *TEXT),
    ),
    "travel-useralign": (WEEKEND, "--persona", "PartyOnPennies", *PAPER, *TEXT),
    "travel-useralign-seed": (
        *(WEEKEND, "--persona", "SlowGourmetCouple", "--seed", "5", *PAPER, *TEXT),
    ),
    "travel-frugal": (
        *(WEEKEND, "--persona", "PartyOnPennies", "--method", "frugal", "--budget", "8"),
        *TEXT,
    ),
}
VISUAL_ASKS: dict[str, tuple[str, ...]] = {
    "visual-useralign": (
        *(HERO, "--persona", "PixelNostalgic", "--image", "--budget", "12", *PAPER),
    ),
    "visual-frugal": (
        *(HERO, "--persona", "MythAndShadow", "--image", "--method", "frugal", "--budget", "5"),
    ),
}
BENCH = (
    *("--methods", "frugal,useralign,tournament,thompson,uncertainty"),
    *("--pools", "synthetic2d", "--users", "btl", "--runs", "1", "--seed", "3"),
)


def command(*words: str) -> str:
    """Run a command in this process and return what it prints."""
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(output):
        patch.setattr(sys, "argv", ["useralign", *words])
        with pytest.raises(SystemExit) as end:
            runpy.run_module("useralign.cli", run_name="__main__")
    assert not end.value.code, f"useralign {' '.join(words)}: exit {end.value.code}"
    return output.getvalue()


def said(*words: str) -> Any:
    """Run a command with `--json` and return the value that it prints."""
    return json.loads(command(*words, "--json"))


def apart(*words: str) -> None:
    """Run a command in a process of its own, as one that starts others should be."""
    subprocess.run(
        [sys.executable, "-m", "useralign.cli", *words, "--json"],
        check=True,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )


def ask(words: tuple[str, ...]) -> dict[str, Any]:
    """Return the outcome of a session without where and from what its pictures are made."""
    outcome = _former(said("ask", *words, "--no-memory"))
    if "image" in outcome["answer"]:
        del outcome["answer"]["image"]
        del outcome["answer"]["meta"]
    return outcome


def _former(outcome: dict[str, Any]) -> dict[str, Any]:
    """Return what version 0.1.0 said of a session, without what was added since."""
    missing = [key for key in ADDED if key not in outcome]
    assert not missing, f"ask --json lacks {missing}"
    return {key: value for key, value in outcome.items() if key not in ADDED}


def run_plan(name: str, folder: Path, jobs: int) -> Path:
    """Run a plan of the golden data and return its results' file."""
    plan = _lab("read_plan")(DATA / f"{name}.toml")
    _lab("run_plan")(plan, folder, jobs=jobs)
    return folder / "results.json"


def _lab(name: str) -> Callable[..., Any]:
    """Return a function of the experiment runner, for which there is no command."""
    for package in ("lab", "experiments"):
        for module in ("", ".plans", ".plan", ".runner", ".run"):
            with contextlib.suppress(ModuleNotFoundError):
                there = importlib.import_module(f"useralign.{package}{module}")
                if hasattr(there, name):
                    function: Callable[..., Any] = getattr(there, name)
                    return function
    raise AssertionError(f"no module of the experiments has {name}")


def reproduce(part: str, folder: Path) -> dict[str, str]:
    """Run a part of the paper's evaluation with one seed, and return results and tables."""
    apart("reproduce", part, "--seeds", "1", "--out", str(folder))
    return texts(folder)


def bench(folder: Path, jobs: int) -> None:
    """Compare a few methods, with simulated and with recorded people."""
    people = ("--people", str(DATA / "people"))
    apart("bench", "methods", *BENCH, *people, "--jobs", str(jobs), "--out", str(folder))


def texts(folder: Path) -> dict[str, str]:
    """Return results and tables without the version and what was measured in seconds."""
    there = sorted(
        path
        for path in [*folder.rglob("results.json"), *folder.rglob("*.md"), *folder.rglob("*.csv")]
        if path.stem not in ("milliseconds", "report")
    )
    return {path.relative_to(folder).as_posix(): text(path) for path in there}


def text(path: Path) -> str:
    """Return a file's text without the version and the table of milliseconds."""
    whole = path.read_text(encoding="utf-8").partition("### Milliseconds")[0]
    return whole.replace(f'"version": "{ua.__version__}"', '"version": "0.1.0"')


def alike(here: Any, golden: Any, where: str = "", *, more: bool = False) -> None:
    """Assert that two JSON values are the same, their fractions to nine digits.

    With `more`, mappings may have gained keys.
    """
    if isinstance(golden, dict):
        assert isinstance(here, dict), where
        assert [key for key in here if key in golden or not more] == list(golden), where
        for key, value in golden.items():
            alike(here[key], value, f"{where}.{key}", more=more)
    elif isinstance(golden, list):
        assert isinstance(here, list), where
        assert len(here) == len(golden), where
        for number, value in enumerate(golden):
            alike(here[number], value, f"{where}[{number}]", more=more)
    elif isinstance(golden, float):
        assert here == pytest.approx(golden, rel=1e-9, abs=1e-9), where
    else:
        assert here == golden, where


@contextlib.contextmanager
def serving(database: str) -> Iterator[str]:
    """Serve a database in a process of its own; yields the address without a slash at its end."""
    words = ["serve", "--port", "0", "--no-open", "--no-making", "--json", "--database", database]
    with subprocess.Popen(
        [sys.executable, "-m", "useralign.cli", *words], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["address"].rstrip("/")
        finally:
            process.terminate()


def served(address: str) -> Any:
    """Return the value behind an address."""
    with urllib.request.urlopen(address) as reply:  # noqa: S310 - of this machine
        return json.load(reply)


def packed(name: str) -> Any:
    """Return the value of a packed file of the golden data."""
    return json.loads(lzma.decompress((DATA / name).read_bytes()))


def session(folder: Path, name: str) -> dict[str, Any]:
    """Return what a saved session says, and the screens that follow if the first always wins."""
    pool = "texts" if name == "ended" else "features"
    loaded = ua.Session.load(
        folder / f"session-{name}.json", ua.Pool.load(folder / f"pool-{pool}.json")
    )
    state = {
        "best": loaded.best.index,
        "bound": loaded.bound,
        "cost": loaded.cost,
        "scores": [float(score) for score in loaded.scores],
        "answers": len(loaded.answers),
    }
    screens: list[list[int]] = []
    while (comparison := loaded.ask()) is not None and len(screens) < 5:
        screens.append([candidate.index for candidate in comparison.candidates])
        loaded.tell(comparison.first)
    return state | {"screens": screens, "best_at_last": loaded.best.index}


def command_outputs(folder: Path) -> dict[str, Any]:
    """Return what commands say of a kept session and of memories, in copies of their files."""
    shutil.copytree(DATA / "saved", folder, dirs_exist_ok=True)
    memories = {name: str(folder / f"{name}.json") for name in ("memory", "memory-people")}
    recall = (WEEKEND, "--persona", "PartyOnPennies", "--method", "frugal", "--budget", "4", *TEXT)
    resumed = _former(said("ask", "--resume", str(folder / "ask.json"), "--no-memory"))
    del resumed["saved"]  # where the copy is
    return {
        "resumed": resumed,
        "shown": {name: said("memory", "show", path) for name, path in memories.items()},
        "recalled": _former(said("ask", *recall, "--memory", memories["memory"])),
    }


def call(address: str, key: str, path: str, body: Any = None) -> Any:
    """Send a request to the HTTP API with a key, and return the value of the reply."""
    request = urllib.request.Request(  # noqa: S310 - of this machine
        address + path,
        None if body is None else json.dumps(body).encode(),
        {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as reply:  # noqa: S310
        return json.load(reply)


def answer(address: str, key: str, name: str, **body: Any) -> Any:
    """Answer the screen of a session, with its candidate of the least index unless told else."""
    screen = call(address, key, f"/api/sessions/{name}/comparison")
    if screen["finished"] is not None:
        return screen
    least = min(candidate["index"] for candidate in screen["candidates"])
    body = {"step": screen["step"], **(body or {"winner": least})}
    return call(address, key, f"/api/sessions/{name}/answers", body)


def stored(address: str, key: str, name: str) -> list[Any]:
    """Return a stored session, its screen, two more answered, and its result."""
    url = f"/api/sessions/{name}"
    state = [call(address, key, url + part) for part in ("", "/comparison")]
    more = [answer(address, key, name) for _ in range(2)]
    return [*state, *more, call(address, key, f"{url}/result")]


def rows(text: str) -> list[dict[str, Any]]:
    """Return the rows of an exported CSV or JSON lines file."""
    if text.startswith("{"):
        return [json.loads(line) for line in text.splitlines()]
    return list(csv.DictReader(io.StringIO(text)))


def study(slug: str, database: str, folder: Path) -> dict[str, Any]:
    """Return the status, the results and the exported files of a study."""
    where = (slug, "--database", database)
    value = {"status": said("study", "status", *where), "results": said("study", "results", *where)}
    for form in ("csv", "jsonl"):
        said("study", "export", *where, "--out", str(folder), "--format", form, "--payments")
    files = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}
    return value | {"files": files}
