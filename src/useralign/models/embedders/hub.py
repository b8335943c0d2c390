"""The Hugging Face hub: its cache on this machine, and whether it answers, without its client."""

from __future__ import annotations

import os
from pathlib import Path

from useralign.errors import ModelUnavailableError
from useralign.models.weights import Hub
from useralign.models.weights.hub import endpoint, reachable


def cached_snapshot(repo: str, *needed: str) -> Path | None:
    """Return the folder of a model that was downloaded before, or None.

    Parameters
    ----------
    repo : str
        "owner/name" of a model at the hub.
    *needed : str
        Names of files, one of which must be there.
    """
    root = _cache_folder() / f"models--{repo.replace('/', '--')}" / "snapshots"
    try:
        snapshots = sorted(root.iterdir(), key=lambda folder: folder.stat().st_mtime)
    except OSError:
        return None
    complete = [s for s in snapshots if any((s / name).is_file() for name in needed)]
    return complete[-1] if complete else None


def expect_reachable(repo: str, file: str, instead: str) -> None:
    """Find out whether a model can be fetched, before its library tries for a minute.

    Parameters
    ----------
    repo : str
        "owner/name" of a model at the hub.
    file : str
        One of its files.
    instead : str
        The embedder to use when it cannot be had.

    Raises
    ------
    ModelUnavailableError
        If the hub does not answer, or has no such file.
    """
    if not reachable(Hub(repo, "main", file)):
        raise ModelUnavailableError(
            f"the weights {repo} are not in the hub's cache, and {endpoint()} does not give them: "
            f"run `hf download {repo}` with a connection, or use the embedder {instead!r}"
        )


def _cache_folder() -> Path:
    """Return the folder by the rules of `huggingface_hub.constants`."""
    if named := os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE"):
        return Path(named).expanduser()
    above = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    home = os.environ.get("HF_HOME") or str(Path(above) / "huggingface")
    return Path(home).expanduser() / "hub"
