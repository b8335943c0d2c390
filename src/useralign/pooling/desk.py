"""Where requests go to a model and replies come back: by way of the draft, and counted.

A request that the draft already has a reply to is answered from it. Any other reply is in the draft
before it is looked at.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from useralign.errors import ModelAnswerError
from useralign.files import write_atomically
from useralign.models.generators.base import ImageRequest, Picture, Text, TextRequest, plain
from useralign.pooling.journal import digest
from useralign.pooling.pictures import picture_suffix
from useralign.pooling.spending import usage_from
from useralign.pooling.words import LONGEST

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from useralign.models.generators.base import Generator
    from useralign.pooling.journal import Journal
    from useralign.pooling.spending import Ledger

Reply = TypeVar("Reply", Text, Picture)
Result = TypeVar("Result")
_REASONING = ("interests", "ideas", "checks")
GRACE = 10.0
"""Seconds that calls under way have to come back when another one has failed for good."""


class NoAnswerError(ModelAnswerError):
    """Inside this package only: the model gave no answer to one request.

    Parameters
    ----------
    message : str
    replayed : bool
        Whether that was on file, so that nothing was asked now.
    """

    def __init__(self, message: str, *, replayed: bool) -> None:
        super().__init__(message)
        self.replayed = replayed


class Desk:
    """Asks a model, once for each key.

    Parameters
    ----------
    generator : Generator
        Makes the candidates.
    writer : Generator
        Reasons about interests, and about ideas.
    journal : Journal
    ledger : Ledger
    """

    def __init__(
        self, generator: Generator, writer: Generator, journal: Journal, ledger: Ledger
    ) -> None:
        self.generator = generator
        self.writer = writer
        self.journal = journal
        self.ledger = ledger
        self.replayed = 0

    async def text(self, role: str, name: str, request: TextRequest) -> Text:
        """Ask for one text.

        Parameters
        ----------
        role : str
            What it counts as; one of `ROLES`.
        name : str
            What it is for, such as `"u3"`: the same request under another name is another one.
        request : TextRequest

        Raises
        ------
        NoAnswerError
            If the model answered with nothing usable.
        OverBudgetError
            If it might cost more than is allowed.
        """
        key = f"{name}/{digest(plain(request))}"
        if (filed := self._filed(key)) is not None and (known := _text(filed)) is not None:
            return self._replay(role, known)
        model = self.writer if role in _REASONING else self.generator
        async with self.ledger.call():
            reply = await self._live(model.text(request), key, role)
            self.journal.append(key, _entry(role, request, reply, {"text": reply.text[:LONGEST]}))
            self.ledger.add(role, reply.usage)
        return reply

    async def picture(self, role: str, name: str, request: ImageRequest) -> tuple[Picture, Path]:
        """Ask for one picture; return it with the path of its file. As `text` otherwise."""
        key = f"{name}/{digest(plain(request))}"
        if (filed := self._filed(key)) is not None and (known := self._picture(filed)) is not None:
            return self._replay(role, known), self._file(filed).absolute()
        async with self.ledger.call():
            reply = await self._live(self.generator.image(request), key, role)
            # The file goes first: a line in the draft never speaks of a picture that is not there.
            file = f"{name}{picture_suffix(reply.data) or '.bin'}"
            path = write_atomically(self.journal.images / file, reply.data)
            checksum = hashlib.sha256(reply.data).hexdigest()
            content = {"file": file, "sha256": checksum, "media_type": reply.media_type}
            self.journal.append(key, _entry(role, request, reply, content))
            self.ledger.add(role, reply.usage)
        return reply, path.absolute()

    def _filed(self, key: str) -> dict[str, Any] | None:
        entry = self.journal.get(key)
        if entry is not None and "error" in entry:
            raise NoAnswerError(str(entry["error"]), replayed=True)
        return entry

    def _replay(self, role: str, reply: Reply) -> Reply:
        self.replayed += 1
        self.ledger.add(role, reply.usage)
        return reply

    async def _live(self, call: Coroutine[Any, Any, Reply], key: str, role: str) -> Reply:
        try:
            return await call
        except ModelAnswerError as error:
            self.journal.append(key, {"role": role, "error": str(error)[:500]})
            raise NoAnswerError(str(error), replayed=False) from error

    def _file(self, entry: Mapping[str, Any]) -> Path:
        # Only the name counts, so that a draft from elsewhere leads nowhere else.
        return self.journal.images / Path(entry["reply"]["file"]).name

    def _picture(self, entry: Mapping[str, Any]) -> Picture | None:
        try:
            reply = entry["reply"]
            data = self._file(entry).read_bytes()
            if hashlib.sha256(data).hexdigest() != reply["sha256"]:
                return None
            usage = usage_from(reply["usage"])
            return Picture(data, reply["model"], reply["media_type"], usage, reply["cached"])
        except (OSError, KeyError, TypeError):
            return None


def _entry(
    role: str,
    request: TextRequest | ImageRequest,
    reply: Text | Picture,
    content: Mapping[str, Any],
) -> dict[str, Any]:
    facts = {"model": reply.model, "cached": reply.cached, "usage": asdict(reply.usage)}
    if isinstance(reply, Text):
        facts["finish"] = reply.finish
    return {"role": role, "request": plain(request), "reply": {**content, **facts}}


def _text(entry: Mapping[str, Any]) -> Text | None:
    """Read a reply from the draft; None when the line is not of that form, so it is asked anew."""
    try:
        reply = entry["reply"]
        text, usage = reply["text"], usage_from(reply["usage"])
        if not isinstance(text, str):
            return None
        return Text(text, reply["model"], reply["finish"], usage, reply["cached"])
    except (KeyError, TypeError):
        return None


async def together(*calls: Coroutine[Any, Any, Result]) -> list[Result]:
    """Run calls side by side and return their results in order.

    When one fails, the others have `GRACE` seconds to come back, because they are paid for: what
    arrives is in the draft.
    """
    tasks = [asyncio.create_task(call) for call in calls]
    if not tasks:
        return []
    try:
        _, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        if pending:
            await asyncio.wait(pending, timeout=GRACE)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
    return [task.result() for task in tasks]
