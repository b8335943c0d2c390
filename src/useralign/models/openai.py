"""Models behind a service that speaks OpenAI's language: OpenAI itself, Anthropic, Ollama, ...

The `openai` client makes the calls, with its own time-outs and retries. Every way to fail becomes
one of our errors, with no secret in it.
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from useralign.errors import (
    ModelAnswerError,
    ModelError,
    ModelUnavailableError,
    OptionError,
    UpstreamError,
)
from useralign.extras import require_extra
from useralign.models.generator import (
    Generator,
    Picture,
    Text,
    Usage,
    chat_body,
    chat_text,
    error_message,
    picture_data,
    reported_usage,
    shorten,
)
from useralign.models.providers import (
    Provider,
    all_keys,
    find_price,
    is_local,
    providers,
    read_key,
    without_secrets,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from pathlib import Path

    import openai

    from useralign.models.generator import ImageRequest, TextRequest

_MOST_BYTES = {"chat": 512 * 1024, "images": 48 * 1024 * 1024}
_RELAYED_BYTES = 32 * 1024 * 1024  # log-probabilities and audio are long
_PATIENCE = 600.0  # seconds for what is passed on, as OpenAI's own client has it
# The parts of a request that a service may not know, and the words by which it says so.
_PARTS = {
    "response_format": ("response_format", "json_schema", "json schema", "grammar"),
    "min_p": ("min_p",),
    "seed": ("seed",),
    "max_tokens": ("max_completion_tokens",),
    "temperature": ("temperature",),
}
_BLOCKED = {"content_policy_violation", "moderation_blocked", "content_filter"}
_QUOTA = "insufficient_quota"
_HIDDEN = "[hidden]"


class _RefusedPartError(Exception):
    """The service does not take a part of the request that can be left out."""

    def __init__(self, part: str) -> None:
        super().__init__(part)
        self.part = part


class _BrokenOffError(ModelUnavailableError):
    """The service's reply ended too early: worth one more try."""


class _CutShortError(ModelAnswerError):
    """What it replied is not complete: worth one more try, too."""


@dataclass(frozen=True, slots=True)
class _Connection:
    """What belongs to one event loop."""

    client: openai.AsyncOpenAI
    slots: asyncio.Semaphore


class OpenAI(Generator):
    """Texts by chat completions and pictures by the images API of a service.

    The key comes from the environment or a file; it is never logged, stored or shown. When the
    service is busy, fails, or cannot be reached, the client tries again: at growing intervals, and
    no sooner than the service asks for. Raises `ModelUnavailableError` if there is no key and the
    service needs one, and `MissingExtraError` if the `openai` package is not installed.
    """

    sees = True  # whether the model behind it does, only the model can tell

    def __init__(
        self,
        model: str = "",  # for texts, or for pictures if it is a model that draws
        *,
        provider: str | Provider = "openai",  # who serves it: a name in `providers.toml`
        base_url: str | None = None,  # another address, such as that of a proxy
        key_file: str | Path | None = None,  # holds the key, instead of the environment
        timeout: float | None = None,  # seconds for one try
        concurrency: int | None = None,  # how many calls run at once
        max_retries: int | None = None,  # what is None or empty here is as the provider has it
    ) -> None:
        require_extra(["openai"], "an OpenAI-compatible model", "openai")
        who = providers()[provider] if isinstance(provider, str) else provider
        timeout = who.timeout if timeout is None else timeout
        concurrency = who.concurrency if concurrency is None else concurrency
        max_retries = who.retries if max_retries is None else max_retries
        if concurrency < 1 or timeout <= 0 or max_retries < 0:
            raise OptionError(
                f"concurrency={concurrency}, timeout={timeout}, max_retries={max_retries}: "
                "expected 1 or more, more than 0, and 0 or more"
            )
        address = (base_url or who.url).rstrip("/")
        if urlsplit(address).scheme not in {"http", "https"}:
            raise OptionError(
                f"base_url {without_secrets(address)!r}: expected http:// or https://"
            )
        model = model or who.model
        if not model:
            raise OptionError(f"{who.label} serves many models: name one, as in {who.name}:MODEL")
        draws = model.startswith(("gpt-image", "dall-e"))
        self.name = who.name
        self.makes = who.makes
        self.model = model
        self.image_model = model if draws else who.image_model
        self.base_url = without_secrets(address)
        self._address = address
        self._key = _key_for(who, address, key_file)
        self._key_variable = who.key
        self._timeout = timeout
        self._concurrency = concurrency
        self._max_retries = max_retries
        self._prices = {name: find_price(name) for name in (self.model, self.image_model)}
        self._refused = frozenset(who.leaves_out)
        self._seed = who.seed
        self._connections: dict[asyncio.AbstractEventLoop, _Connection] = {}

    def __repr__(self) -> str:
        return f"OpenAI(model={self.model!r}, provider={self.name!r}, base_url={self.base_url!r})"

    @property
    def identity(self) -> dict[str, str]:
        """Name, models and address, without credentials."""
        pictures = {"image_model": self.image_model} if self.image_model else {}
        return super().identity | pictures | {"base_url": self.base_url}

    async def text(self, request: TextRequest) -> Text:
        """Generate one text by a chat completion."""
        if request.begin or request.weigh:
            raise ModelUnavailableError(
                f"{self.model} at {self.base_url} cannot go on from a given beginning, or weigh "
                "words: that is for local models"
            )
        async with self._connection().slots:
            return await self._chat(request)

    async def image(self, request: ImageRequest) -> Picture:
        """Generate one picture. The API knows no seeds: they only distinguish cache entries."""
        if "image" not in self.makes:
            return await super().image(request)
        body = {
            "model": self.image_model,
            "prompt": request.prompt,
            "size": request.size,
            "quality": request.quality,
            "n": 1,
        }
        async with self._connection().slots:
            started = time.perf_counter()
            data = await self._post("images", body)
        with self._counted(self.image_model, data, started, images=1) as usage:
            content, media_type = picture_data(data, self.base_url)
        return Picture(content, self.image_model, media_type, usage)

    async def relay(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Pass a chat completion on as it is, tried once, and return the reply as it is.

        How many run at once is for whoever sends them to say. Raises `UpstreamError` if the service
        refuses it, and `ModelError` if it cannot be reached, or replies with something else.
        """
        reply = await self._exchange("chat", body, as_it_is=True)
        if isinstance(reply, Exception):  # raised here, as in `_post`
            raise reply
        return reply

    async def stream(self, body: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Pass a chat completion on as `relay` does, and yield its chunks as they come.

        What goes wrong after the first is the last one: it has an `error`, as the service's own do.
        """
        import openai  # noqa: PLC0415 - as below

        client = self._connection().client.with_options(max_retries=0, timeout=_PATIENCE)
        create: Any = client.chat.completions.create
        begun = False
        failure: ModelError | None = None
        try:
            async with await create(**_arguments(body), stream=True) as chunks:
                async for chunk in chunks:
                    begun = True
                    yield chunk.to_dict()
        except openai.APIStatusError as error:
            failure = self._as_it_is(error)
        except openai.APIConnectionError as error:
            failure = self._unreachable(error, _PATIENCE)
        except openai.APIError as error:  # what it says in the middle of its answer
            yield {"error": json.loads(self._redact(json.dumps(error.body)))}
        except Exception as error:  # noqa: BLE001 - the HTTP library's own, or what is no JSON
            failure = self._unavailable(f"broke off its answer ({type(error).__name__})")
        if failure is not None:
            if not begun:
                raise failure  # here, as in `_post`
            yield {"error": {"message": str(failure), "type": "upstream_error"}}

    async def release(self) -> None:
        """Close the connections of this event loop; a later call opens new ones."""
        connection = self._connections.pop(asyncio.get_running_loop(), None)
        if connection is not None:
            await connection.client.close()

    async def _chat(self, request: TextRequest) -> Text:
        started = time.perf_counter()
        left_out = set(self._refused)
        while True:
            body = chat_body(self.model, request, left_out, self._seed)
            try:
                data = await self._post("chat", body)
                break
            except _RefusedPartError as refused:
                left_out.add(refused.part)
        # Only now is it sure that it was this part that the service minded.
        self._refused = frozenset(left_out)
        with self._counted(self.model, data, started) as usage:
            content, finish = chat_text(data, self.base_url)
        name = data.get("model")
        model = shorten(name) if isinstance(name, str) and name else self.model
        return Text(content, model, finish, usage)

    @contextmanager
    def _counted(
        self, model: str, data: dict[str, Any], started: float, images: int = 0
    ) -> Iterator[Usage]:
        """Yield what a reply used, which is paid for even if nothing in it is usable."""
        usage = reported_usage(data)
        price = self._prices[model]
        cost = price.of(usage.input_tokens, usage.output_tokens, images) if price else None
        if is_local(self.base_url):
            cost = 0.0
        usage = replace(usage, images=images, seconds=time.perf_counter() - started, cost=cost)
        try:
            yield usage
        except ModelAnswerError as error:
            error.usage = usage
            raise

    async def _post(self, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        """Make one call ("chat" or "images") and return the JSON object it is answered with.

        A reply that ended too early gets one more try. Raises `_RefusedPartError` if the service
        may take it without a part, and `ModelError` if it fails, after all retries.
        """
        broken_off = _CutShortError, _BrokenOffError
        tries, reply = 1, await self._exchange(kind, body)
        if isinstance(reply, broken_off) and self._max_retries:
            tries, reply = 2, await self._exchange(kind, body)
        # Raised here: within an `except` it would be chained to the client's own error, which
        # holds the request and with it the key.
        if isinstance(reply, broken_off):
            raise _with_tries(reply, tries)
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def _exchange(
        self, kind: str, body: Mapping[str, Any], *, as_it_is: bool = False
    ) -> dict[str, Any] | Exception:
        """Make one call; return the reply, or the error to raise.

        As it is: tried once by the client, and a refusal is the service's own.
        """
        import openai  # noqa: PLC0415 - takes a second, and is an extra

        limit, retries, seconds = _MOST_BYTES[kind], self._max_retries, self._timeout
        if as_it_is:
            limit, retries, seconds = _RELAYED_BYTES, 0, max(seconds, _PATIENCE)
        client = self._connection().client.with_options(max_retries=retries, timeout=seconds)
        endpoint: Any = client.chat.completions.with_streaming_response.create
        if kind == "images":
            endpoint = client.images.with_streaming_response.generate
        try:
            async with endpoint(**_arguments(body)) as reply:
                content = await self._read(reply.iter_bytes(), limit, seconds)
            return content if isinstance(content, ModelError) else self._parse(content)
        except openai.APIStatusError as error:
            return self._as_it_is(error) if as_it_is else self._refusal(error, body)
        except openai.OpenAIError as error:
            return self._unreachable(error, seconds)

    async def _read(
        self, chunks: AsyncIterator[bytes], limit: int, seconds: float
    ) -> bytes | ModelError:
        """Return the content of a reply, or the error to raise."""
        content = bytearray()
        try:
            async with asyncio.timeout(seconds):
                async for chunk in chunks:
                    content += chunk
                    if len(content) > limit:
                        return ModelAnswerError(
                            f"{self.base_url} answered with more than {limit // 1024} KiB; it was "
                            "not read to the end"
                        )
        # Which HTTP library is below the client depends on its version.
        except Exception as error:  # noqa: BLE001
            slow = "Timeout" in type(error).__name__
            what = _too_slow(seconds) if slow else "broke off in the middle of its answer"
            return _BrokenOffError(f"{self.base_url} {what}")
        return bytes(content)

    def _parse(self, content: bytes) -> dict[str, Any] | ModelError:
        """Return the JSON object in a reply, or the error to raise."""
        if content.lstrip().startswith(b"<"):
            return ModelAnswerError(
                f"{self.base_url} answered with a web page instead of JSON; is the address right? "
                "It usually ends in /v1"
            )
        try:
            data = json.loads(content)
        except (ValueError, RecursionError):
            return _CutShortError(
                f"{self.base_url} answered with {len(content)} bytes that are not complete JSON; "
                "it was cut short, or is not an OpenAI-compatible service"
            )
        if isinstance(data, dict):
            return data
        return ModelAnswerError(
            f"{self.base_url} answered with a JSON {type(data).__name__}, expected an object"
        )

    def _connection(self) -> _Connection:
        # Connections and semaphores belong to an event loop; each asyncio.run has its own.
        loop = asyncio.get_running_loop()
        if loop not in self._connections:
            import openai  # noqa: PLC0415

            for closed in [other for other in self._connections if other.is_closed()]:
                del self._connections[closed]
            hooks: Any = {"response": [_give_up_without_quota]}
            client = openai.AsyncOpenAI(
                api_key=self._key or "none",
                base_url=self._address,
                timeout=self._timeout,
                http_client=openai.DefaultAsyncHttpxClient(event_hooks=hooks),
            )
            slots = asyncio.Semaphore(self._concurrency)
            self._connections[loop] = _Connection(client, slots)
        return self._connections[loop]

    def _unreachable(self, error: openai.OpenAIError, seconds: float) -> ModelError:
        import openai  # noqa: PLC0415

        if isinstance(error, openai.APITimeoutError):
            return _with_tries(self._unavailable(_too_slow(seconds)), _tries(error))
        cause = shorten(self._redact(str(error.__cause__ or error)))
        message = f"cannot be reached ({cause}); is the address right?"
        return _with_tries(self._unavailable(message), _tries(error))

    def _as_it_is(self, error: openai.APIStatusError) -> UpstreamError:
        names = ("content-type", "retry-after", "x-request-id")
        sent = {name: value for name in names if (value := error.response.headers.get(name))}
        return UpstreamError(error.status_code, self._redact(error.response.text), sent)

    def _refusal(self, error: openai.APIStatusError, body: Mapping[str, Any]) -> Exception:
        status = error.status_code
        text = self._redact(error_message(error.body))
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
        if error.code in _BLOCKED:
            return ModelAnswerError(f"{self.base_url} refused{detail}")
        if status in {400, 422} and (part := _part_refused(text.lower(), body)):
            return _RefusedPartError(part)
        what = f"does not accept the request (HTTP {status})"
        if status == HTTPStatus.NOT_FOUND:
            what = f"has no model {body['model']!r}, or no such address"
        return self._unavailable(f"{what}{detail}")

    def _unavailable(self, what: str) -> ModelError:
        return ModelUnavailableError(f"{self.base_url} {what}")

    def _redact(self, text: str) -> str:
        """Take secrets out of a text that comes from elsewhere."""
        password = urlsplit(self._address).password
        for secret in (self._key, self._address, password, *all_keys()):
            if secret:
                text = text.replace(secret, _HIDDEN)
        return text


async def _give_up_without_quota(response: Any) -> None:
    """Mark a reply that an empty account gets: the client would try again in vain."""
    if response.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        await response.aread()
        if _QUOTA.encode() in response.content:
            response.headers["x-should-retry"] = "false"


def _too_slow(seconds: float) -> str:
    return f"gave no answer in {seconds:g} s"


def _tries(error: openai.OpenAIError) -> int:
    """Return how often the client tried, which it counts in a header."""
    request = getattr(error, "request", None)
    return 1 + int(request.headers.get("x-stainless-retry-count", 0) if request else 0)


def _with_tries(error: ModelError, tries: int, wait: str | None = None) -> ModelError:
    count = "once" if tries == 1 else f"{tries} times"
    hint = f"; it asks to wait {wait} s" if wait and wait.isdigit() else ""
    return type(error)(f"{error} (tried {count}{hint})")


def _part_refused(text: str, body: Mapping[str, Any]) -> str | None:
    for part, words in _PARTS.items():
        if part in body and any(word in text for word in words):
            return part
    # A service that does not know schemas often does not say so in any known words.
    return "response_format" if "response_format" in body else None


def _key_for(provider: Provider, address: str, file: str | Path | None) -> str | None:
    key = read_key(provider.key, file)
    needed = provider.base_url and not is_local(provider.base_url)
    if key is None and needed and _host(address) == _host(provider.base_url):
        raise ModelUnavailableError(
            f"no key for {provider.label} ({provider.base_url}): set {provider.key}, or name a "
            f"file that holds the key with {provider.key}_FILE; or use a local model: useralign "
            "models pull qwen2.5-coder-1.5b"
        )
    return key


def _arguments(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the client's call that send a body as it is."""
    names = ("model", "messages" if "messages" in body else "prompt")  # the client insists on them
    needed = {name: body[name] for name in names}
    return needed | {"extra_body": {k: v for k, v in body.items() if k not in needed}}


def _host(address: str) -> str | None:
    return urlsplit(address).hostname
