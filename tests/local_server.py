"""A real llama.cpp server on the loopback, for tests and measurements."""

from __future__ import annotations

import functools
import os
import secrets
import tempfile
from pathlib import Path
from typing import Any

from useralign.models.local import load


class LocalServer:
    """An OpenAI-compatible server on the loopback, for as long as a `with` block lasts.

    Parameters
    ----------
    model : str or Path
        The name of a pulled model, or the path of a GGUF file.
    threads, context, parallel
        As for `load`.
    key : str, optional
        What clients must show. Random by default: any program on this machine can reach the
        port.

    Attributes
    ----------
    base_url : str
        Ends in /v1.
    key : str
    key_file : Path or None
        A file that holds the key, for as long as the server runs.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        threads: int | None = None,
        context: int = 4096,
        parallel: int = 1,
        key: str | None = None,
    ) -> None:
        self.model = model
        self.base_url = ""
        self.key_file: Path | None = None
        self.key = key or secrets.token_urlsafe(24)
        self._load = functools.partial(
            load, model, threads=threads, context=context, parallel=parallel, key=self.key
        )
        self._server: Any = None

    def __repr__(self) -> str:
        return f"LocalServer({str(self.model)!r}, base_url={self.base_url!r})"

    def __enter__(self) -> LocalServer:
        self._server = self._load()
        self.base_url = f"{self._server.listening_address}/v1"
        handle, name = tempfile.mkstemp(prefix="useralign-", suffix=".key")
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(self.key)
        self.key_file = Path(name)
        return self

    def __exit__(self, *_: object) -> None:
        # Its destructor stops the threads and gives the memory back.
        self._server = None
        self.base_url = ""
        if self.key_file is not None:
            self.key_file.unlink(missing_ok=True)
            self.key_file = None
