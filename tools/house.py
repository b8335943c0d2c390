"""Draw the house from the code: packages, and who imports from whom; and count what it is made of.

    python -m tools.house                  # write docs/pictures/house.svg
    python -m tools.house --figures [src]  # print modules, lines, cycles and imports of a tree
    python -m tools.house --walk MODULE [ARGUMENT ...]  # print the modules that run for a command

A test compares the picture with what this would draw.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "useralign"
PICTURE = ROOT / "docs" / "pictures" / "house.svg"

# Modules that everything stands on; arrows to them would say nothing.
GROUND = frozenset({"errors", "extras", "checks", "files", "registry"})
# The ways up from pools to the models and from sessions to notebooks, taken when a call needs them.
DOORS = frozenset({("pool", "models"), ("pool", "pooling"), ("session", "notebook")})

# What a process does when it starts, to note the files of which a function runs.
_WATCH = """
import sys, threading
files = set()

def note(frame, event, argument):
    code = frame.f_code
    function = code.co_flags & 1 and code.co_name[0] != "<"
    if event == "call" and function and code.co_filename not in files:
        files.add(code.co_filename)
        with open({notes!r}, "a") as stream:
            stream.write(code.co_filename + "\\n")

threading.setprofile(note)
sys.setprofile(note)
"""

_BOX, _GAP, _ROW = (132, 34), 26, 92
_INK, _PAPER, _DOOR = "#5b6270", "#eef2f8", "#b3541e"


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the package.

    Parameters
    ----------
    name : str
        Without the package's own: `"models.weights"`; the package itself is `""`.
    lines : int
    imports : frozenset of str
        Modules of this package that it imports, at its head or inside functions.
    type_imports : frozenset of str
        Those that it imports for type checkers alone.
    """

    name: str
    lines: int
    imports: frozenset[str] = field(default=frozenset())
    type_imports: frozenset[str] = field(default=frozenset())

    @property
    def package(self) -> str:
        """The first part of its name."""
        return self.name.split(".")[0]


@cache
def read(source: Path = SOURCE) -> dict[str, Module]:
    """Parse every module of a package once, and return them by name.

    Parameters
    ----------
    source : Path
        The package's folder.
    """
    paths = {_name(path.relative_to(source)): path for path in sorted(source.rglob("*.py"))}
    modules = {}
    for name, path in paths.items():
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        nodes = [
            node
            for node in ast.walk(tree)
            if isinstance(node, (ast.If, ast.Import, ast.ImportFrom))
        ]
        typed = {
            inner
            for node in nodes
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            for inner in ast.walk(node)
        }
        modules[name] = Module(
            name,
            text.count("\n"),
            frozenset(_imported(set(nodes) - typed, source.name, paths)) - {name},
            frozenset(_imported(typed, source.name, paths)) - {name},
        )
    return modules


def _name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix("__init__").removesuffix(".")


def _imported(nodes: Iterable[ast.AST], package: str, names: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules that import statements name, a package's submodules among them."""
    for node in nodes:
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            submodules = [name for name in inner if _within(name, package) in names]
            whole = len(submodules) < len(inner)
            targets = [*submodules, *([node.module] if whole else [])]
        else:
            continue
        for target in targets:
            name = _within(target, package)
            if name in names:
                yield str(name)


def _within(target: str, package: str) -> str | None:
    """Return a module's name inside the package, or None for one outside."""
    if target != package and not target.startswith(f"{package}."):
        return None
    return target.removeprefix(package).removeprefix(".")


def cycles(modules: Mapping[str, Module], *, types: bool = False) -> list[str]:
    """Return the groups of modules that import each other in a circle, each as one line.

    Imports inside functions count, those through the doors do not.

    Parameters
    ----------
    modules : mapping of str to Module
    types : bool
        Whether imports for type checkers alone count as well.
    """
    names = [name for name in modules if name]
    index = {name: i for i, name in enumerate(names)}
    rows, columns = [], []
    for name in names:
        module = modules[name]
        for target in (module.imports | (module.type_imports if types else set())) - {""}:
            if (module.package, modules[target].package) not in DOORS:
                rows.append(index[name])
                columns.append(index[target])
    graph = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(names), len(names)))
    _, labels = connected_components(graph, connection="strong")
    groups = defaultdict(list)
    for name, label in zip(names, labels, strict=True):
        groups[label].append(name)
    return [" <-> ".join(sorted(group)) for group in groups.values() if len(group) > 1]


def figures(source: Path = SOURCE) -> dict[str, int]:
    """Return how many modules, lines, cycles and imports across packages a tree has.

    An import across packages is a pair of modules of two packages, one importing the other.
    """
    modules = read(source)
    across = sum(
        bool(target) and modules[target].package != module.package
        for module in modules.values()
        if module.name
        for target in module.imports
    )
    return {
        "modules": len(modules),
        "lines": sum(module.lines for module in modules.values()),
        "module cycles": len(cycles(modules, types=True)),
        "module cycles when running": len(cycles(modules)),
        "packages": len({module.package for module in modules.values() if module.name}),
        "imports across packages": across,
    }


def walk(words: Sequence[str]) -> list[str]:
    """Return the modules of which a function runs for a command, also in processes it starts.

    Parameters
    ----------
    words : sequence of str
        A module and its arguments: `("useralign.cli", "ask", "What should I cook?")`.
    """
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        Path(folder, "sitecustomize.py").write_text(_WATCH.format(notes=str(notes)), "utf-8")
        path = os.pathsep.join([folder, *sys.path])
        command = [sys.executable, "-m", *words]
        subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": path})  # noqa: S603 - ours
        paths = {Path(line) for line in notes.read_text("utf-8").splitlines()}
    return sorted(
        _name(path.relative_to(SOURCE))
        for path in paths
        if path.suffix == ".py" and SOURCE in path.parents
    )


def arrows(modules: Mapping[str, Module]) -> set[tuple[str, str]]:
    """Return which package imports from which, without the ground and the doors."""
    pairs = {
        (module.package, modules[target].package)
        for module in modules.values()
        if module.name
        for target in module.imports
        if target
    }
    return {
        (one, other)
        for one, other in pairs - DOORS
        if one != other and one not in GROUND and other not in GROUND
    }


def _needed(edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Leave out the arrows that follow from others."""
    below: dict[str, set[str]] = defaultdict(set)
    for one, other in edges:
        below[one].add(other)

    @cache
    def reach(name: str) -> frozenset[str]:
        return frozenset(below[name]).union(*(reach(k) for k in below[name]))

    return {
        (one, other)
        for one, other in edges
        if not any(other in reach(between) for between in below[one] - {other})
    }


def _ranks(names: Iterable[str], edges: set[tuple[str, str]]) -> dict[str, int]:
    """Return every package's row: one above the highest that it imports from."""

    @cache
    def rank(name: str) -> int:
        return max((rank(other) + 1 for one, other in edges if one == name), default=0)

    return {name: rank(name) for name in names}


def draw(modules: Mapping[str, Module]) -> str:
    """Return the picture of the packages as SVG."""
    edges = arrows(modules)
    names = sorted({m.package for m in modules.values() if m.name} - GROUND)
    ranks = _ranks(names, edges)
    rows = [[name for name in names if ranks[name] == r] for r in range(max(ranks.values()) + 1)]
    (wide, high), count = _BOX, max(map(len, rows))
    width = count * (wide + _GAP) + _GAP
    height = (len(rows) + 1) * _ROW
    centres = {
        name: (
            (width - len(row) * (wide + _GAP) + _GAP) // 2 + k * (wide + _GAP) + wide // 2,
            height - _ROW - r * _ROW - high // 2,
        )
        for r, row in enumerate(rows)
        for k, name in enumerate(row)
    }
    doors = sorted((a, b) for a, b in DOORS if a in centres and b in centres)
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="14" text-anchor="middle">'
        ),
        "<title>The packages of useralign and their imports</title>",
        (
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto">'
            f'<path d="M0 0L8 4L0 8z" fill="{_INK}"/></marker></defs>'
        ),
        *(_curve(centres[a], centres[b]) for a, b in sorted(_needed(edges))),
        *(_curve(centres[a], centres[b], door=True) for a, b in doors),
        *(_box(name, *centre) for name, centre in centres.items()),
        (
            f'<rect x="{_GAP}" y="{height - _ROW + 24}" width="{width - 2 * _GAP}" height="{high}" '
            f'rx="4" fill="#dfe3ea"/>'
        ),
        f'<text x="{width // 2}" y="{height - _ROW + 24 + 22}">{" · ".join(sorted(GROUND))}</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _box(name: str, x: int, y: int) -> str:
    wide, high = _BOX
    return (
        f'<rect x="{x - wide // 2}" y="{y - high // 2}" width="{wide}" height="{high}" rx="4" '
        f'fill="{_PAPER}" stroke="{_INK}"/><text x="{x}" y="{y + 5}">{name}</text>'
    )


def _curve(start: tuple[int, int], end: tuple[int, int], *, door: bool = False) -> str:
    (x1, y1), (x2, y2) = start, end
    half = _BOX[1] // 2 + 1
    sign = 1 if y2 > y1 else -1
    y1, y2 = y1 + sign * half, y2 - sign * half
    middle = (y1 + y2) // 2
    style = f'stroke="{_DOOR}" stroke-dasharray="5 4"' if door else f'stroke="{_INK}"'
    return (
        f'<path d="M{x1} {y1}C{x1} {middle} {x2} {middle} {x2} {y2}" fill="none" {style} '
        'marker-end="url(#tip)"/>'
    )


def main(arguments: list[str]) -> None:
    """Write the picture, or print the figures of a tree or of a command."""
    if arguments[:1] == ["--figures"]:
        source = Path(arguments[1]) / "useralign" if arguments[1:] else SOURCE
        for name, value in figures(source).items():
            sys.stdout.write(f"{name:32}{value:8,}\n")
        for line in cycles(read(source), types=True):
            sys.stdout.write(f"  {line}\n")
        return
    if arguments[:1] == ["--walk"]:
        modules = walk(arguments[1:])
        sys.stderr.write("\n".join(modules) + f"\n{len(modules)} modules\n")
        return
    PICTURE.write_text(draw(read()), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
