"""A bare installation: commands that need an extra name it, and no traceback is seen."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import Done

# Runs commands in forks of an interpreter in which what the extras bring is not installed.
BARE = """
import importlib.abc, json, os, sys

HIDDEN = {"alembic", "dask", "distributed", "fastapi", "httpx", "jinja2", "matplotlib",
          "onnxruntime", "openai", "PIL", "psycopg", "pyarrow", "sqlalchemy", "starlette",
          "uvicorn"}

class Hider(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in HIDDEN else find(name, *rest)
sys.meta_path.insert(0, Hider())
import useralign.cli.app, useralign.cli.conversation
from useralign.cli import main

for line in sys.stdin:
    folder, *args = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(folder)
        files = os.devnull, "output", "errors"
        for number, name in enumerate(files):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
        sys.argv = ["useralign", *args]
        sys.exit(main())
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Bare:
    """Runs commands in a bare installation."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def run(self, folder: Path, *args: str) -> Done:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([str(folder), *args]) + "\n")
        self.process.stdin.flush()
        code = int(self.process.stdout.readline())
        output, errors = ((folder / name).read_text("utf-8") for name in ("output", "errors"))
        return Done(args, code, output, errors)


@pytest.fixture(scope="module")
def bare() -> Iterator[Bare]:
    with subprocess.Popen(
        [sys.executable, "-c", BARE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Bare(process)


@pytest.mark.parametrize(
    ("args", "extra"),
    [
        ("serve", "web"),
        ("serve keys list", "web"),
        ("study init study.toml", "web"),
        ("study add study.toml", "web"),
        ("study status x", "web"),
        ("study results x", "web"),
        ("study export x", "web"),
        ("study forget x y", "web"),
        ("study simulate", "web"),
        ("reproduce figure2", "plots"),
    ],
)
def test_a_command_names_the_extra_that_it_needs(
    bare: Bare, tmp_path: Path, args: str, extra: str
) -> None:
    done = bare.run(tmp_path, *args.split())
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"pip install 'useralign[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("args", ["ask Which? --pool pool.txt", "study init --help", "doctor"])
def test_what_needs_no_extra_works(bare: Bare, tmp_path: Path, args: str) -> None:
    (tmp_path / "pool.txt").write_text("Soup.\nBread.\nCake.\n", encoding="utf-8")
    done = bare.run(tmp_path, *args.split())
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--engine", "nope"], "unknown engine 'nope'"), (["-j", "0"], "jobs must be")],
)
def test_what_cannot_be_used_is_refused_before_anything_is_made(
    bare: Bare, tmp_path: Path, options: list[str], message: str
) -> None:
    done = bare.run(tmp_path, "reproduce", "figure2", *options, "--out", "here")
    assert done.returncode == 1
    assert message in done.stderr
    assert not (tmp_path / "here").exists()
