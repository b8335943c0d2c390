"""Asking a model by way of a draft, which has every reply before anything else happens to it.

A draft has one JSON object per line. The first says which question, recipe and model it is for;
each other holds one reply, or the error in its place. A line is appended and synchronised the
moment its reply arrives, so that a process that is killed loses nothing it has paid for. Resuming
is replaying: the same requests are made in the same order, and those on file are answered from it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeVar, cast

from filelock import AsyncFileLock

from useralign.errors import FileFormatError, ModelAnswerError, ModelUnavailableError
from useralign.files import append_lines, open_to_append, parse_object, write_atomically
from useralign.models import ImageRequest, Picture, Text, TextRequest, Usage, picture_suffix, plain
from useralign.pool import Candidate
from useralign.pooling.parse import LONGEST, parse_answer, picture_problem
from useralign.pooling.recipe import digest, seed_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Coroutine, Mapping, Sequence

    from useralign.models import Generator
    from useralign.pooling.recipe import Recipe
    from useralign.pooling.select import Features

    Request = TextRequest | ImageRequest

Reply = TypeVar("Reply", Text, Picture)
Result = TypeVar("Result")
FORMAT = "useralign-draft/1"
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

    def __init__(self, max_cost: float | None = None, roles: Sequence[str] = ROLES) -> None:
        self.usage: dict[str, Usage] = {role: Usage() for role in roles}
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
        """Count what a reply used when it was made."""
        self.usage[role] += usage

    def pay(self, usage: Usage) -> None:
        """Count what one call cost against the limit."""
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
            return None if self._open else self._spent < self._max
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
            "summary": f"Candidate pool generation with {model} cost {_dollars(total.cost)}; "
            f"embedding all candidates with {embedder} took {seconds:.2f} seconds.",
        }


def _dollars(cost: float | None) -> str:
    """Return a cost in words, as the paper writes it."""
    if cost is None:
        return "an unknown amount (no price is known for this model)"
    return "less than $0.01" if 0 < cost < 0.005 else f"${cost:.2f}"


def usage_from(data: Any) -> Usage:
    """Build a usage from `asdict`'s form; what is of another form counts as none."""
    try:
        return Usage(**data)
    except TypeError:
        return Usage()


@asynccontextmanager
async def open_client(
    generator: Generator, path: Path, header: Mapping[str, Any], max_cost: float | None = None
) -> AsyncIterator[MeteredClient]:
    """Open a draft, and yield what asks the generator by way of it.

    The same may be under way elsewhere: it is waited for, and what it got is taken from the draft.
    A file with another header is left alone; one without a single reply is removed at the end.
    """
    async with AsyncExitStack() as stack:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Without a thread, which would go on waiting when this is cancelled.
            lock = AsyncFileLock(path.with_name(f".{path.name}.lock"), run_in_executor=False)
            await stack.enter_async_context(lock)
            entries, damaged = _read(path, {"format": FORMAT, **header})
            file = stack.enter_context(open_to_append(path))
        except OSError as error:
            raise FileFormatError(
                f"the draft {path} cannot be read and written ({error.strerror}); "
                "give another path as draft="
            ) from error
        try:
            ledger = Ledger(max_cost)
            for entry in entries.values():  # all of it has been paid for, whatever is used again
                ledger.pay(_paid(entry))
            yield MeteredClient(generator, path, ledger, entries, file)
        finally:
            if not entries and not damaged:
                path.unlink(missing_ok=True)


def _read(path: Path, header: Mapping[str, Any]) -> tuple[dict[str, dict[str, Any]], int]:
    """Return the entries of a draft by key, and how many lines cannot be read; begin a new one.

    Such a line is the last one of a process that was killed, as a rule.
    """
    content = path.read_bytes() if path.exists() else b""
    if not content:
        write_atomically(path, json.dumps(header) + "\n")
        return {}, 0
    first, *others = content.split(b"\n")
    present, expected = parse_object(first), json.loads(json.dumps(header))
    if present.get("format") != FORMAT:
        raise FileFormatError(
            f"{path}: is not the draft of a pool (expected {FORMAT!r} in line 1); "
            "give another path as draft="
        )
    if present != expected:
        parts = [k for k in expected if present.get(k) != expected[k]]
        raise FileFormatError(
            f"{path}: is the draft of a pool with another {' and '.join(parts)}; "
            "give another path as draft=, or remove it"
        )
    entries: dict[str, dict[str, Any]] = {}
    damaged = 0
    for entry in map(parse_object, filter(None, others)):
        if isinstance(entry.get("key"), str):
            entries.setdefault(entry["key"], entry)
        else:
            damaged += 1
    return entries, damaged


@dataclass(eq=False)
class MeteredClient:
    """Asks a model, once for each key; `open_client` makes one."""

    generator: Generator
    path: Path  # of the draft
    ledger: Ledger
    entries: dict[str, dict[str, Any]]  # of the draft, by key
    file: BinaryIO
    replayed: int = 0  # how many replies came from the draft
    calls: int = 0  # how many were made now

    async def text(self, role: str, name: str, request: TextRequest) -> Text:
        """Ask for one text, which counts as one of `ROLES`.

        `name` is what it is for, such as `"u3"`: the same request under another name is another
        one. Raises `NoAnswerError` if the model answered with nothing usable, and `OverBudgetError`
        if it might cost more than is allowed.
        """
        return await self._ask(role, name, request, self.generator.text)

    async def picture(self, role: str, name: str, request: ImageRequest) -> Picture:
        """Ask for one picture, as `text` does; it is in `picture_file`."""
        return await self._ask(role, name, request, self.generator.image)

    def picture_file(self, name: str, picture: Picture) -> Path:
        """Return where a picture is."""
        return self._images.absolute() / f"{name}{picture_suffix(picture.data) or '.bin'}"

    @property
    def _images(self) -> Path:
        """The folder beside the draft for its pictures."""
        return self.path.with_name(f"{self.path.stem}-images")

    async def _ask(
        self, role: str, name: str, request: Any, call: Callable[[Any], Awaitable[Reply]]
    ) -> Reply:
        key = f"{name}/{digest(plain(request))}"
        if (entry := self.entries.get(key)) is not None:
            if "error" in entry:
                self.ledger.add(role, _paid(entry))
                raise NoAnswerError(str(entry["error"]), replayed=True)
            if (stored := self._reply(entry)) is not None:
                self.replayed += 1
                self.ledger.add(role, stored.usage)
                return cast("Reply", stored)
        async with self.ledger.call():
            self.calls += 1
            try:
                reply = await call(request)
            except ModelAnswerError as error:
                usage = error.usage or Usage()
                self._append(key, role, usage, error=str(error)[:500], usage=asdict(usage))
                raise NoAnswerError(str(error), replayed=False) from error
            facts = {"model": reply.model, "cached": reply.cached, "usage": asdict(reply.usage)}
            content = self._content(name, reply) | facts
            self._append(key, role, reply.usage, request=plain(request), reply=content)
        return reply

    def _append(self, key: str, role: str, paid: Usage, /, **facts: Any) -> None:
        """Write an entry to the draft, and count what was paid for it."""
        entry = {"key": key, "role": role, **facts}
        append_lines(self.file, json.dumps(entry))
        self.entries[key] = entry
        self.ledger.pay(paid)
        self.ledger.add(role, paid)

    def _content(self, name: str, reply: Text | Picture) -> dict[str, Any]:
        if isinstance(reply, Text):
            return {"text": reply.text[:LONGEST], "finish": reply.finish}
        # The file goes first: a line in the draft never speaks of a picture that is not there.
        path = write_atomically(self.picture_file(name, reply), reply.data)
        checksum = hashlib.sha256(reply.data).hexdigest()
        return {"file": path.name, "sha256": checksum, "media_type": reply.media_type}

    def _reply(self, entry: Mapping[str, Any]) -> Text | Picture | None:
        """Return a reply in the draft; None if it is not of that form, so that it is asked anew."""
        try:
            reply = entry["reply"]
            made = {"usage": Usage(**(reply["usage"] or {})), "cached": reply["cached"]}
            if "file" not in reply:
                text = reply["text"]
                sound = isinstance(text, str)
                return Text(text, reply["model"], reply["finish"], **made) if sound else None
            # Only the name counts, so that a draft from elsewhere leads nowhere else.
            data = (self._images / Path(reply["file"]).name).read_bytes()
            sound = hashlib.sha256(data).hexdigest() == reply["sha256"]
            return Picture(data, reply["model"], reply["media_type"], **made) if sound else None
        except (OSError, KeyError, TypeError):
            return None


def _paid(entry: Mapping[str, Any]) -> Usage:
    """Return what was used for an entry; for an error, drafts of earlier versions do not say."""
    reply = entry if "error" in entry else entry.get("reply")
    return usage_from(reply.get("usage") if isinstance(reply, dict) else None)


def check_makes(generator: Generator, kind: str) -> None:
    """Raise unless a generator makes texts, or pictures."""
    if kind not in generator.makes:
        what = "writes no texts" if kind == "text" else "draws no pictures"
        raise ModelUnavailableError(f"{generator.model} {what}; choose a model that does")


@dataclass(frozen=True, slots=True)
class Event:
    """One step in the generation or the growth of a pool."""

    kind: Literal[
        "begin",
        "baseline",
        "interests",
        "ideas",  # some were listed or weighed; `note` says how many
        "candidate",  # it arrived and is usable
        "rejected",  # it is not; `note` says why
        "duplicate",  # it is too much like another, and is replaced: one less is made
        "embedded",
        "done",
    ]
    made: int
    wanted: int
    candidate: Candidate | None = None
    note: str = ""
    usage: Usage = field(default_factory=Usage)  # all that has been used so far


Progress = Callable[[Event], None]


@dataclass(eq=False)
class CandidateMaker:
    """What generating a pool and growing one have in common: asking for candidates, reporting."""

    question: str
    recipe: Recipe
    client: MeteredClient
    features: Features
    progress: Progress | None
    wanted: int
    made: int = 0

    async def ask_text(self, role: str, name: str, **settings: Any) -> Text:
        """Ask for a text that is no candidate; the seed of its request follows from its name."""
        seed = seed_of(self.recipe.seed, name)
        return await self.client.text(role, name, TextRequest(**settings, seed=seed))

    async def ask(
        self, role: str, name: str, prompt: str, seed: int, *, caption: str = "", **settings: Any
    ) -> tuple[Candidate, str | None]:
        """Ask for one text or picture; return it, and what is wrong with it if anything is.

        Its id is the name. A text is asked for as the recipe says but for the `settings` of its
        request; a picture gets the caption for its text.
        """
        recipe = self.recipe
        if recipe.kind == "image":
            drawing = ImageRequest(prompt, recipe.image_size, recipe.image_quality, seed)
            picture = await self.client.picture(role, name, drawing)
            checksum = hashlib.sha256(picture.data).hexdigest()
            candidate = Candidate(
                text=caption,
                image=str(self.client.picture_file(name, picture)),
                id=name,
                meta=_provenance(drawing, picture) | {"sha256": checksum},
            )
            return candidate, picture_problem(picture.data)
        usual: dict[str, Any] = {"max_tokens": recipe.max_tokens, "min_p": recipe.min_p}
        request = TextRequest(prompt, recipe.system, seed=seed, **(usual | settings))
        reply = await self.client.text(role, name, request)
        text, problem = parse_answer(
            reply.text,
            question=self.question,
            prompt=f"{request.system}\n{request.prompt}",
            finish=reply.finish,
            limit=recipe.sentences,
            least=recipe.min_words,
        )
        meta = {"finish": reply.finish, "temperature": request.temperature}
        candidate = Candidate(text=text, id=name, meta=_provenance(request, reply) | meta)
        return candidate, problem or self.off_form(reply.text, text)

    def off_form(self, _reply: str, _text: str) -> str | None:
        """Return what else is wrong with a reply, word for word, and the answer in it."""
        return None

    def report(self, kind: Any, candidate: Candidate | None = None, note: str = "") -> None:
        """Report one step."""
        if self.progress is not None:
            usage = self.client.ledger.total
            self.progress(Event(kind, self.made, self.wanted, candidate, note, usage))


def _provenance(request: Request, reply: Text | Picture) -> dict[str, Any]:
    facts = {"prompt": request.prompt, "model": reply.model, "seed": request.seed}
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
