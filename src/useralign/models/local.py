"""Models that run on this machine, through llama.cpp by way of `xllamacpp`."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import secrets
import threading
import time
import weakref
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from useralign.errors import ModelAnswerError, ModelUnavailableError, OptionError, UpstreamError
from useralign.extras import import_extra
from useralign.models import weights
from useralign.models.generator import (
    Generator,
    Text,
    chat_body,
    chat_text,
    error_message,
    reported_usage,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence

    from useralign.models.generator import TextRequest

Result = TypeVar("Result")
THREADS_VARIABLE = "USERALIGN_THREADS"
_PROMPT_CACHE_MIB = 256
_LARGEST_SEED = 2**32 - 1  # llama.cpp takes this one as "any"
# How many of the likeliest tokens to ask for: a word beyond them is as good as excluded.
_TOP_TOKENS = 200
_SHORTEST_TOKEN = 2


def thread_count(threads: int | None) -> int:
    """Return how many threads to use: as given, else `USERALIGN_THREADS`, else 1.

    One is the default because two threads on cores that others use as well wait for each
    other at every layer, and are then slower than one.
    """
    setting = os.environ.get(THREADS_VARIABLE)
    try:
        count = int(setting) if threads is None and setting else threads or 1
    except ValueError:
        count = 0
    if count < 1:
        raise OptionError(f"threads={threads}, {THREADS_VARIABLE}={setting}: expected 1 or more")
    return count


def weights_file(model: str | Path) -> Path:
    """Return the GGUF file of a model: the name of a pulled one, or a path.

    Raises `ModelUnavailableError` if it has not been pulled, there is no such file, or it is not
    GGUF.
    """
    name = str(model)
    entry = weights.entries().get(name)
    if entry is not None or weights.is_hub_name(name):
        pulled = weights.path_of(entry) if entry else None
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
        names = ", ".join(e.name for e in weights.entries().values() if e.kind == "text")
        raise ModelUnavailableError(
            f"no local model {name!r} ({error.strerror}); expected the path of a GGUF file, or "
            f"one of: {names}"
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

    It listens on a free port of the loopback only, and only to those who know the key, which is
    random by default. `context` counts the tokens of prompt and answer together, for each of the
    `parallel` requests that run at once.
    """
    path = weights_file(model)
    xllamacpp = import_extra("xllamacpp", "a local model", "local")
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = [str(model) if str(model) in weights.entries() else path.stem]
    params.n_ctx = context * parallel
    params.n_parallel = parallel
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = thread_count(threads)
    params.cache_ram_mib = _PROMPT_CACHE_MIB  # its own default may take 8 GiB
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key or secrets.token_urlsafe(24)]
    params.ui = False
    params.endpoint_slots = False  # it would show the prompts of others
    params.warmup = False
    params.verbosity = -1  # what matters comes back as an error
    try:
        return xllamacpp.Server(params)
    except (RuntimeError, ValueError) as error:
        raise ModelUnavailableError(
            f"llama.cpp cannot load {path}: the file is damaged, of a kind it does not know, or "
            f"there is too little memory ({error})"
        ) from error


# One model fits where two may not. Whoever loads one takes the place of the other.
_resident: weakref.ref[Local] | None = None
_residence = threading.Lock()


class Local(Generator):
    """Texts from a GGUF model on this machine's processor.

    The weights are loaded at the first call, which raises `ModelUnavailableError` if they are not
    there or cannot be loaded, and given back when another model is loaded in this process: only one
    stays in memory, beside those that are just writing. Generation runs in a thread beside the
    event loop; a call that is cancelled stops at the next token.
    """

    name = "local"
    makes = frozenset({"text"})
    continues = True

    def __init__(
        self,
        model: str | Path = weights.DEFAULT_TEXT_MODEL,  # a pulled one's name, or a GGUF file
        *,
        threads: int | None = None,  # by default `USERALIGN_THREADS`, else 1
        context: int = 4096,  # tokens of prompt and answer together
        parallel: int = 1,  # how many texts are written at once; they share the threads
        timeout: float = 600.0,  # seconds for one text
    ) -> None:
        if timeout <= 0 or context < 1 or parallel < 1:
            raise OptionError(
                f"timeout={timeout}, context={context}, parallel={parallel}: expected more than "
                "0 each"
            )
        self.model = str(model)
        self._load = functools.partial(
            load, model, threads=thread_count(threads), context=context, parallel=parallel
        )
        self._parallel = parallel
        self._timeout = timeout
        self._server: Any = None
        self._slots: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None

    def __repr__(self) -> str:
        return f"Local({self.model!r})"

    @property
    def identity(self) -> dict[str, str]:
        """Name and model; for a file of the user's own also its checksum, or its size and date."""
        entry = weights.entries().get(self.model)
        if entry is not None:
            pinned = {"sha256": entry.sha256} if weights.is_hub_name(self.model) else {}
            return super().identity | pinned
        with contextlib.suppress(OSError):
            stat = Path(self.model).expanduser().stat()
            return super().identity | {"file": f"{stat.st_size} {stat.st_mtime_ns}"}
        return super().identity

    async def text(self, request: TextRequest) -> Text:
        """Generate one text."""
        return await self._in_thread(lambda stop: self._write(request, stop))

    async def relay(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a chat completion as llama.cpp does: with tools, schemas and all it knows."""
        whole = {**body, "stream": False}
        replies: list[dict[str, Any]] = [{}]
        await self._in_thread(lambda stop: self._complete(whole, stop, replies.append))
        return replies[-1]

    async def stream(self, body: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Answer a chat completion as llama.cpp does, in chunks as they come."""
        chunks: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def put(chunk: dict[str, Any]) -> None:
            loop.call_soon_threadsafe(chunks.put_nowait, chunk)

        pieces = {**body, "stream": True}
        writing = asyncio.create_task(
            self._in_thread(lambda stop: self._complete(pieces, stop, put))
        )
        writing.add_done_callback(lambda _: chunks.put_nowait(None))
        try:
            while (chunk := await chunks.get()) is not None:
                yield chunk
            await writing
        finally:
            writing.cancel()

    async def _in_thread(self, work: Callable[[threading.Event], Result]) -> Result:
        """Work in a thread, which is told to stop when nobody waits for it any more."""
        async with self._slot():
            stop = threading.Event()
            job = asyncio.ensure_future(asyncio.to_thread(work, stop))
            try:
                async with asyncio.timeout(self._timeout):
                    return await asyncio.shield(job)
            except TimeoutError:
                raise ModelUnavailableError(
                    f"{self.model} did not finish a text in {self._timeout:g} s; give it more "
                    "time, fewer tokens, or a smaller model"
                ) from None
            finally:
                # The slot is free only when the thread is: it stops at its next token.
                stop.set()
                await asyncio.wait([job])
                if not job.cancelled():
                    job.exception()

    async def aclose(self) -> None:
        """Give the memory back; a later call loads the weights again."""
        with _residence:
            self._server = None

    def _slot(self) -> asyncio.Semaphore:
        # A semaphore belongs to an event loop; each asyncio.run has its own.
        loop = asyncio.get_running_loop()
        if self._slots is None or self._slots[0] is not loop:
            self._slots = loop, asyncio.Semaphore(self._parallel)
        return self._slots[1]

    def _loaded(self) -> Any:
        global _resident  # noqa: PLW0603
        with _residence:
            other = _resident() if _resident else None
            if other is not None and other is not self:
                # What is just writing keeps its weights until it is done, by its own reference.
                other._server = None
            _resident = weakref.ref(self)
            if self._server is None:
                self._server = self._load()
            return self._server

    def _complete(
        self,
        body: dict[str, Any],
        stop: threading.Event,
        take: Callable[[dict[str, Any]], object],
    ) -> None:
        """Hand a request of OpenAI's format to llama.cpp, and what it replies to `take`."""
        failures: list[dict[str, Any]] = []

        def add(reply: dict[str, Any]) -> bool:
            (failures.append if "error" in reply else take)(reply)
            return stop.is_set()

        if body.get("seed") is not None:
            body["seed"] %= _LARGEST_SEED
        server = self._loaded()
        try:
            server.handle_chat_completions(body, add)
        except (RuntimeError, ValueError) as error:
            failures.append({"error": {"message": str(error), "type": "invalid_request_error"}})
        for reply in failures:
            status = int(reply["error"].get("code") or HTTPStatus.BAD_REQUEST)
            raise UpstreamError(status, json.dumps(reply), {"content-type": "application/json"})

    def _write(self, request: TextRequest, stop: threading.Event) -> Text:
        """Write a text; streamed, since llama.cpp can be stopped only between two chunks."""
        self._loaded()  # before the clock starts
        started = time.perf_counter()
        chunks: list[dict[str, Any]] = []
        try:
            self._complete(_body(self.model, request), stop, chunks.append)
        except UpstreamError as error:
            reason = error_message(json.loads(error.body)) or "no reason given"
            raise ModelUnavailableError(
                f"{self.model} does not accept the request: {reason}"
            ) from error
        if stop.is_set():
            raise ModelAnswerError("the text was stopped before its end")
        counts = [chunk for chunk in chunks if "usage" in chunk] or [{}]
        usage = replace(reported_usage(counts[-1]), seconds=time.perf_counter() - started)
        choices = [choice for chunk in chunks for choice in chunk.get("choices", [])]
        if request.weigh:
            if not (tokens := first_tokens(choice.get("logprobs") for choice in choices)):
                raise ModelAnswerError(f"{self.model} did not tell how likely any word is")
            return Text(word_weights(tokens, request.weigh), self.model, usage=usage)
        content, finish = chat_text(_whole(choices), self.model)
        return Text(_join(request.begin, content), self.model, finish, usage)


def _whole(choices: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the choices of a streamed answer as an answer that was not streamed."""
    text = "".join(choice.get("delta", {}).get("content") or "" for choice in choices)
    reasons = [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]
    end = reasons[-1] if reasons else "stop"
    return {"choices": [{"message": {"content": text}, "finish_reason": end}]}


def _join(begin: str, rest: str) -> str:
    begin = begin.rstrip()
    return f"{begin} {rest}" if begin and rest[:1].isalnum() else begin + rest


def _body(model: str, request: TextRequest) -> dict[str, Any]:
    body = chat_body(model, request)
    if request.begin:
        body["messages"].append({"role": "assistant", "content": request.begin.rstrip()})
    if request.weigh:
        body |= {"max_tokens": 1, "temperature": 0.0, "logprobs": True, "top_logprobs": _TOP_TOKENS}
    return body | {"stream": True, "stream_options": {"include_usage": True}}


def first_tokens(chunks: Iterable[Any]) -> list[tuple[str, float]]:
    """Return the tokens that could have come first and their log-probabilities, likeliest first.

    The chunks are the `logprobs` of chat completions; what is of another form is passed over.
    """
    for chunk in chunks:
        content = chunk.get("content") if isinstance(chunk, dict) else None
        if isinstance(content, list) and content and isinstance(content[0], dict):
            top = content[0].get("top_logprobs", [])
            return [(str(item["token"]), float(item["logprob"])) for item in top]
    return []


def word_weights(tokens: Sequence[tuple[str, float]], words: Sequence[str]) -> str:
    """Return as JSON the log-probability of each word to come next.

    A word counts as likely as the longest token that it begins with. One that none of the tokens
    begins counts as the least likely of them, which is the last.
    """
    likely: dict[str, float] = {}
    for word in words:
        matches = [
            (len(token), value)
            for token, value in ((token.strip(), value) for token, value in tokens)
            if word == token or (len(token) >= _SHORTEST_TOKEN and word.startswith(token))
        ]
        likely[word] = max(matches)[1] if matches else tokens[-1][1]
    return json.dumps(likely)
