"""Where useralign keeps things between runs."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir(*parts: str) -> Path:
    """Return a folder for what can be made again: weights, generations, embeddings.

    `USERALIGN_CACHE` names it; else it is `useralign` under `XDG_CACHE_HOME` or `~/.cache`.
    The folder is not created here.

    Parameters
    ----------
    *parts : str
        Names of folders below it.
    """
    return _folder("USERALIGN_CACHE", "XDG_CACHE_HOME", "~/.cache").joinpath(*parts)


def data_dir(*parts: str) -> Path:
    """Return a folder for what cannot be made again: the database of answers.

    `USERALIGN_DATA` names it; else it is `useralign` under `XDG_DATA_HOME` or `~/.local/share`.
    The folder is not created here.

    Parameters
    ----------
    *parts : str
        Names of folders or files below it.
    """
    return _folder("USERALIGN_DATA", "XDG_DATA_HOME", "~/.local/share").joinpath(*parts)


def _folder(ours: str, everyones: str, usual: str) -> Path:
    named = os.environ.get(ours)
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get(everyones) or usual).expanduser() / "useralign"
