"""A bare installation: commands that need an extra name it, and no traceback is seen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Runs the command line in an interpreter in which what the extras bring is not installed.
BARE = """
import importlib.abc, sys

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
sys.argv = ["useralign", *sys.argv[1:]]
from useralign.cli import main
main()
"""


def run_bare(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BARE, *args],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


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
def test_a_command_names_the_extra_that_it_needs(tmp_path: Path, args: str, extra: str) -> None:
    done = run_bare(tmp_path, *args.split())
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"pip install 'useralign[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("args", ["ask Which? --pool pool.txt", "study init --help", "doctor"])
def test_what_needs_no_extra_works(tmp_path: Path, args: str) -> None:
    (tmp_path / "pool.txt").write_text("Soup.\nBread.\nCake.\n", encoding="utf-8")
    done = run_bare(tmp_path, *args.split())
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--engine", "nope"], "unknown engine 'nope'"), (["-j", "0"], "jobs must be")],
)
def test_what_cannot_be_used_is_refused_before_anything_is_made(
    tmp_path: Path, options: list[str], message: str
) -> None:
    done = run_bare(tmp_path, "reproduce", "figure2", *options, "--out", "here")
    assert done.returncode == 1
    assert message in done.stderr
    assert not (tmp_path / "here").exists()
