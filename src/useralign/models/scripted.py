"""A generator that replies from a script: for tests, examples and dry runs."""

from __future__ import annotations

import asyncio
import base64
import inspect
from typing import TYPE_CHECKING

from useralign.errors import ModelAnswerError
from useralign.models.generator import Generator, Picture, Text, Usage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from useralign.models.generator import ImageRequest, TextRequest

    Reply = str | BaseException
    Replies = Sequence[Reply] | Callable[[TextRequest], Reply | Awaitable[Reply]]

# A white pixel.
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAGzXk7AAAAABJRU5ErkJggg=="
)


class Scripted(Generator):
    """Answer from a list, in order, or from a function of the request.

    Parameters
    ----------
    answers : sequence or callable, optional
        Texts; an exception in their place is raised. A list that is used up starts again. A
        function may be a coroutine function. By default the prompt is repeated.
    failures : mapping of int to exception, optional
        Raise this at the call of that number, counted from 0, whatever its kind.
    seconds : float
        How long a call takes.
    model : str

    Attributes
    ----------
    calls : int
        How many calls have begun.
    requests : list
        Their requests, in order.
    """

    name = "scripted"
    makes = frozenset({"text", "image"})
    sees = True

    def __init__(
        self,
        answers: Replies | None = None,
        *,
        failures: Mapping[int, BaseException] | None = None,
        seconds: float = 0.0,
        model: str = "scripted",
    ) -> None:
        self.model = model
        self.requests: list[TextRequest | ImageRequest] = []
        self._answers = answers
        self._failures = dict(failures or {})
        self._seconds = seconds
        self._texts = 0

    @property
    def calls(self) -> int:
        """How many calls have begun."""
        return len(self.requests)

    async def text(self, request: TextRequest) -> Text:
        """Return the next answer."""
        index = self._texts
        self._texts += 1
        await self._begin(request)
        reply = await self._reply(request, index)
        if isinstance(reply, BaseException):
            raise reply
        words = len(request.prompt.split()), len(reply.split())
        usage = Usage(1, *words, seconds=self._seconds)
        return Text(reply, self.model, usage=usage)

    async def image(self, request: ImageRequest) -> Picture:
        """Return a white pixel."""
        await self._begin(request)
        return Picture(PIXEL, self.model, usage=Usage(1, images=1, seconds=self._seconds))

    async def _begin(self, request: TextRequest | ImageRequest) -> None:
        number = len(self.requests)
        self.requests.append(request)
        await asyncio.sleep(self._seconds)
        if number in self._failures:
            raise self._failures[number]

    async def _reply(self, request: TextRequest, index: int) -> Reply:
        if self._answers is None:
            return request.prompt
        if callable(self._answers):
            reply = self._answers(request)
            return await reply if inspect.isawaitable(reply) else reply
        if not self._answers:
            raise ModelAnswerError("the script has no answers")
        return self._answers[index % len(self._answers)]
