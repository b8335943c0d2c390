"""Models behind an OpenAI-compatible service: OpenAI itself, Ollama, vLLM, llama.cpp, ...

The `openai` client makes the calls, with its own time-outs and retries. Every way to fail becomes
one of our errors, with no secret in it.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from useralign.errors import ModelAnswerError, ModelError, ModelUnavailableError, OptionError
from useralign.extras import require_extra
from useralign.models import chat
from useralign.models.generator import Generator, Picture, Text, Usage
from useralign.models.prices import Prices

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    import openai

    from useralign.models.generator import ImageRequest, TextRequest

HOME = "https://api.openai.com/v1"
_TEXT_BYTES = 512 * 1024
_IMAGE_BYTES = 48 * 1024 * 1024
# The parts of a request that a service may not know, and the words by which it says so.
_PARTS = {
    "response_format": ("response_format", "json_schema", "json schema", "grammar"),
    "min_p": ("min_p",),
    "seed": ("seed",),
    "max_tokens": ("max_completion_tokens",),
}
_BLOCKED = {"content_policy_violation", "moderation_blocked", "content_filter"}
_QUOTA = "insufficient_quota"
_HIDDEN = "[hidden]"
_USABLE_KEY = re.compile(r"[\x21-\x7e]+")


class OpenAI(Generator):
    """Texts by chat completions and pictures by the images API of a service.

    The key comes from the environment or a file; it is never logged, stored or shown.

    Parameters
    ----------
    model : str
        For texts; the name of an image model here is taken as `image_model`.
    image_model : str
        For pictures.
    base_url : str, optional
        The service; by default `OPENAI_BASE_URL`, else OpenAI.
    key_variable : str
        The environment variable that holds the key.
    key_file : str or Path, optional
        A file that holds the key, instead.
    timeout : float
        Seconds for one try.
    concurrency : int
        How many calls run at once.
    max_retries : int
        How often the client tries again when the service is busy, fails, or cannot be reached: at
        growing intervals, and no sooner than the service asks for.
    prices : str, Path or mapping, optional
        See `useralign.models.prices.Prices`.

    Attributes
    ----------
    spent : Usage
        Everything so far, with the answers that were paid for but not usable.

    Raises
    ------
    ModelUnavailableError
        If there is no key and the service is OpenAI's own.
    MissingExtraError
        If the `openai` package is not installed.
    """

    name = "openai"
    makes = frozenset({"text", "image"})

    def __init__(
        self,
        model: str = "gpt-4o",
        *,
        image_model: str = "gpt-image-1",
        base_url: str | None = None,
        key_variable: str = "OPENAI_API_KEY",
        key_file: str | Path | None = None,
        timeout: float = 60.0,
        concurrency: int = 8,
        max_retries: int = 4,
        prices: str | Path | Mapping[str, Any] | None = None,
    ) -> None:
        require_extra(["openai"], "an OpenAI-compatible model", "openai")
        if concurrency < 1 or timeout <= 0 or max_retries < 0:
            raise OptionError(
                f"concurrency={concurrency}, timeout={timeout}, max_retries={max_retries}: "
                "expected 1 or more, more than 0, and 0 or more"
            )
        address = (base_url or os.environ.get("OPENAI_BASE_URL") or HOME).rstrip("/")
        if urlsplit(address).scheme not in {"http", "https"}:
            raise OptionError(
                f"base_url {without_secrets(address)!r}: expected http:// or https://"
            )
        key = _key_for(address, key_variable, key_file)
        draws = model.startswith(("gpt-image", "dall-e"))
        self.model = model
        self.image_model = model if draws else image_model
        self.base_url = without_secrets(address)
        self.spent = Usage()
        self._service = _Service(
            address,
            key,
            key_variable,
            timeout=timeout,
            concurrency=concurrency,
            max_retries=max_retries,
        )
        self._prices = Prices(prices)
        self._refused: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"OpenAI(model={self.model!r}, base_url={self.base_url!r})"

    @property
    def identity(self) -> dict[str, str]:
        """Name, models and address, without credentials."""
        return super().identity | {"image_model": self.image_model, "base_url": self.base_url}

    async def text(self, request: TextRequest) -> Text:
        """Generate one text by a chat completion."""
        if request.begin or request.weigh:
            raise ModelUnavailableError(
                f"{self.model} at {self.base_url} cannot go on from a given beginning, or weigh "
                "words: that is for local models"
            )
        async with self._service.slots():
            return await self._chat(request)

    async def image(self, request: ImageRequest) -> Picture:
        """Generate one picture. The API knows no seeds: they only distinguish cache entries."""
        async with self._service.slots():
            return await self._draw(request)

    async def release(self) -> None:
        """Close the connections; a later call opens new ones."""
        await self._service.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self.release()

    async def _chat(self, request: TextRequest) -> Text:
        started = time.perf_counter()
        left_out = set(self._refused)
        while True:
            try:
                body = chat.chat_body(self.model, request, left_out)
                data = await self._service.post("chat", body, _TEXT_BYTES)
                break
            except _RefusedPartError as refused:
                left_out.add(refused.part)
        # Only now is it sure that it was this part that the service minded.
        self._refused = frozenset(left_out)
        usage = self._spend(self.model, data, started)
        content, finish = chat.chat_text(data, self._service.where)
        return Text(content, _model_of(data, self.model), finish, usage)

    async def _draw(self, request: ImageRequest) -> Picture:
        started = time.perf_counter()
        body = {
            "model": self.image_model,
            "prompt": request.prompt,
            "size": request.size,
            "quality": request.quality,
            "n": 1,
        }
        data = await self._service.post("images", body, _IMAGE_BYTES)
        usage = self._spend(self.image_model, data, started, images=1)
        content, media_type = chat.picture(data, self._service.where)
        return Picture(content, self.image_model, media_type, usage)

    def _spend(self, model: str, data: dict[str, Any], started: float, images: int = 0) -> Usage:
        counts = chat.token_counts(data)
        seconds = time.perf_counter() - started
        price = self._prices.find(model)
        cost = price.of(counts.input, counts.output, images) if price else None
        if is_local(self.base_url):
            cost = 0.0
        usage = Usage(1, counts.input, counts.output, images, seconds, cost)
        self.spent = self.spent + usage
        return usage


class _RefusedPartError(Exception):
    """The service does not take a part of the request that can be left out."""

    def __init__(self, part: str) -> None:
        super().__init__(part)
        self.part = part


class _BrokenOffError(Exception):
    """The service's reply ended too early; holds the error to raise if it does so again."""

    def __init__(self, error: ModelError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True, slots=True)
class _Connection:
    """What belongs to one event loop."""

    client: openai.AsyncOpenAI
    slots: asyncio.Semaphore


class _Service:
    """The client, with every way to fail turned into one of our errors, without secrets in it.

    Parameters
    ----------
    address : str
    key : str or None
    key_variable : str
        For messages.
    timeout : float
        Seconds for one try.
    concurrency : int
    max_retries : int
    """

    def __init__(
        self,
        address: str,
        key: str | None,
        key_variable: str,
        *,
        timeout: float,
        concurrency: int,
        max_retries: int,
    ) -> None:
        self.where = without_secrets(address)
        self._address = address
        self._key = key
        self._key_variable = key_variable
        self._timeout = timeout
        self._concurrency = concurrency
        self._max_retries = max_retries
        self._connections: dict[asyncio.AbstractEventLoop, _Connection] = {}

    def slots(self) -> asyncio.Semaphore:
        """Return the semaphore that limits how many calls run at once."""
        return self._connection().slots

    async def aclose(self) -> None:
        """Close the connections of this event loop; a later call opens new ones."""
        connection = self._connections.pop(asyncio.get_running_loop(), None)
        if connection is not None:
            await connection.client.close()

    async def post(self, kind: str, body: dict[str, Any], limit: int) -> dict[str, Any]:
        """Make one call and return the JSON object it is answered with.

        Parameters
        ----------
        kind : str
            "chat" or "images".
        body : dict
        limit : int
            The most bytes to read.

        Raises
        ------
        _RefusedPartError
            If the service may take it without a part.
        ModelError
            If it fails, after all retries.
        """
        reply = await self._exchange(kind, body, limit)
        if isinstance(reply, _BrokenOffError) and self._max_retries:
            reply = await self._exchange(kind, body, limit)
        # Raised here: within an `except` it would be chained to the client's own error, which
        # holds the request and with it the key.
        if isinstance(reply, _BrokenOffError):
            raise _with_tries(reply.error, 1 + bool(self._max_retries))
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def _exchange(
        self, kind: str, body: dict[str, Any], limit: int
    ) -> dict[str, Any] | Exception:
        """Make one call; return the reply, or the error to raise."""
        import openai  # noqa: PLC0415 - takes a second, and is an extra

        try:
            return chat.parse_reply(await self._read_reply(kind, body, limit), self.where)
        except chat.CutShortError as error:
            return _BrokenOffError(error)
        except TimeoutError:
            return _BrokenOffError(self._too_slow())
        except ConnectionError:
            return _BrokenOffError(self._unavailable("broke off in the middle of its answer"))
        except openai.APIStatusError as error:
            return self._refusal(error, body)
        except openai.OpenAIError as error:
            return self._unreachable(error)

    async def _read_reply(self, kind: str, body: dict[str, Any], limit: int) -> bytes:
        client = self._connection().client
        endpoint: Any = client.chat.completions.with_streaming_response.create
        if kind == "images":
            endpoint = client.images.with_streaming_response.generate
        async with endpoint(**body) as reply, asyncio.timeout(self._timeout):
            raw = await _read(reply.iter_bytes(), limit)
        if len(raw) > limit:
            raise ModelAnswerError(
                f"{self.where} answered with more than {limit // 1024} KiB; it was not read to "
                "the end"
            )
        return raw

    def _connection(self) -> _Connection:
        # Connections and semaphores belong to an event loop; each asyncio.run has its own.
        loop = asyncio.get_running_loop()
        if loop not in self._connections:
            for closed in [other for other in self._connections if other.is_closed()]:
                del self._connections[closed]
            self._connections[loop] = _Connection(
                self._new_client(), asyncio.Semaphore(self._concurrency)
            )
        return self._connections[loop]

    def _new_client(self) -> openai.AsyncOpenAI:
        import openai  # noqa: PLC0415

        return openai.AsyncOpenAI(
            api_key=self._key or "none",
            base_url=self._address,
            timeout=self._timeout,
            max_retries=self._max_retries,
            http_client=openai.DefaultAsyncHttpxClient(
                event_hooks={"response": [_give_up_without_quota]}
            ),
        )

    def _unreachable(self, error: openai.OpenAIError) -> ModelError:
        import openai  # noqa: PLC0415

        if isinstance(error, openai.APITimeoutError):
            return _with_tries(self._too_slow(), _tries(error))
        cause = chat.shorten(self._redact(str(error.__cause__ or error)))
        message = f"cannot be reached ({cause}); is the address right?"
        return _with_tries(self._unavailable(message), _tries(error))

    def _refusal(self, error: openai.APIStatusError, body: dict[str, Any]) -> Exception:
        status = error.status_code
        text = self._redact(chat.error_message(error.body))
        detail = f": {text}" if text else ""
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            # Without the service's words: they may quote a part of the key.
            return self._unavailable(f"refuses the key (HTTP {status}); check {self._key_variable}")
        if error.code == _QUOTA:
            return self._unavailable(f"says that the quota is used up (HTTP {status}){detail}")
        if status in {408, 409, 429} or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            what = "asks for fewer requests" if status == 429 else "has a problem"
            busy = self._unavailable(f"{what} (HTTP {status}){detail}")
            return _with_tries(busy, _tries(error), error.response.headers.get("retry-after"))
        return self._not_accepted(error, text, detail, body)

    def _not_accepted(
        self, error: openai.APIStatusError, text: str, detail: str, body: dict[str, Any]
    ) -> Exception:
        status = error.status_code
        if error.code in _BLOCKED:
            return ModelAnswerError(f"{self.where} refused{detail}")
        if status in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}:
            part = _part_refused(text.lower(), body)
            if part is not None:
                return _RefusedPartError(part)
        if status == HTTPStatus.NOT_FOUND:
            return self._unavailable(f"has no model {body['model']!r}, or no such address{detail}")
        return self._unavailable(f"does not accept the request (HTTP {status}){detail}")

    def _too_slow(self) -> ModelError:
        return self._unavailable(f"gave no answer in {self._timeout:g} s")

    def _unavailable(self, what: str) -> ModelError:
        return ModelUnavailableError(f"{self.where} {what}")

    def _redact(self, text: str) -> str:
        """Take secrets out of a text that comes from elsewhere."""
        for secret in (self._key, self._address, urlsplit(self._address).password):
            if secret:
                text = text.replace(secret, _HIDDEN)
        return text


async def _give_up_without_quota(response: Any) -> None:
    """Mark a reply that an empty account gets: the client would try again in vain."""
    if response.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        await response.aread()
        if _QUOTA.encode() in response.content:
            response.headers["x-should-retry"] = "false"


def _tries(error: openai.OpenAIError) -> int:
    """Return how often the client tried, which it counts in a header."""
    request = getattr(error, "request", None)
    return 1 + int(request.headers.get("x-stainless-retry-count", 0) if request else 0)


def _with_tries(error: ModelError, tries: int, wait: str | None = None) -> ModelError:
    count = "once" if tries == 1 else f"{tries} times"
    hint = f"; it asks to wait {wait} s" if wait and wait.isdigit() else ""
    return type(error)(f"{error} (tried {count}{hint})")


def _part_refused(text: str, body: dict[str, Any]) -> str | None:
    sent = body.keys() | body.get("extra_body", {}).keys()
    for part, words in _PARTS.items():
        if part in sent and any(word in text for word in words):
            return part
    # A service that does not know schemas often does not say so in any known words.
    return "response_format" if "response_format" in sent else None


async def _read(chunks: AsyncIterator[bytes], limit: int) -> bytes:
    """Read until the end, or just past the limit."""
    content = bytearray()
    try:
        async for chunk in chunks:
            content += chunk
            if len(content) > limit:
                break
    except Exception as error:  # noqa: BLE001 - see below
        if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
            raise TimeoutError from None
        # The errors of the HTTP library below the client, which are not the client's own.
        raise ConnectionError from None
    return bytes(content)


def read_key(variable: str, file: str | Path | None = None) -> str | None:
    """Return the key, or None when there is none.

    Parameters
    ----------
    variable : str
        The environment variable that holds it. The variable of that name with `_FILE` at its
        end may name a file instead.
    file : str or Path, optional
        A file that holds it, and nothing else; it goes before the environment.

    Raises
    ------
    ModelUnavailableError
        If the file cannot be read, or what is there cannot be a key.
    """
    path = file or os.environ.get(f"{variable}_FILE")
    if path and (file or not os.environ.get(variable)):
        source = f"the key file {path}"
        key = _read_key_file(Path(path).expanduser())
    else:
        source = variable
        key = os.environ.get(variable, "").strip()
    # A line break or a letter beyond ASCII would make the HTTP library fail with a message that
    # quotes the whole header.
    if key and not _USABLE_KEY.fullmatch(key):
        raise ModelUnavailableError(
            f"{source} does not hold a usable key: expected one line of ASCII letters, digits "
            "and signs"
        )
    return key or None


def _read_key_file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ModelUnavailableError(
            f"the key file {path} cannot be read ({error.strerror})"
        ) from error
    except UnicodeDecodeError:
        raise ModelUnavailableError(f"the key file {path} is not a text file") from None


def without_secrets(address: str) -> str:
    """Return an address without user, password, query and fragment.

    Parameters
    ----------
    address : str
        A URL.
    """
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}".rstrip("/")


def is_local(address: str) -> bool:
    """Whether an address is on this machine."""
    return urlsplit(address).hostname in {"localhost", "127.0.0.1", "::1"}


def _key_for(address: str, variable: str, file: str | Path | None) -> str | None:
    key = read_key(variable, file)
    if key is None and urlsplit(address).hostname == urlsplit(HOME).hostname:
        raise ModelUnavailableError(
            f"no key for {HOME}: set {variable}, or name a file that holds the key with "
            f"{variable}_FILE; or use a local model: useralign models pull qwen2.5-coder-1.5b"
        )
    return key


def _model_of(data: dict[str, Any], requested: str) -> str:
    name = data.get("model")
    return chat.shorten(name) if isinstance(name, str) and name else requested
