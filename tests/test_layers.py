"""The house rules: imports point down, importing is cheap, the public names are what they are."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import useralign

SOURCE = Path(useralign.__file__).parent
# From the ground up: a layer may import from those before it, and from itself.
LAYERS = [
    "errors", "checks", "files", "pictures", "registry",
    "geometry", "models", "models.embedders.base", "pool", "answers", "methods", "session",
    "models.weights", "models.generators", "models.embedders",
    "remarks", "domains", "pooling", "users", "memory", "lab",
    "store", "memory.from_store", "study", "web", "testing", "cli",
]  # fmt: skip


def layer(module: str) -> int:
    names = [n for n in LAYERS if module == n or module.startswith(n + ".")]
    assert names, f"{module} belongs to no layer: name it in tests/test_layers.py"
    return LAYERS.index(max(names, key=len))


def imports(path: Path) -> list[str]:
    """List what a module imports from this package, where it is loaded and where it is used."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("useralign"):
            base = node.module.removeprefix("useralign").removeprefix(".")
            found += [base] if base else [a.name for a in node.names if a.name != "__version__"]
    return found


def type_only(path: Path) -> set[str]:
    """List what is imported for type checkers alone."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            for inner in ast.walk(node):
                if isinstance(inner, ast.ImportFrom) and inner.module:
                    names.add(inner.module.removeprefix("useralign").removeprefix("."))
    return names


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE))
)
def test_imports_point_down(path: Path) -> None:
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    if module == "__init__":
        return
    # The doors to the models, opened when used: texts are embedded, pools generated, remarks read.
    allowed_up = {("pool", "models.embedders"), ("pool", "pooling"), ("session", "remarks")}
    for target in imports(path):
        if target in type_only(path) or (module, target) in allowed_up:
            continue
        assert layer(target) <= layer(module), f"{module} must not import {target}"


@pytest.mark.parametrize(
    "absent", ["torch", "fastapi", "matplotlib", "openai", "cvxpy", "scipy", "pydantic", "rich"]
)
def test_importing_is_cheap(absent: str) -> None:
    script = f"import sys, useralign; sys.exit({absent!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_public_names() -> None:
    assert useralign.__all__ == sorted(useralign.__all__)
    assert len(useralign.__all__) <= 24
    for name in useralign.__all__:
        assert getattr(useralign, name).__doc__
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        useralign.nothing  # noqa: B018


@pytest.mark.parametrize(
    "name",
    ["AnswerError", "FeedbackError", "FileFormatError", "InputError", "MissingExtraError",
     "ModelError", "OptionError", "PoolError", "SessionStateError", "SolverError"],
)  # fmt: skip
def test_exceptions_are_found_where_they_were(name: str) -> None:
    assert getattr(useralign, name) is getattr(useralign.errors, name)


def test_nothing_left_over() -> None:
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for word in ("TODO", "FIXME", "XXX"):
            assert word not in text, path
