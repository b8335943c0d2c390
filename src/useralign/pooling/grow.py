"""Pools that grow while a person answers: new candidates near what was liked.

    growth = Growth(generator)
    while True:
        if growth.due(session):
            growth.grow(session)
        if (pair := session.ask()) is None:
            break
        session.tell(...)

Where a person should not wait for a model, the same in three parts: `snapshot` and `join` beside
the session, `propose` in a thread of its own while the person goes on answering.

How far a pool has grown, and what that cost, is written in `pool.meta["growth"]` and in the new
candidates. So a saved session goes on growing where it was, and a `Growth` has no memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import math
import re
import threading
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from useralign.checks import is_finite, is_whole, whole
from useralign.errors import ModelAnswerError, ModelError, OptionError, UseralignError
from useralign.files import cache_dir
from useralign.models import Usage, wait_for
from useralign.pool import Candidate
from useralign.pooling import prompts
from useralign.pooling.client import (
    CandidateMaker,
    Event,
    NoAnswerError,
    OverBudgetError,
    check_makes,
    open_client,
    together,
    usage_from,
)
from useralign.pooling.recipe import Recipe, digest, seed_of
from useralign.pooling.select import twin_of, usable_features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from useralign.models import Generator
    from useralign.pool import Pool
    from useralign.pooling.client import Progress
    from useralign.pooling.select import AnyEmbedder, Features
    from useralign.session import Session

OVER = ("stopped", "budget", "limit")  # reasons for stopping that new candidates do not change
EXAMPLES = 3  # liked, and disliked, candidates that a model is told of at most
REMARKS = 3  # that it is told of at most
_KEY = "growth"
_ROLE = "answers"
_LONGEST = 1200  # characters, unless the pool itself has longer ones
_ITEM = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.):])\s+\S", re.MULTILINE)
_TELLTALE = re.compile(
    r"\b(?:dis)?liked\b|\b(?:the|this) person\b|\bnone of the above\b|\bthe same kind as\b|"
    r"\bthe (?:other|previous) (?:choices|suggestions|answers)\b",
    re.IGNORECASE,
)
# A recipe of one sentence is for small models: reading a long prompt takes them longer than writing
# the answer, and what they read they copy. The comparison with all candidates makes up for what
# they are not told.
_FIRST_WORDS = 10


@dataclass(frozen=True, slots=True)
class GrowthRecord:
    """What a pool remembers of its growth: how often, at which cost, and with what outcome.

    It stands in `pool.meta["growth"]`, so that a saved pool goes on growing where it was, be it in
    a file or in a database.
    """

    requests: int = 0  # how many candidates were asked for
    usage: Usage = field(default_factory=Usage)
    rounds: tuple[dict[str, Any], ...] = ()  # each with its `key` and the `step` it joined at

    @classmethod
    def of(cls, pool: Pool) -> GrowthRecord:
        """Return a pool's record; what is of another form counts as not there."""
        data = pool.meta.get(_KEY)
        if not isinstance(data, dict):
            return cls()
        requests, rounds = data.get("asked", 0), data.get("rounds")
        complete = [
            item
            for item in (rounds if isinstance(rounds, list) else [])
            if isinstance(item, dict)
            and isinstance(item.get("key"), str)
            and is_whole(item.get("step"))
        ]
        usage = usage_from(data.get("usage"))
        return cls(requests if is_whole(requests) else 0, usage, tuple(complete))

    @property
    def cost(self) -> float:
        """US dollars spent so far; an unknown price counts as nothing."""
        return self.usage.cost or 0.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All of a session that new candidates are made from. Nothing changes it."""

    pool: Pool
    step: int  # how many comparisons were answered
    liked: tuple[int, ...] = ()  # indices in the pool, the clearest first
    disliked: tuple[int, ...] = ()  # likewise; none is in both
    remarks: tuple[str, ...] = ()  # what the person said, the newest last

    @classmethod
    def of(cls, session: Session) -> Snapshot:
        """Return the snapshot of a session.

        Only what the person saw is an example. Each is weighed by its standardised score plus the
        share of its screens that it won less the share that it lost. Liked is what won and weighs
        more than nothing, at least the best of the winners; disliked what lost or will not do, and
        weighs less.
        """
        won, lost, seen = Counter[int](), Counter[int](), Counter[int]()
        for answer in session.answers:
            seen.update(answer.candidates)
            won.update({winner for winner, _ in answer.wins})
            lost.update({loser for _, loser in answer.wins})
            if answer.kind == "neither":
                lost.update(answer.candidates)
        score = _standardised(session.scores)
        appeal = {k: float(score[k]) + (won[k] - lost[k]) / seen[k] for k in seen}
        # Equal ones in the order of the pool, so that the same answers give the same examples.
        ranked = sorted(sorted(seen), key=lambda k: -appeal[k])
        winners = [k for k in ranked if won[k]]
        liked = ([k for k in winners if appeal[k] > 0] or winners[:1])[:EXAMPLES]
        losers = [k for k in reversed(ranked) if lost[k] and k not in liked]
        disliked = [k for k in losers if appeal[k] < 0][:EXAMPLES]
        remarks = [a.text.strip() for a in session.answers if a.kind == "remark"]
        remarks += [wish.text for wish in session.wishes]
        last = list(filter(None, remarks))[-REMARKS:]
        return cls(session.pool, session.cost, tuple(liked), tuple(disliked), tuple(last))

    @property
    def key(self) -> str:
        """What sets it apart: the same pool, examples and growth so far have the same key."""
        examples = {"liked": self.liked, "disliked": self.disliked, "remarks": self.remarks}
        requests = GrowthRecord.of(self.pool).requests
        return digest([self.pool.fingerprint, examples, self.step, requests])[:16]


def _standardised(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = float(scores.std())
    if not np.isfinite(spread) or spread <= 0.0:
        return np.zeros(len(scores))
    return np.asarray((scores - scores.mean()) / spread)


class Rejected(NamedTuple):
    """What a model gave that did not join, and why."""

    text: str
    why: str


def _as_twin(candidate: Candidate, twin: Candidate) -> Rejected:
    """Return a candidate as rejected for its likeness to another."""
    label = twin.label if twin.index >= 0 else "another new one"
    return Rejected(candidate.text[:200], f"too much like {label}")


@dataclass(frozen=True, slots=True)
class Proposal:
    """New candidates that wait to join a session, and what the model gave besides."""

    candidates: tuple[Candidate, ...]
    features: NDArray[np.float64]  # shape (n, d), in the space of the pool's raw features
    rejected: tuple[Rejected, ...] = ()
    usage: Usage = field(default_factory=Usage)  # what all of it used, when it was made
    problem: str = ""  # why there are fewer than wanted, if something went wrong
    key: str = ""  # the snapshot's: a proposal joins once
    requests: int = 0  # how many candidates were asked for


@dataclass(frozen=True, slots=True)
class Grown:
    """What became of a session's growth."""

    joined: tuple[Candidate, ...]  # as the pool has them now
    rejected: tuple[Rejected, ...]
    usage: Usage
    problem: str = ""  # what went wrong, in words for the user; the session goes on


class Growth:
    """Adds candidates to running sessions, near what was liked and away from what was not.

    Use it in a `with` statement, or `close` it, if the model is a service: its connections stay
    open from one growth to the next.

    Parameters
    ----------
    generator : Generator
        The model that makes them; closed with the growth.
    embedder : str, Embedder or callable, optional
        What the pool's features were made with; found by its name when not given.
    every : int
        Grow after this many answers, and again after so many more.
    batch : int
        How many candidates to make each time.
    most : int
        How many candidates may join one pool in all.
    cost : float, optional
        US dollars that the growth of one pool may cost in all. No call is begun that would exceed
        it if it cost as much as those before. It has no effect on models without a known price.
    attempts : int, optional
        How many candidates may be asked for each time; twice `batch` when not given.
    recipe : Recipe, optional
        How candidates are asked for and judged; when not given, as those of the pool were made.
    seed : int
        Where all the requests' seeds start from.
    folder : str or Path, optional
        Where drafts, and the pictures beside them, are kept; `drafts` in the cache when not given.
    """

    def __init__(
        self,
        generator: Generator,
        embedder: AnyEmbedder = None,
        *,
        every: int = 4,
        batch: int = 4,
        most: int = 20,
        cost: float | None = None,
        attempts: int | None = None,
        recipe: Recipe | None = None,
        seed: int = 0,
        folder: str | Path | None = None,
    ) -> None:
        self.generator = generator
        self.every = whole("every", every, least=1)
        self.batch = whole("batch", batch, least=1)
        self.most = whole("most", most, least=0)
        self.attempts = whole("attempts", 2 * batch if attempts is None else attempts, least=1)
        self.seed = whole("seed", seed, least=0)
        if cost is not None and not (is_finite(cost) and cost >= 0):
            raise OptionError(f"cost must be a number of dollars from 0 on, got {cost!r}")
        self.cost = math.inf if cost is None else float(cost)
        self._embedder = embedder
        self._recipe = recipe
        self._folder = folder
        self._running = threading.Lock()
        self._task: asyncio.Task[Any] | None = None
        self._closed = False

    def due(self, session: Session) -> bool:
        """Return whether it is time to grow: enough answers since the last time, and room.

        A session that found its best candidate goes on growing; one that the person, the budget
        or the limit ended does not.
        """
        if session.stop_reason in OVER or self._room(session.pool) <= 0:
            return False
        steps = [done["step"] for done in GrowthRecord.of(session.pool).rounds]
        return session.cost - max(steps, default=0) >= self.every

    def check(self, pool: Pool) -> tuple[Recipe, Features]:
        """Raise unless this model and embedder can make candidates for this pool.

        `OptionError` if it cannot be told what the features of a new candidate are,
        `ModelUnavailableError` if the model does not make what the pool has, or the embedder cannot
        work here. Returns what new candidates are made by.
        """
        recipe = self._recipe_for(pool)
        check_makes(self.generator, recipe.kind)
        if recipe.kind == "text" and not all(candidate.text.strip() for candidate in pool):
            raise OptionError("the pool cannot grow: some candidates have neither text nor picture")
        embedder = pool.embedder if self._embedder is None else self._embedder
        if embedder is None:
            raise OptionError(
                "the pool cannot grow: its features were given, and nothing says how a new "
                "candidate's are made; give embedder="
            )
        return recipe, usable_features(embedder, recipe.kind)

    def grow(self, session: Session, progress: Progress | None = None) -> Grown:
        """Make new candidates and join them to the session; wait for the model.

        Call it between an answer and the next `ask`. Whatever the model does, the session's answers
        stay, and nothing is raised on its account. `progress` is called with an `Event` at every
        step.
        """
        return self.join(session, self.propose(self.snapshot(session), progress))

    snapshot = staticmethod(Snapshot.of)  # what `propose` needs to know of a session

    def propose(self, snapshot: Snapshot, progress: Progress | None = None) -> Proposal:
        """Make new candidates; touches no session, and may run in any thread.

        The same snapshot gives the same requests. Every reply is in a draft the moment it arrives,
        and is not asked for again. `close`, from another thread, makes it raise `CancelledError`.
        """
        with self._running:
            return wait_for(self.proposal(snapshot, progress), self.generator)

    def close(self) -> None:
        """Stop what is under way, and close the generator. Calling it twice is harmless."""
        self._closed = True
        if (task := self._task) is not None:
            with contextlib.suppress(RuntimeError):  # its loop has ended meanwhile
                task.get_loop().call_soon_threadsafe(task.cancel)
        with self._running:
            wait_for(self.generator.aclose())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def proposal(self, snapshot: Snapshot, progress: Progress | None = None) -> Proposal:
        """Return what `propose` returns: the coroutine for a caller that has an event loop."""
        if self._closed:
            raise asyncio.CancelledError
        pool, problem = snapshot.pool, "the pool has grown as far as it may"
        if (count := min(self.batch, self._room(pool))) > 0:
            self._task = asyncio.current_task()
            try:
                return await self._run_round(snapshot, count, progress)
            except (UseralignError, OSError) as error:
                problem = str(error)
                if progress is not None:
                    progress(Event("done", 0, count, note=problem))
            finally:
                self._task = None
        return Proposal((), np.empty((0, pool.dimension)), problem=problem, key=snapshot.key)

    def join(self, session: Session, proposal: Proposal) -> Grown:
        """Join what was proposed to the session it was proposed for, once.

        Call it between an answer and the next `ask`, because what is asked next may change. The
        session may have gone on since the snapshot.
        """
        record = GrowthRecord.of(session.pool)
        if proposal.key in [done["key"] for done in record.rounds]:
            return Grown((), (), Usage())
        problem, rejected, new = proposal.problem, list(proposal.rejected), list[int]()
        if session.stop_reason in OVER:
            problem = problem or "the session is over"
        else:
            new = self._still_new(session.pool, proposal, rejected)
        candidates = _named([proposal.candidates[k] for k in new], session)
        joined = session.extend(candidates, proposal.features[new]) if new else ()
        done = {
            "key": proposal.key,
            "step": session.cost,
            "asked": proposal.requests,
            "joined": [candidate.label for candidate in joined],
            "rejected": [one.why for one in rejected],
            "problem": problem,
        }
        growth = {
            "asked": record.requests + proposal.requests,
            "usage": asdict(record.usage + proposal.usage),
            "rounds": [*record.rounds, done],
        }
        # The pool itself may be shared, and is left as it is.
        pool = session.pool = copy.copy(session.pool)
        pool.meta = {**pool.meta, _KEY: growth}
        return Grown(joined, tuple(rejected), proposal.usage, problem)

    async def _run_round(
        self, snapshot: Snapshot, count: int, progress: Progress | None
    ) -> Proposal:
        pool, (recipe, features) = snapshot.pool, self.check(snapshot.pool)
        header = {
            "question": pool.question,
            "model": self.generator.identity,
            "recipe": recipe.identity(),
            _KEY: [snapshot.key, self.seed],
        }
        folder = Path(self._folder) if self._folder else cache_dir("drafts")
        limit = None if math.isinf(self.cost) else self.cost - GrowthRecord.of(pool).cost
        path = folder / f"growth-{digest(header)}.jsonl"
        async with open_client(self.generator, path, header, limit) as client:
            round_ = _Round(
                pool.question,
                recipe,
                client,
                features,
                progress,
                count,
                snapshot=snapshot,
                attempts=self.attempts,
                seed=self.seed,
            )
            proposal = await round_.run()
        if limit is not None and proposal.usage.cost is None and not proposal.problem:
            priceless = f"cost= had no effect: no price is known for {self.generator.model}"
            return replace(proposal, problem=priceless)
        return proposal

    def _still_new(self, pool: Pool, proposal: Proposal, rejected: list[Rejected]) -> list[int]:
        """Return the indices of what is unlike all that joined meanwhile, as far as there is room.

        The others are added to those rejected.
        """
        recipe, new = self._recipe_for(pool), list[int]()
        for k, candidate in enumerate(proposal.candidates):
            twin = twin_of(candidate, proposal.features[k], list(pool), pool.raw_features, recipe)
            if twin is None:
                new.append(k)
            else:
                rejected.append(_as_twin(candidate, twin))
        return new[: max(0, self._room(pool))]

    def _room(self, pool: Pool) -> int:
        grown = sum(candidate.source == "grown" for candidate in pool)
        record = GrowthRecord.of(pool)
        # The next call is expected to cost the mean of those so far.
        next_call = record.cost / max(1, record.usage.calls)
        if record.cost >= self.cost or record.cost + next_call > self.cost:
            return 0
        return self.most - grown

    def _recipe_for(self, pool: Pool) -> Recipe:
        if self._recipe is not None:
            return self._recipe
        settings = pool.meta.get("recipe")
        if isinstance(settings, dict):
            try:
                return Recipe(**settings)
            except (TypeError, OptionError):  # of another version
                pass
        kind: Any = "image" if all(candidate.is_picture for candidate in pool) else "text"
        if kind == "text" and self.generator.identity["generator"] == "local":
            return Recipe.concise()
        return Recipe(kind=kind)


@dataclass(eq=False, kw_only=True)
class _Round(CandidateMaker):
    """One round of growth: asks for new candidates until there are enough, or a limit is reached.

    Nothing that a model does makes `run` raise, but for being cancelled. `requests`
    counts the candidates asked for; `problem` is what went wrong, if anything did.
    """

    snapshot: Snapshot
    attempts: int
    seed: int
    candidates: list[Candidate] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    requests: int = 0
    problem: str = ""

    async def run(self) -> Proposal:
        """Run the round, and return what came of it."""
        self.report("begin")
        while not self.problem and self._missing() > 0:
            numbers = range(self.requests + 1, self.requests + self._missing() + 1)
            self.requests += len(numbers)
            replies = await together(*(self._one(number) for number in numbers))
            await self._select([candidate for candidate in replies if candidate is not None])
        self.report("done", note=self.problem)
        return Proposal(
            tuple(self.candidates),
            self._rows(self.candidates),
            tuple(self.rejected),
            self.client.ledger.total,
            self.problem,
            self.snapshot.key,
            self.requests,
        )

    def _missing(self) -> int:
        return min(self.wanted - len(self.candidates), self.attempts - self.requests)

    async def _one(self, number: int) -> Candidate | None:
        """Ask for one; whatever goes wrong with it is noted, and the others go on."""
        try:
            candidate, problem = await self._ask(number)
        except OverBudgetError:
            self._fail("the limit on the cost is reached")
        except NoAnswerError as error:
            self._reject(Candidate(), f"no answer: {error}"[:300])
        except ModelError as error:
            self._fail(str(error))
        except Exception as error:  # noqa: BLE001 - somebody else's plug-in may raise anything
            self._fail(f"{type(error).__name__}: {error}"[:300])
        else:
            if problem is None:
                return candidate
            self._reject(candidate, problem)
        return None

    async def _ask(self, number: int) -> tuple[Candidate, str | None]:
        """Ask for one candidate; each prompt has another liked one last, where it counts most."""
        pool, remarks, recipe = self.snapshot.pool, self.snapshot.remarks, self.recipe
        liked, disliked = (self._words_of(k) for k in (self.snapshot.liked, self.snapshot.disliked))
        turn = number % max(1, len(liked))
        liked = liked[turn:] + liked[:turn]
        prompt = (
            prompts.grown_answer(pool.question, liked, disliked, remarks, self._others())
            if recipe.kind == "text"
            else prompts.grown_picture(pool.question, liked, disliked, remarks)
        )
        candidate, problem = await self.ask(
            _ROLE,
            f"g{number}",
            prompt,
            seed_of(self.seed, f"{self.snapshot.key}/{number}"),
            caption=liked[-1] if liked else "",
            temperature=max(recipe.temperature, recipe.interest_temperature),
        )
        parents = {
            "liked": [pool[k].label for k in self.snapshot.liked],
            "disliked": [pool[k].label for k in self.snapshot.disliked],
        }
        meta = {**candidate.meta, "parents": parents}
        return replace(candidate, id=None, source="grown", meta=meta), problem

    def _words_of(self, indices: Sequence[int]) -> list[str]:
        """Return the texts of examples: cut short for small models, captions for pictures."""
        examples = [self.snapshot.pool[k] for k in indices]
        if self.recipe.kind == "image":
            return [text for c in examples if (text := c.text.strip() or c.interest or "")]
        limit = _FIRST_WORDS if self.recipe.sentences == 1 else None
        return [" ".join(c.text.split()[:limit]) if limit else c.text for c in examples]

    def _others(self) -> list[str]:
        """Return the texts that are no examples; a small model is not told of them."""
        if self.recipe.sentences == 1:
            return []
        examples = {*self.snapshot.liked, *self.snapshot.disliked}
        others = [c.text for c in self.snapshot.pool if c.index not in examples]
        return others + [c.text for c in self.candidates]

    def off_form(self, reply: str, text: str) -> str | None:
        """Return what is wrong with an answer beside those of the pool."""
        longest = max(len(candidate.text) for candidate in self.snapshot.pool)
        if len(text) > max(_LONGEST, 2 * longest):
            return "too long"
        if len(_ITEM.findall(reply[:_LONGEST])) > 1:
            return "a list"
        return "speaks of the prompt" if _TELLTALE.search(text) else None

    async def _select(self, candidates: list[Candidate]) -> None:
        """Embed what arrived and keep what is unlike everything that is there."""
        if not candidates:
            return
        try:
            await asyncio.to_thread(self.features.embed, candidates)
            self._rows(candidates)
        except Exception as error:  # noqa: BLE001 - an embedder may be somebody else's, too
            self._fail(f"the new candidates could not be embedded: {error}"[:300])
            return
        for candidate in candidates:
            others = [*self.snapshot.pool, *self.candidates]
            rows = np.vstack([self.snapshot.pool.raw_features, self._rows(self.candidates)])
            twin = twin_of(candidate, self.features.of(candidate), others, rows, self.recipe)
            if twin is None:
                self.candidates.append(candidate)
                self.made += 1
                self.report("candidate", candidate)
            else:
                self.rejected.append(_as_twin(candidate, twin))
                self.report("duplicate", candidate, self.rejected[-1].why)

    def _rows(self, candidates: Sequence[Candidate]) -> NDArray[np.float64]:
        dimension = self.snapshot.pool.dimension
        if not candidates:
            return np.empty((0, dimension))
        rows = self.features.matrix(candidates)
        if rows.shape[1] != dimension:
            raise ModelAnswerError(
                f"{self.features.embedder.name} gives {rows.shape[1]} features, the pool has "
                f"{dimension}; use the embedder that the pool was made with"
            )
        return rows

    def _reject(self, candidate: Candidate, why: str) -> None:
        self.rejected.append(Rejected(candidate.text[:200], why))
        self.report("rejected", candidate if candidate.text else None, why)

    def _fail(self, problem: str) -> None:
        self.problem = self.problem or problem or "the model failed and gave no reason"


def _named(candidates: Sequence[Candidate], session: Session) -> list[Candidate]:
    """Return new candidates with free ids, and the step at which they join."""
    labels = {candidate.label for candidate in session.pool}
    free = (name for number in count(1) if (name := f"grown{number}") not in labels)
    return [
        replace(candidate, id=name, meta={**candidate.meta, "step": session.cost})
        for candidate, name in zip(candidates, free, strict=False)
    ]
