"""Named plug-ins: methods, embedders, generators and users.

All four kinds share one mechanism, Python entry points in the group `useralign.<kind>`.
The built-in ones are registered in this project's own `pyproject.toml` in the same way
as another package's would be:

    [project.entry-points."useralign.methods"]
    mymethod = "mypackage.mymodule:MyMethod"
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from useralign.errors import OptionError

KINDS = ("methods", "embedders", "generators", "users")


@cache
def _group(kind: str) -> dict[str, EntryPoint]:
    if kind not in KINDS:
        raise OptionError(f"unknown kind of plug-in {kind!r}; expected one of {', '.join(KINDS)}")
    return {point.name: point for point in entry_points(group=f"useralign.{kind}")}


def names(kind: str) -> list[str]:
    """List the registered names of one of `KINDS`, sorted."""
    return sorted(_group(kind))


def load(kind: str, name: str) -> Any:
    """Import and return what is registered under a name, or raise `OptionError` if nothing is."""
    try:
        point = _group(kind)[name]
    except KeyError:
        registered = ", ".join(names(kind)) or "none (is useralign installed?)"
        raise OptionError(
            f"unknown {kind.removesuffix('s')} {name!r}; known: {registered}"
        ) from None
    return point.load()
