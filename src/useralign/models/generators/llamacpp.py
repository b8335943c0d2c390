"""llama.cpp by way of `xllamacpp`: loading a model, and a server on this machine's loopback."""

from __future__ import annotations

import functools
import os
import secrets
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from useralign.errors import MissingExtraError, ModelUnavailableError, OptionError
from useralign.models import weights

if TYPE_CHECKING:
    from types import TracebackType

THREADS_VARIABLE = "USERALIGN_THREADS"
_PROMPT_CACHE_MIB = 256


def threads_wanted(threads: int | None) -> int:
    """Return how many threads to use: as given, else `USERALIGN_THREADS`, else 1.

    One is the default because two threads on cores that others use as well wait for each
    other at every layer, and are then slower than one.
    """
    named = os.environ.get(THREADS_VARIABLE)
    try:
        wanted = int(named) if threads is None and named else threads or 1
    except ValueError:
        wanted = 0
    if wanted < 1:
        raise OptionError(f"threads={threads}, {THREADS_VARIABLE}={named}: expected 1 or more")
    return wanted


def weights_file(model: str | Path) -> Path:
    """Find the GGUF file of a model.

    Parameters
    ----------
    model : str or Path
        The name of a pulled model, or the path of a GGUF file.

    Raises
    ------
    ModelUnavailableError
        If it has not been pulled, there is no such file, or it is not GGUF.
    """
    name = str(model)
    if name in weights.catalogue():
        pulled = weights.path_of(name)
        if pulled is None:
            raise ModelUnavailableError(
                f"the weights of {name} are not here; get them: useralign models pull {name}"
            )
        return pulled
    path = Path(model).expanduser()
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        known = ", ".join(e.name for e in weights.catalogue().values() if e.kind == "text")
        raise ModelUnavailableError(
            f"no local model {name!r} ({error.strerror}); expected the path of a GGUF file, or "
            f"one of: {known}"
        ) from error
    if magic != b"GGUF":
        raise ModelUnavailableError(f"{path} is not a GGUF file: it begins with {magic!r}")
    return path


def load(
    model: str | Path,
    *,
    threads: int | None = None,
    context: int = 4096,
    parallel: int = 1,
    key: str | None = None,
) -> Any:
    """Load a model and return the `xllamacpp.Server` that runs it.

    It listens on a free port of the loopback only, and only to those who know the key.

    Parameters
    ----------
    model : str or Path
        As for `weights_file`.
    threads : int, optional
        See `threads_wanted`.
    context : int
        Tokens of prompt and answer together, for each of the requests that run at once.
    parallel : int
        How many requests run at once.
    key : str, optional
        Random by default.

    Raises
    ------
    MissingExtraError
        If `xllamacpp` is not installed.
    ModelUnavailableError
        If the weights are not there or cannot be loaded.
    """
    wanted = threads_wanted(threads)
    if context < 1 or parallel < 1:
        raise OptionError(f"context={context}, parallel={parallel}: expected 1 or more each")
    path = weights_file(model)
    try:
        import xllamacpp  # noqa: PLC0415 - an extra, and large
    except ImportError as error:
        raise MissingExtraError("a local model", "local") from error
    params = _params(xllamacpp, path, wanted, context * parallel, parallel)
    params.api_keys = [key or secrets.token_urlsafe(24)]
    params.model_alias = [str(model) if str(model) in weights.catalogue() else path.stem]
    try:
        return xllamacpp.Server(params)
    except (RuntimeError, ValueError) as error:
        raise ModelUnavailableError(
            f"llama.cpp cannot load {path}: the file is damaged, of a kind it does not know, or "
            f"there is too little memory ({error})"
        ) from error


def _params(xllamacpp: Any, path: Path, threads: int, context: int, parallel: int) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = context
    params.n_parallel = parallel
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = _PROMPT_CACHE_MIB  # its own default may take 8 GiB
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.ui = False
    params.endpoint_slots = False  # it would show the prompts of others
    params.warmup = False
    params.verbosity = -1  # what matters comes back as an error
    return params


class LocalServer:
    """An OpenAI-compatible server on the loopback, for as long as a `with` block lasts.

    >>> with LocalServer("smollm2-135m") as server:  # doctest: +SKIP
    ...     generator = OpenAI("smollm2-135m", base_url=server.base_url, key_file=server.key_file)

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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Its destructor stops the threads and gives the memory back.
        self._server = None
        self.base_url = ""
        if self.key_file is not None:
            self.key_file.unlink(missing_ok=True)
            self.key_file = None
