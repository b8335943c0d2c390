"""A model that runs in this process, through llama.cpp."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from useralign.errors import ModelAnswerError, ModelUnavailableError, OptionError
from useralign.models import weights
from useralign.models.generators import llamacpp
from useralign.models.generators.base import Generator, Text, Usage
from useralign.models.generators.openai import chat_body
from useralign.models.generators.replies import Tokens, chat_text, said, tokens_of
from useralign.models.generators.weighing import TOKENS, tokens_in, weighed

if TYPE_CHECKING:
    from useralign.models.generators.base import TextRequest

_LARGEST_SEED = 2**32 - 1  # llama.cpp takes this one as "any"


class Local(Generator):
    """Texts from a GGUF model on this machine's processor.

    The weights are loaded at the first call. Generation runs in a thread beside the event loop;
    a call that is cancelled stops at the next token.

    Parameters
    ----------
    model : str or Path
        The name of a pulled model (`useralign models list`), or the path of a GGUF file.
    threads : int, optional
        By default `USERALIGN_THREADS`, else 1.
    context : int
        Tokens of prompt and answer together.
    parallel : int
        How many texts are written at once; they share the threads.
    timeout : float
        Seconds for one text.

    Raises
    ------
    ModelUnavailableError
        At the first call: if the weights are not there or cannot be loaded.
    """

    name = "local"
    makes = frozenset({"text"})
    continues = True

    def __init__(
        self,
        model: str | Path = weights.DEFAULT_TEXT_MODEL,
        *,
        threads: int | None = None,
        context: int = 4096,
        parallel: int = 1,
        timeout: float = 600.0,
    ) -> None:
        if timeout <= 0 or context < 1 or parallel < 1:
            raise OptionError(
                f"timeout={timeout}, context={context}, parallel={parallel}: expected more than "
                "0 each"
            )
        self.model = str(model)
        self._load = functools.partial(
            llamacpp.load,
            model,
            threads=llamacpp.threads_wanted(threads),
            context=context,
            parallel=parallel,
        )
        self._parallel = parallel
        self._timeout = timeout
        self._server: Any = None
        self._loading = threading.Lock()
        self._slots: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None

    def __repr__(self) -> str:
        return f"Local({self.model!r})"

    @property
    def identity(self) -> dict[str, str]:
        """Name and model; for a file of the user's own also its size and date."""
        if self.model in weights.catalogue():
            return super().identity
        with contextlib.suppress(OSError):
            stat = Path(self.model).expanduser().stat()
            return super().identity | {"file": f"{stat.st_size} {stat.st_mtime_ns}"}
        return super().identity

    async def text(self, request: TextRequest) -> Text:
        """Generate one text."""
        async with self._slot():
            stop = threading.Event()
            job = asyncio.ensure_future(asyncio.to_thread(self._write, request, stop))
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
        with self._loading:
            self._server = None

    def _slot(self) -> asyncio.Semaphore:
        # A semaphore belongs to an event loop; each asyncio.run has its own.
        loop = asyncio.get_running_loop()
        if self._slots is None or self._slots[0] is not loop:
            self._slots = loop, asyncio.Semaphore(self._parallel)
        return self._slots[1]

    def _loaded(self) -> Any:
        with self._loading:
            if self._server is None:
                self._server = self._load()
            return self._server

    def _write(self, request: TextRequest, stop: threading.Event) -> Text:
        server = self._loaded()
        body = _body(self.model, request)
        started = time.perf_counter()
        reply = _Reply(stop)
        try:
            server.handle_chat_completions(body, reply.add)
        except (RuntimeError, ValueError) as error:
            raise ModelUnavailableError(
                f"{self.model} does not accept the request: {error}"
            ) from error
        data = reply.whole()
        if "error" in data:
            raise ModelUnavailableError(
                f"{self.model} does not accept the request: {said(data) or 'no reason given'}"
            )
        counts = reply.tokens
        usage = Usage(1, counts.input, counts.output, 0, time.perf_counter() - started, 0.0)
        if request.weigh:
            return Text(self._weighed(request, reply), self.model, usage=usage)
        content, finish = chat_text(data, self.model)
        return Text(_joined(request.begin, content), self.model, finish, usage)

    def _weighed(self, request: TextRequest, reply: _Reply) -> str:
        tokens = tokens_in(reply.logprobs)
        if not tokens:
            raise ModelAnswerError(f"{self.model} did not tell how likely any word is")
        return weighed(tokens, request.weigh)


class _Reply:
    """The pieces of a streamed answer, put together.

    Streamed only because that is how llama.cpp can be stopped: when `add` returns True.
    """

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._pieces: list[str] = []
        self._finish = "stop"
        self._error: dict[str, Any] | None = None
        self.logprobs: list[Any] = []
        self.tokens = Tokens()

    def add(self, chunk: dict[str, Any]) -> bool:
        """Take a chunk; tell whether to stop."""
        if "error" in chunk:
            self._error = chunk
        if "usage" in chunk:
            self.tokens = tokens_of(chunk)
        for choice in chunk.get("choices", []):
            self._pieces.append(choice.get("delta", {}).get("content") or "")
            self._finish = choice.get("finish_reason") or self._finish
            self.logprobs.append(choice.get("logprobs"))
        return self._stop.is_set()

    def whole(self) -> dict[str, Any]:
        """Return it as an answer that was not streamed."""
        if self._error is not None:
            return self._error
        if self._stop.is_set():
            raise ModelAnswerError("the text was stopped before its end")
        message = {"content": "".join(self._pieces)}
        return {"choices": [{"message": message, "finish_reason": self._finish}]}


def _joined(begin: str, rest: str) -> str:
    begin = begin.rstrip()
    return f"{begin} {rest}" if begin and rest[:1].isalnum() else begin + rest


def _body(model: str, request: TextRequest) -> dict[str, Any]:
    body = chat_body(model, request, set())
    body |= body.pop("extra_body", {})
    if request.seed is not None:
        body["seed"] = request.seed % _LARGEST_SEED
    if request.begin:
        body["messages"].append({"role": "assistant", "content": request.begin.rstrip()})
    if request.weigh:
        body |= {"max_tokens": 1, "temperature": 0.0, "logprobs": True, "top_logprobs": TOKENS}
    return body | {"stream": True, "stream_options": {"include_usage": True}}
