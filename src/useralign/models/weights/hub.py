"""Fetching a file from the Hugging Face hub, going on where an earlier try was cut off."""

from __future__ import annotations

import http.client
import os
import urllib.error
import urllib.request
from http import HTTPStatus
from typing import IO, TYPE_CHECKING

from useralign.errors import ModelUnavailableError

if TYPE_CHECKING:
    from pathlib import Path

    from useralign.models.weights.entries import Hub, Weights
    from useralign.models.weights.progress import Progress

PROBE_SECONDS = 4.0
READ_SECONDS = 60.0
CHUNK = 1 << 20


def endpoint() -> str:
    """Return the hub's address; `HF_ENDPOINT` names another, as for the hub's own client."""
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def reachable(hub: Hub) -> bool:
    """Find out quickly whether the hub has this file for us; `HF_HUB_OFFLINE` says no."""
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in {"1", "true", "yes", "on"}:
        return False
    request = urllib.request.Request(_address(hub), method="HEAD")  # noqa: S310 - see _address
    try:
        with urllib.request.urlopen(request, timeout=PROBE_SECONDS) as answer:  # noqa: S310
            return bool(answer.status == HTTPStatus.OK)
    except (OSError, http.client.HTTPException):
        return False


def fetch(entry: Weights, hub: Hub, part: Path, progress: Progress) -> None:
    """Append to a part file what it lacks.

    Parameters
    ----------
    entry : Weights
    hub : Hub
    part : Path
        The beginning of the file, if an earlier try left one.
    progress : Progress

    Raises
    ------
    ModelUnavailableError
        If the hub cannot be reached or breaks off. What has come so far is kept.
    """
    there = part.stat().st_size if part.exists() else 0
    if there >= entry.size:
        return
    request = urllib.request.Request(_address(hub), headers={"Range": f"bytes={there}-"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=READ_SECONDS) as answer:  # noqa: S310
            resumed = answer.status == HTTPStatus.PARTIAL_CONTENT
            with part.open("ab" if resumed else "wb") as file:
                _copy(answer, file, there if resumed else 0, entry.size, progress)
    except (urllib.error.URLError, TimeoutError, ConnectionError, http.client.HTTPException) as e:
        raise ModelUnavailableError(
            f"{entry.name}: the download from {endpoint()} broke off ({e}); "
            f"what came so far is kept: run `useralign models pull {entry.name}` again"
        ) from e


def _copy(source: IO[bytes], file: IO[bytes], done: int, size: int, progress: Progress) -> None:
    while done < size and (chunk := source.read(min(CHUNK, size - done))):
        file.write(chunk)
        done += len(chunk)
        progress.at(done)
    if done < size:
        raise ConnectionError(f"{done} of {size} bytes")


def _address(hub: Hub) -> str:
    """Build the address; only http and https are ever opened."""
    address = f"{endpoint()}/{hub.repo}/resolve/{hub.revision}/{hub.file}"
    if not address.startswith(("https://", "http://")):
        raise ModelUnavailableError(
            f"HF_ENDPOINT is {endpoint()!r}; expected an address that begins with https://"
        )
    return address
