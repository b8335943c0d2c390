"""What is built is whole: everything in the source tree that runs is in the wheel, and it works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "useralign"
# Made on this machine, or compiled; not part of what is shipped as it stands.
LEFT_OUT = {".pyc", ".so", ".c"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    subprocess.run([*command, str(folder), str(ROOT)], check=True, timeout=280)
    return next(folder.glob("*.whl"))


def test_all_files_are_in_the_wheel(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    missing = [
        str(path.relative_to(SOURCE.parent))
        for path in SOURCE.rglob("*")
        if path.is_file() and path.suffix not in LEFT_OUT
        if str(path.relative_to(SOURCE.parent)) not in packed
    ]
    assert not missing


def test_it_works_where_nothing_else_is(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    python = str(place / "bin" / "python")
    own = next(place.glob("lib/python*/site-packages"))
    into = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(own)]
    subprocess.run([*into, str(wheel)], check=True, timeout=120)
    # What it depends on comes from here; the package itself must not.
    (own / "others.pth").write_text(sysconfig.get_path("purelib"))
    code = "import useralign, sys; sys.stdout.write(useralign.__file__)"
    found = subprocess.run([python, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.startswith(str(own))
    command = [python, "-P", "-m", "useralign.cli", "ask", "What should I cook for dinner tonight?"]
    done = subprocess.run(
        [*command, "--json"],
        cwd=tmp_path,
        env={**os.environ, "USERALIGN_CACHE": str(tmp_path / "cache")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["answer"]
