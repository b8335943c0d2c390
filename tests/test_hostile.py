"""Mutated files, hostile commands and hostile calls: only errors of ours, never a traceback."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import useralign as ua
from tests.commands import run
from useralign.errors import UseralignError
from useralign.lab.plan import read_plan
from useralign.memory.memory import Memory
from useralign.models.providers import find_price
from useralign.pooling.dsp import read_dsp
from useralign.pooling.imports import read_pool, read_texts
from useralign.study.design import read_design
from useralign.users.recorded import People

GOLDEN = Path(__file__).parent / "golden" / "v0"
SAVED = GOLDEN / "saved"
FOREIGN = [
    *("null", "true", "-1", "1e400", "NaN", "Infinity", "0", "[]", "{}", '""', "'", "=", "+", ";"),
    *("\t", "\r\n", "\x00", "\ufeff", "\ud7ff", '"\\ud83d"', "[[[[", "}}}}", "0.1e-999", "#", "//"),
    *("9223372036854775808", '"""', "\u202e", "\ufffd"),
]
DSP = json.dumps(
    [{"query": "?", "academy": "a", "business": "b", "literature and culture": "c"}] * 3
)


def session(path: Path) -> object:
    name = "pool-texts.json" if "ended" in path.name else "pool-features.json"
    return ua.Session.load(path, ua.Pool.load(SAVED / name))


def people(path: Path) -> object:
    folder = path.with_suffix(".folder")
    folder.mkdir(exist_ok=True)
    for source in (GOLDEN / "people").iterdir():
        content = path if source.name == path.name.split("-", 1)[1] else source
        (folder / source.name).write_bytes(content.read_bytes())
    return People.read(folder)


def pool_of(path: Path) -> object:
    return read_pool(path, "Which?", lambda texts: np.ones((len(texts), 2)))


def dsp(path: Path) -> object:
    return read_dsp(path, count=2)


TEXTS = b"a hot soup\n- a cake\n\n3. tea, with \xc3\xa9clairs\n"
ROWS = b'id,text,f0,f1\na,"a hot, thin soup",1,0\nb,cake,0,1\nc,tea,0.5,0.5\n'
LINES = b'{"text": "soup", "features": [1, 0]}\n{"text": "cake", "features": [0, 1]}\n"tea"\n'
Reader = Callable[[Path], object]


def prices(path: Path) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("USERALIGN_PRICES", str(path))
        return find_price("m")


# A file as it should be, its name, and who reads it.
SEEDS: list[tuple[bytes, str, Reader]] = [
    ((SAVED / "pool-texts.json").read_bytes(), "pool.json", ua.Pool.load),
    ((SAVED / "pool-features.json").read_bytes(), "pool.json", ua.Pool.load),
    ((SAVED / "pool-texts.json").read_bytes(), "pool.json", read_texts),
    *(
        ((SAVED / name).read_bytes(), name, session)
        for name in ("session-ended.json", "session-every.json", "session-useralign.json")
    ),
    ((SAVED / "memory.json").read_bytes(), "memory.json", Memory.load),
    ((SAVED / "memory-people.json").read_bytes(), "memory.json", Memory.load),
    ((SAVED / "study.toml").read_bytes(), "study.toml", read_design),
    ((SAVED / "study-paper.toml").read_bytes(), "study.toml", read_design),
    ((GOLDEN / "plan.toml").read_bytes(), "plan.toml", read_plan),
    (b'[a]\ninput = 1.0\noutput = 2.0\n["b c"]\nimage = 0.04\n', "prices.toml", prices),
    (DSP.encode(), "dsp.json", dsp),
    *(
        (content, name, reader)
        for reader in (read_texts, pool_of)
        for content, name in ((TEXTS, "a.txt"), (ROWS, "a.csv"), (LINES, "a.jsonl"))
    ),
    *((path.read_bytes(), path.name, people) for path in sorted((GOLDEN / "people").iterdir())),
]


def mutated(content: bytes, rng: Random) -> bytes:
    """Return a file with one to four accidents."""
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(content) + 1)
        end = min(len(content), start + rng.choice((1, 3, 20, 300)))
        piece = {
            "cut": b"",
            "flip": bytes(rng.randrange(256) for _ in range(end - start)),
            "foreign": rng.choice(FOREIGN).encode("utf-8", "surrogatepass"),
            "digits": b"7" * rng.choice((20, 400, 5000)),
            "deep": b"[" * rng.choice((30, 3000)),
            "twice": content[start:end] * 2,
        }[rng.choice(("cut", "flip", "foreign", "digits", "deep", "twice"))]
        content = content[:start] + piece + content[end:]
        if rng.random() < 0.1:
            content = content[: rng.randrange(len(content) + 1)]
    return content


@pytest.mark.parametrize("count", [200, pytest.param(5000, marks=pytest.mark.soak)])
def test_mutated_files(count: int, tmp_path: Path) -> None:
    outcomes = {"read": 0, "refused": 0}
    for seed in range(count):
        rng = Random(seed)
        content, name, reader = SEEDS[seed % len(SEEDS)]
        path = tmp_path / f"{seed}-{name}"
        path.write_bytes(mutated(content, rng))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                reader(path)
        except UseralignError:
            outcomes["refused"] += 1
        else:
            outcomes["read"] += 1
    assert outcomes["refused"] > count / 4
    assert outcomes["read"]


NUMBERS = ("-1", "nan", "inf", "1e400", "9" * 400, "", " ", "x", "0x10", "½", "--")
TEXTS_ = (
    "",
    " ",
    "\x1b[31m",
    "\u202e",
    "x" * 10_000,
    "../../etc/passwd",
    "/dev/null",
    "/dev/zero/x",
)
COMMANDS: list[tuple[str, ...]] = [
    *(("ask", "What should I cook for dinner tonight?", "--budget", n) for n in NUMBERS),
    *(("ask", "What should I cook for dinner tonight?", "--epsilon", n) for n in NUMBERS),
    *(("ask", "What should I cook for dinner tonight?", "--show", n) for n in NUMBERS),
    *(("ask", "What should I cook for dinner tonight?", "--seed", n) for n in NUMBERS),
    *(("ask", "What should I cook for dinner tonight?", "--method", t) for t in TEXTS_),
    *(("ask", "What should I cook for dinner tonight?", "--persona", t) for t in TEXTS_),
    *(("ask", "--resume", t) for t in TEXTS_),
    *(("ask", t, "--model", "nothing:here") for t in TEXTS_),
    *(("pool", "show", t) for t in TEXTS_),
    *(("pool", "import", t, "--out", "/dev/null/x") for t in TEXTS_),
    *(("pool", "dsp", t, "--count", "1") for t in TEXTS_),
    *(("models", "pull", f"no-{t}") for t in TEXTS_),
    *(("models", "remove", f"no-{t}") for t in TEXTS_),
    *(("reproduce", t) for t in TEXTS_),
    *(("reproduce", "figure2", "-j", n) for n in ("-1", "0", "x", "9" * 400)),
    *(("bench", "methods", "--methods", t) for t in TEXTS_),
    *(("study", "add", t) for t in TEXTS_),
    *(("study", "status", t, "--database", "sqlite:////dev/null/x.db") for t in TEXTS_),
    *(("serve", "keys", "list", "--database", t or "none") for t in TEXTS_),
    *(("serve", "--port", n) for n in ("-1", "65536", "x")),
    *(("memory", "show", t) for t in TEXTS_),
]


def refuse(commands: Iterable[tuple[str, ...]], folder: Path) -> int:
    """Run commands; return how many were refused. What is not ours is raised by `run`."""
    refused = 0
    for words in commands:
        done = run(*words, USERALIGN_CACHE=str(folder), USERALIGN_DATA=str(folder))
        assert "Traceback" not in done.stderr, words
        if done.returncode:
            assert done.stderr.strip(), words
            refused += 1
    return refused


@pytest.mark.parametrize("part", [6, pytest.param(1, marks=pytest.mark.soak)])
def test_hostile_commands(part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    some = COMMANDS[::part]
    assert refuse(some, tmp_path) > len(some) / 2


POOL = ua.Pool.from_features([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], question="Which?")
ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**400,
    math.nan,
    math.inf,
    "",
    "x" * 5000,
    b"x",
    [],
    {},
    object(),
)
CALLS: dict[str, Callable[[Any], object]] = {
    "features": lambda odd: ua.Pool.from_features(odd, question="?"),
    "rows": lambda odd: ua.Pool.from_features([[odd, 1.0], [1.0, 0.0]], question="?"),
    "normalise": lambda odd: ua.Pool("?", None, [[1.0], [0.0]], normalise=odd),
    "budget": lambda odd: ua.Session(POOL, budget=odd),
    "epsilon": lambda odd: ua.Session(POOL, epsilon=odd),
    "method": lambda odd: ua.Session(POOL, method=odd),
    "per_screen": lambda odd: ua.Session(POOL, per_screen=odd),
    "seed": lambda odd: ua.Session(POOL, seed=odd),
    "tell": lambda odd: waiting_session().tell(odd),
    "choose": lambda odd: waiting_session().choose(odd),
    "remark": lambda odd: waiting_session().remark(odd),
    "wish": lambda odd: waiting_session().wish(odd),
    "load": ua.Pool.load,
    "from_dict": ua.Pool.from_dict,
}


def waiting_session() -> ua.Session:
    session = ua.Session(POOL, seed=1)
    session.ask()
    return session


@pytest.mark.parametrize("name", CALLS)
def test_hostile_calls(name: str) -> None:
    for odd in ODD:
        with suppress(UseralignError):  # anything else is a traceback
            CALLS[name](odd)
