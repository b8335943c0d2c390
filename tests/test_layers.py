"""The house rules: imports point down, importing is cheap, the public names are what they are."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

import pytest
from tools.house import DOORS, PICTURE, SOURCE, Module, cycles, draw, read, walk

import useralign

# From the ground up: a layer may import from those before it, and from itself.
LAYERS = [
    "errors", "extras", "checks", "files", "pictures", "registry", "geometry", "models", "pool",
    "wishes", "answers", "methods", "presets", "session", "one_call", "reasons", "notebook",
    "domains", "pooling", "users", "store", "memory", "lab", "study", "web", "testing", "cli",
]  # fmt: skip


def layer(module: str) -> int:
    names = [n for n in LAYERS if module == n or module.startswith(n + ".")]
    assert names, f"{module} belongs to no layer: name it in tests/test_layers.py"
    return LAYERS.index(max(names, key=len))


def upward(module: Module) -> list[str]:
    """Return what a module imports from above, the doors left out."""
    return [
        f"{module.name} must not import {target}"
        for target in sorted(module.imports - module.type_imports - {""})
        if layer(target) > layer(module.name)
        and (module.package, read()[target].package) not in DOORS
    ]


def test_imports_point_down() -> None:
    assert [line for m in read().values() if m.name for line in upward(m)] == []


def test_no_modules_import_each_other() -> None:
    assert cycles(read(), types=True) == []


def test_the_house_is_drawn_as_it_is() -> None:
    drawn = PICTURE.read_text(encoding="utf-8")
    assert drawn == draw(read()), "draw it again: python -m tools.house"


def test_a_command_is_followed_through_its_modules() -> None:
    modules = walk(("useralign.cli", "pool", "show", "nothing", "--help"))
    assert {"cli", "cli.app"} <= set(modules)
    assert not {"session", "web.app"} & set(modules)


def test_importing_is_cheap() -> None:
    heavy = {"torch", "fastapi", "matplotlib", "openai", "cvxpy", "scipy", "pydantic", "rich"}
    script = f"import sys, useralign; print(*({heavy!r} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    assert loaded.stdout.split() == []


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
        for word in ("TODO", "FIXME", "XXX", '"""Tell ', '"""Say ', "one row a ", "number a "):
            assert word not in text, path


def test_variables_are_called_by_what_they_hold() -> None:
    """Participles say nothing of it; fields of the database and of HTTP keep their old names."""
    participles = {"chosen", "found", "given", "kept", "known", "mine", "place", "shown", "told"}
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        nodes = [node for function in functions for node in ast.walk(function)]
        assigned = {
            node.id
            for node in nodes
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        if path.parent.name != "web":  # where they are the fields of forms
            assigned |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        assert not assigned & participles, path


def test_no_two_classes_have_one_name() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")]
    names = [node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    assert sorted(names) == sorted(set(names))


def test_only_the_store_speaks_sql() -> None:
    drivers = re.compile(r"^(?:import|from) (?:sqlalchemy|sqlite3|psycopg)", re.MULTILINE)
    modules = {str(p.relative_to(SOURCE)): p.read_text("utf-8") for p in SOURCE.rglob("*.py")}
    speakers = [name for name, text in modules.items() if drivers.search(text)]
    others = [name for name in speakers if not name.startswith("store/")]
    assert others == ["models/cache.py"]  # a file of keys and values


def test_the_glossary_can_be_learnt() -> None:
    page = (PICTURE.parents[1] / "architecture.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| ([a-z]+) \|", page.partition("## Glossary")[2], re.M)[1:]
    assert words == sorted(set(words))
    assert len(words) <= 40
