"""Calls to a model: journaled, counted, within a limit on the cost, and read as candidates.

A request that the draft already has a reply to is answered from it. Any other reply is in the draft
before it is looked at.
"""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from useralign.errors import ModelAnswerError, ModelUnavailableError
from useralign.files import write_atomically
from useralign.models import ImageRequest, Picture, Text, TextRequest, Usage, plain
from useralign.pool import Candidate
from useralign.pooling.journal import DraftJournal
from useralign.pooling.parse import LONGEST, parse_answer, picture_problem, picture_suffix
from useralign.pooling.recipe import digest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Mapping

    from useralign.models import Generator
    from useralign.pooling.recipe import Recipe

Reply = TypeVar("Reply", Text, Picture)
Result = TypeVar("Result")
ROLES = ("baseline", "unbiased", "interests", "answers", "ideas", "checks")
# Seconds that calls under way have to come back when another one has failed for good.
GRACE = 10.0
_ROUNDING = 1e-12


class OverBudgetError(Exception):
    """Inside this package only: the next call might exceed the limit, so it is not made."""


class NoAnswerError(ModelAnswerError):
    """Inside this package only: the model gave no answer to one request.

    `replayed` is whether that was on file, so that nothing was asked now.
    """

    def __init__(self, message: str, *, replayed: bool) -> None:
        super().__init__(message)
        self.replayed = replayed


class Ledger:
    """Usage by role, and a gate that keeps the cost within a limit.

    Calls run side by side, and what one costs is known only when it is over. So a call may begin
    when there is room for it and for all that are under way, each taken to cost as much as the
    dearest so far; the very first goes alone.
    """

    def __init__(self, max_cost: float | None = None) -> None:
        self.usage: dict[str, Usage] = {role: Usage() for role in ROLES}
        self._max = max_cost
        self._spent = 0.0
        self._dearest: float | None = None
        self._open = 0
        self._changed = asyncio.Condition()

    @property
    def total(self) -> Usage:
        """The sum over all roles."""
        return sum(self.usage.values(), Usage())

    def add(self, role: str, usage: Usage) -> None:
        """Count what one call used, or had used when it was made."""
        self.usage[role] += usage
        # What came from a cache says nothing about what a call costs. A call without a price counts
        # as free: a limit in dollars cannot hold it.
        if usage.calls:
            cost = usage.cost or 0.0
            self._spent += cost
            self._dearest = max(self._dearest or 0.0, cost)

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        """Wait until a call may begin, and count it as under way.

        Raises `OverBudgetError` if there will be no room for it.
        """
        async with self._changed:
            await self._changed.wait_for(lambda: self._room() is not None)
            if not self._room():
                raise OverBudgetError
            self._open += 1
        try:
            yield
        finally:
            async with self._changed:
                self._open -= 1
                self._changed.notify_all()

    def _room(self) -> bool | None:
        """Return whether there is room; None as long as that depends on calls under way."""
        if self._max is None:
            return True
        if self._dearest is None:
            alone = self._open == 0
            return (self._spent < self._max) if alone else None
        if self._spent + (self._open + 1) * self._dearest <= self._max + _ROUNDING:
            return True
        return None if self._open else False

    def report(self, model: str, embedder: str, seconds: float, count: int) -> dict[str, Any]:
        """Return the usage by role, and a sentence in the form of the paper's cost section.

        `seconds` is the time that embedding `count` candidates took.
        """
        total = self.total
        return {
            **{role: asdict(usage) for role, usage in self.usage.items()},
            "generation": asdict(total),
            "embedding": {"model": embedder, "seconds": seconds, "candidates": count},
            "summary": f"Candidate pool generation with {model} cost {dollars(total.cost)}; "
            f"embedding all candidates with {embedder} took {seconds:.2f} seconds.",
        }


def dollars(cost: float | None) -> str:
    """Return a cost in words, as the paper writes it."""
    if cost is None:
        return "an unknown amount (no price is known for this model)"
    return "less than $0.01" if 0 < cost < 0.005 else f"${cost:.2f}"


def usage_from(data: Mapping[str, Any] | None) -> Usage:
    """Build a usage from `asdict`'s form, or raise `TypeError` if it is of another form."""
    return Usage(**(data or {}))


@dataclass(eq=False)
class MeteredClient:
    """Asks a model, once for each key."""

    generator: Generator
    journal: DraftJournal
    ledger: Ledger
    replayed: int = 0  # how many replies came from the draft

    async def text(self, role: str, name: str, request: TextRequest) -> Text:
        """Ask for one text, which counts as one of `ROLES`.

        `name` is what it is for, such as `"u3"`: the same request under another name is another
        one. Raises `NoAnswerError` if the model answered with nothing usable, and `OverBudgetError`
        if it might cost more than is allowed.
        """
        key = f"{name}/{digest(plain(request))}"
        if (entry := self._entry(key)) is not None and (reply := _text(entry)) is not None:
            return self._replay(role, reply)
        async with self.ledger.call():
            reply = await self._live(self.generator.text(request), key, role)
            self.journal.append(key, _line(role, request, reply, {"text": reply.text[:LONGEST]}))
            self.ledger.add(role, reply.usage)
        return reply

    async def picture(self, role: str, name: str, request: ImageRequest) -> tuple[Picture, Path]:
        """Ask for one picture; return it with the path of its file. As `text` otherwise."""
        key = f"{name}/{digest(plain(request))}"
        entry = self._entry(key)
        if entry is not None and (reply := self._picture(entry)) is not None:
            return self._replay(role, reply), self._file(entry).absolute()
        async with self.ledger.call():
            reply = await self._live(self.generator.image(request), key, role)
            # The file goes first: a line in the draft never speaks of a picture that is not there.
            file = f"{name}{picture_suffix(reply.data) or '.bin'}"
            path = write_atomically(self.journal.images / file, reply.data)
            checksum = hashlib.sha256(reply.data).hexdigest()
            content = {"file": file, "sha256": checksum, "media_type": reply.media_type}
            self.journal.append(key, _line(role, request, reply, content))
            self.ledger.add(role, reply.usage)
        return reply, path.absolute()

    def _entry(self, key: str) -> dict[str, Any] | None:
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


@asynccontextmanager
async def open_client(
    generator: Generator, path: Path, header: Mapping[str, Any], max_cost: float | None
) -> AsyncIterator[MeteredClient]:
    """Open a draft, and yield what asks the generator by way of it."""
    journal = DraftJournal(path, header)
    # The same may be under way elsewhere: what it gets is taken from the draft then.
    await journal.wait()
    with journal:
        yield MeteredClient(generator, journal, Ledger(max_cost))


def check_makes(generator: Generator, kind: str) -> None:
    """Raise unless a generator makes texts, or pictures."""
    if kind not in generator.makes:
        what = "writes no texts" if kind == "text" else "draws no pictures"
        raise ModelUnavailableError(f"{generator.model} {what}; choose a model that does")


def _line(
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


async def ask_for_text(
    client: MeteredClient,
    role: str,
    name: str,
    request: TextRequest,
    *,
    recipe: Recipe,
    question: str,
) -> tuple[Candidate, str | None, str]:
    """Ask for one text candidate, and read the reply.

    The name becomes the candidate's id. Returns the candidate, what is wrong with it if anything
    is, and what the model said, word for word.
    """
    reply = await client.text(role, name, request)
    verdict = parse_answer(
        reply.text,
        question=question,
        prompt=f"{request.system}\n{request.prompt}",
        finish=reply.finish,
        limit=recipe.sentences,
        least=recipe.min_words,
    )
    meta = _provenance(request, reply) | {"temperature": request.temperature}
    return Candidate(text=verdict.text, id=name, meta=meta), verdict.problem, reply.text


async def ask_for_picture(
    client: MeteredClient, role: str, name: str, request: ImageRequest, caption: str
) -> tuple[Candidate, str | None]:
    """Ask for one picture candidate; return it, and what is wrong with it if anything is."""
    reply, path = await client.picture(role, name, request)
    meta = _provenance(request, reply) | {"sha256": hashlib.sha256(reply.data).hexdigest()}
    candidate = Candidate(text=caption, image=str(path), id=name, meta=meta)
    return candidate, picture_problem(reply.data)


def _provenance(request: TextRequest | ImageRequest, reply: Text | Picture) -> dict[str, Any]:
    facts: dict[str, Any] = {"prompt": request.prompt, "model": reply.model, "seed": request.seed}
    if isinstance(reply, Text):
        facts["finish"] = reply.finish
    return {**facts, "cached": reply.cached, "usage": asdict(reply.usage)}


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
