"""Write files and a database as version 0.1.0 did: `python -m tests.golden.make_saved`.

Run once, by that version. A later format gets a folder of its own beside `v0`; these files stay.
"""

from __future__ import annotations

import contextlib
import json
import lzma
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import useralign as ua
from tests.golden import outputs
from tests.golden.make_outputs import write
from tests.golden.outputs import DATA, DINNER, TEXT, call, said

SAVED = DATA / "saved"
TEXTS = ("plain rice", "a hot curry", "a sweet cake", "a green salad", "roast beef", "fish soup")


def pools() -> dict[str, ua.Pool]:
    """Write a pool of texts and one with given features, and return both."""
    features = np.random.default_rng(5).normal(size=(9, 4)).round(4)
    candidates = [ua.Candidate(text=f"answer {k}", id=f"a{k}", source="mine") for k in range(9)]
    made = {
        "texts": ua.Pool.from_texts("Which?", list(TEXTS), embedder="wordllama"),
        "features": ua.Pool("Which?", candidates, features, normalise="ball"),
    }
    for name, pool in made.items():
        pool.save(SAVED / f"pool-{name}.json")
    return made


def sessions(pools: dict[str, ua.Pool]) -> None:
    """Write sessions at several points, and what each of them says."""
    pool = pools["features"]
    plain = ua.Session(pool, seed=2)
    frugal = ua.Session(pool, method="frugal", budget=9, seed=4)
    ended = ua.Session(pools["texts"], seed=1)
    every = ua.Session(pool, method="frugal", budget=12, shown=3, seed=6)
    for session, count in ((plain, 4), (frugal, 3), (ended, 99), (every, 1)):
        while count and (pair := session.ask()) is not None:
            session.tell(min(pair.candidates, key=lambda one: one.index))
            count -= 1
    for act in (every.equal, every.skip, every.neither):
        every.ask()
        act()
    comparison = every.ask()
    assert comparison is not None
    every.rank(comparison.candidates)
    every.remark("less salt", [0.5, -0.25, 0.0, 1.0], 0.5)
    named = {"useralign": plain, "frugal": frugal, "ended": ended, "every": every}
    for name, session in named.items():
        session.save(SAVED / f"session-{name}.json")
    write("saved/sessions.json", {name: outputs.session(SAVED, name) for name in named})


def commands() -> None:
    """Write a session and memories as the command line keeps them, and what is said of them."""
    path = SAVED / "ask.json"
    words = (DINNER, "--persona", "TiredFrugalParent", "--method", "frugal", "--budget", "5", *TEXT)
    said("ask", *words, "--save", str(path), "--no-memory")
    state = json.loads(path.read_text(encoding="utf-8"))
    state["answered_by"] = "person"  # what a simulated person answers is not remembered
    write("saved/ask.json", state)
    for name, source in (("memory", path), ("memory-people", DATA / "people")):
        said("memory", "fit", str(source), "--out", str(SAVED / f"{name}.json"))
    with tempfile.TemporaryDirectory() as folder:
        write("saved/commands.json", outputs.command_outputs(Path(folder)))


def database(folder: Path) -> None:
    """Write a database with sessions and a study half-way, and what is said of it."""
    path = folder / "golden.db"
    where = f"sqlite:///{path}"
    key = said("serve", "keys", "add", "golden", "--database", where)
    design = SAVED / "study.toml"
    _study(path, where, design)
    token = key["key"]
    with outputs.serving(where) as address:
        begun = [_begin(address, token, **settings) for settings in _SETTINGS]
        _walk(address, token, begun)
    time.sleep(4)  # those who left have lost their places
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM INTO ?", [str(folder / "small.db")])
        slug = connection.execute("SELECT id FROM studies").fetchone()[0]
    (DATA / "golden.db.xz").write_bytes(lzma.compress((folder / "small.db").read_bytes()))
    with outputs.serving(where) as address:
        stored = {name: outputs.stored(address, token, name) for name in begun}
    study = outputs.study(slug, where, folder / "out")
    assert study["status"]["finished"] > 1
    assert study["status"]["dropped"] > 1
    write("database.json", {"key": token, "slug": slug, "sessions": stored, "study": study})


def _study(path: Path, where: str, design: Path) -> None:
    """Rehearse a study and end it by force when two have finished and others have not."""
    words = ["study", "simulate", str(design), "--participants", "8", "--concurrency", "5"]
    words += ["--window", "3", "--think", "0.5", "--drop-out", "0.5", "--database", where]
    process = subprocess.Popen(
        [sys.executable, "-m", "useralign.cli", *words], start_new_session=True
    )
    count = "SELECT count(*) FROM participants WHERE finished IS NOT NULL"
    finished = 0
    while finished < 2:
        time.sleep(0.1)
        with (
            contextlib.suppress(sqlite3.OperationalError),
            contextlib.closing(sqlite3.connect(path)) as connection,
        ):
            finished = connection.execute(count).fetchone()[0]
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


_SETTINGS: tuple[dict[str, Any], ...] = (
    {"seed": 1},
    {"seed": 2, "method": "frugal", "budget": 12},
    {"seed": 3, "method": "frugal", "budget": 12, "shown": 3},
    {"seed": 4, "epsilon": 3.0},
)


def _begin(address: str, key: str, **settings: Any) -> str:
    body = {"question": "Which?", "texts": TEXTS}
    pool = call(address, key, "/api/pools", body)["id"]
    return str(call(address, key, "/api/sessions", {"pool": pool, **settings})["id"])


def _walk(address: str, key: str, sessions: list[str]) -> None:
    """Answer two screens of each; a remark and a skip in those of the frugal method."""
    for number, session in enumerate(sessions):
        for _ in range(2):
            outputs.answer(address, key, session)
        if number in {1, 2}:
            outputs.answer(address, key, session, kind="remark", text="less sweet")
            outputs.answer(address, key, session, kind="skip")


def design() -> None:
    """Write the study file of `init`, made small."""
    path = SAVED / "study.toml"
    said("study", "init", str(path))
    shutil.copy(path, SAVED / "study-paper.toml")
    text = path.read_text(encoding="utf-8")
    text = text[: text.index('[[domains]]\nname = "visual512d"')] + text[text.index("[rec") :]
    for before, after in (
        ("participants = 960", "participants = 8"),
        ('questions = "all"  ', 'questions = ["food-01"]'),
        ("budget = 10", "budget = 4"),
        ("[5, 10]", "[2, 4]"),
        ('dinner-and-pictures"', 'small"'),
    ):
        text = text.replace(before, after, 1)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    assert ua.__version__ == "0.1.0", sys.executable
    if not SAVED.exists():
        SAVED.mkdir()
        sessions(pools())
        commands()
        design()
    with tempfile.TemporaryDirectory() as temporary:
        database(Path(temporary))
