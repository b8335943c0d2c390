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
    named = os.environ.get("USERALIGN_CACHE")
    if named:
        return Path(named).expanduser().joinpath(*parts)
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser().joinpath("useralign", *parts)
