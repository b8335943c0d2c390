"""The connection to an OpenAI-compatible service: one call in, JSON or a clear error out."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from useralign.errors import ModelAnswerError, ModelError, ModelUnavailableError
from useralign.models.generators import replies
from useralign.models.generators.keys import redact, without_secrets
from useralign.models.generators.retry import TransientError, seconds_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import openai

# The parts of a request that a service may not know, and the words by which it says so.
_PARTS = {
    "response_format": ("response_format", "json_schema", "json schema", "grammar"),
    "min_p": ("min_p",),
    "seed": ("seed",),
    "max_tokens": ("max_completion_tokens",),
}
_BLOCKED = {"content_policy_violation", "moderation_blocked", "content_filter"}


class RefusedPartError(Exception):
    """The service does not take a part of the request that can be left out."""

    def __init__(self, part: str) -> None:
        super().__init__(part)
        self.part = part


@dataclass(frozen=True, slots=True)
class _Here:
    """What belongs to one event loop."""

    client: openai.AsyncOpenAI
    slots: asyncio.Semaphore


class Service:
    """A client that turns every way to fail into one of our errors, without secrets in it.

    Parameters
    ----------
    address : str
    key : str or None
    key_variable : str
        For messages.
    timeout : float
        Seconds for one try.
    concurrency : int
    """

    def __init__(
        self, address: str, key: str | None, key_variable: str, timeout: float, concurrency: int
    ) -> None:
        self.where = without_secrets(address)
        self._address = address
        self._key = key
        self._key_variable = key_variable
        self._timeout = timeout
        self._concurrency = concurrency
        self._states: dict[asyncio.AbstractEventLoop, _Here] = {}

    def slots(self) -> asyncio.Semaphore:
        """Return the semaphore that limits how many calls run at once."""
        return self._here().slots

    async def aclose(self) -> None:
        """Close the connections of this event loop; a later call opens new ones."""
        state = self._states.pop(asyncio.get_running_loop(), None)
        if state is not None:
            await state.client.close()

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
        TransientError
            If another try makes sense.
        RefusedPartError
            If the service may take it without a part.
        ModelError
            If neither.
        """
        import openai  # noqa: PLC0415 - takes a second, and is an extra

        raw: bytes | None = None
        failure: Exception
        try:
            async with asyncio.timeout(self._timeout):
                raw = await self._exchange(kind, body, limit)
        except (TimeoutError, openai.APITimeoutError):
            failure = TransientError(self._unavailable(f"gave no answer in {self._timeout:g} s"))
        except openai.APIStatusError as error:
            failure = self._refused(error, body)
        except openai.OpenAIError as error:
            cause = replies.short(self._clean(str(error.__cause__ or error)))
            lost = self._unavailable(f"cannot be reached ({cause}); is the address right?")
            failure = TransientError(lost, tries=3)
        except ConnectionError:
            failure = TransientError(self._unavailable("broke off in the middle of its answer"))
        if raw is None:
            # Out here, so that the library's exception, which holds the request and with it
            # the key, is not chained to ours.
            raise failure
        return replies.parse(raw, self.where)

    async def _exchange(self, kind: str, body: dict[str, Any], limit: int) -> bytes:
        client = self._here().client
        endpoint: Any = client.chat.completions.with_streaming_response.create
        if kind == "images":
            endpoint = client.images.with_streaming_response.generate
        async with endpoint(**body) as answer:
            raw = await _read(answer.iter_bytes(), limit)
        if len(raw) > limit:
            raise ModelAnswerError(
                f"{self.where} answered with more than {limit // 1024} KiB; it was not read to "
                "the end"
            )
        return raw

    def _here(self) -> _Here:
        # Connections and semaphores belong to an event loop; each asyncio.run has its own.
        loop = asyncio.get_running_loop()
        if loop not in self._states:
            import openai  # noqa: PLC0415

            for gone in [other for other in self._states if other.is_closed()]:
                del self._states[gone]
            client = openai.AsyncOpenAI(
                api_key=self._key or "none",
                base_url=self._address,
                timeout=self._timeout,
                max_retries=0,
            )
            self._states[loop] = _Here(client, asyncio.Semaphore(self._concurrency))
        return self._states[loop]

    def _refused(self, error: openai.APIStatusError, body: dict[str, Any]) -> Exception:
        status = error.status_code
        text = self._clean(replies.said(error.body))
        detail = f": {text}" if text else ""
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            # Without the service's words: they may quote a part of the key.
            return self._unavailable(f"refuses the key (HTTP {status}); check {self._key_variable}")
        if error.code == "insufficient_quota":
            return self._unavailable(f"says that the quota is used up (HTTP {status}){detail}")
        if status in {408, 409, 429} or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            after = seconds_of(error.response.headers.get("retry-after"))
            what = "asks for fewer requests" if status == 429 else "has a problem"
            return TransientError(self._unavailable(f"{what} (HTTP {status}){detail}"), after)
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
                return RefusedPartError(part)
        if status == HTTPStatus.NOT_FOUND:
            return self._unavailable(f"has no model {body['model']!r}, or no such address{detail}")
        return self._unavailable(f"does not accept the request (HTTP {status}){detail}")

    def _unavailable(self, what: str) -> ModelError:
        return ModelUnavailableError(f"{self.where} {what}")

    def _clean(self, text: str) -> str:
        return redact(text, (self._key, self._address, urlsplit(self._address).password))


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
