"""What is built is whole: everything in the source tree that runs is in the wheel, and it works."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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


def locked(name: str) -> dict[str, list[str]]:
    """Return the pinned versions of a lock file by name: several where Pythons differ."""
    pins: dict[str, list[str]] = {}
    text = (ROOT / "locks" / name).read_text("utf-8").replace("\\\n", "")
    for line in text.splitlines():
        if not line.startswith("#"):
            pin, *hashes = re.split(r"\s+--hash=sha256:", line.strip())
            package, version = pin.partition(";")[0].strip().split("==")
            assert hashes, f"{package} has no hash"
            pins.setdefault(canonicalize_name(package.partition("[")[0]), []).append(version)
    return pins


def wanted(*extras: str) -> list[Requirement]:
    """Return what the package and some of its extras depend on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = list(project["dependencies"])
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    whole = [Requirement(line) for line in lines]
    inner = {name for one in whole if one.name == "useralign" for name in one.extras}
    return [one for one in whole if one.name != "useralign"] + (wanted(*inner) if inner else [])


@pytest.mark.parametrize(
    ("name", "extras"),
    [
        ("dev.txt", ["dev"]),
        ("server.txt", ["web", "postgres", "parquet", "openai", "local", "vision"]),
    ],
)
def test_the_lock_files_fit(name: str, extras: list[str]) -> None:
    pins = locked(name)
    for one in wanted(*extras):
        versions = pins.get(canonicalize_name(one.name), [])
        assert versions, f"{one.name} is not locked: make lock"
        assert all(one.specifier.contains(version) for version in versions), f"{one}: make lock"
    text = (ROOT / "locks" / name).read_text("utf-8")
    assert "torch" not in pins
    assert "://" not in text
    assert "index" not in text


def test_both_lock_files_have_the_same_versions() -> None:
    dev = locked("dev.txt")
    assert all(set(versions) <= set(dev[name]) for name, versions in locked("server.txt").items())


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
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    python = str(venv / "bin" / "python")
    own = next(venv.glob("lib/python*/site-packages"))
    into = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(own)]
    subprocess.run([*into, str(wheel)], check=True, timeout=120)
    # What it depends on comes from here; the package itself must not.
    (own / "others.pth").write_text(sysconfig.get_path("purelib"))
    code = "import useralign, sys; sys.stdout.write(useralign.__file__)"
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(own))
    command = [python, "-I", "-m", "useralign.cli", "ask", "What should I cook for dinner tonight?"]
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
