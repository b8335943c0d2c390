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

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from useralign.checks import is_finite, whole
from useralign.errors import ModelUnavailableError, OptionError, UseralignError
from useralign.files import cache_dir
from useralign.models.embedders import embedder_for
from useralign.models.generators.base import Usage
from useralign.pool import Candidate
from useralign.pooling.desk import Desk
from useralign.pooling.events import Event
from useralign.pooling.features import Features
from useralign.pooling.grow_loop import OwnLoop
from useralign.pooling.grow_proposal import Grown, Proposal, Snapshot
from useralign.pooling.grow_record import KEY, keys_of, last_step, next_call, noted, spent
from useralign.pooling.grow_round import Rejected, Round, Task, alike
from useralign.pooling.grow_taste import taste_of
from useralign.pooling.journal import Journal, digest
from useralign.pooling.recipe import Recipe
from useralign.pooling.spending import Ledger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from useralign.models.generators.base import Generator
    from useralign.pool import Pool
    from useralign.pooling.events import Progress
    from useralign.pooling.features import AnyEmbedder
    from useralign.session import Session

__all__ = ["Grown", "Growth", "Proposal", "Rejected", "Snapshot"]

OVER = ("stopped", "budget", "limit")
"""Reasons for stopping that new candidates do not change."""


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
        self._loop = OwnLoop()

    def due(self, session: Session) -> bool:
        """Return whether it is time to grow: enough answers since the last time, and room.

        A session that found its best candidate goes on growing; one that the person, the budget
        or the limit ended does not.
        """
        if session.stop_reason in OVER or self._room(session.pool) <= 0:
            return False
        return session.cost - last_step(session.pool) >= self.every

    def check(self, pool: Pool) -> None:
        """Raise unless this model and embedder can make candidates for this pool.

        Raises
        ------
        OptionError
            If it cannot be told what the features of a new candidate are.
        ModelUnavailableError
            If the model does not make what the pool has, or the embedder cannot work here.
        """
        recipe = self._recipe_for(pool)
        if recipe.kind not in self.generator.makes:
            what = "writes no texts" if recipe.kind == "text" else "draws no pictures"
            raise ModelUnavailableError(
                f"{self.generator.model} {what}, so this pool cannot grow with it; choose a model "
                "that does"
            )
        if recipe.kind == "text" and not all(candidate.text.strip() for candidate in pool):
            raise OptionError("the pool cannot grow: some candidates have neither text nor picture")
        if trouble := self._features_for(pool, recipe).embedder.trouble():
            raise ModelUnavailableError(trouble)

    def grow(self, session: Session, progress: Progress | None = None) -> Grown:
        """Make new candidates and join them to the session; wait for the model.

        Call it between an answer and the next `ask`. Whatever the model does, the session's
        answers stay, and nothing is raised on its account.

        Parameters
        ----------
        session : Session
        progress : callable, optional
            Called with an `Event` at every step.
        """
        return self.join(session, self.propose(self.snapshot(session), progress))

    def snapshot(self, session: Session) -> Snapshot:
        """Return what `propose` needs to know."""
        return Snapshot(session.pool, taste_of(session), session.cost)

    def propose(self, snapshot: Snapshot, progress: Progress | None = None) -> Proposal:
        """Make new candidates; touches no session, and may run in any thread.

        The same snapshot gives the same requests. Every reply is in a draft the moment it arrives,
        and is not asked for again. `close`, from another thread, makes it raise `CancelledError`.

        Parameters
        ----------
        snapshot : Snapshot
        progress : callable, optional
        """
        return self._loop.run(self.proposal(snapshot, progress))

    def close(self) -> None:
        """Stop what is under way, and close the generator. Calling it twice is harmless."""
        self._loop.close(self.generator.aclose)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def proposal(self, snapshot: Snapshot, progress: Progress | None = None) -> Proposal:
        """Do what `propose` does, as a coroutine for a loop of the caller's own."""
        pool = snapshot.pool
        wanted = min(self.batch, self._room(pool))
        nothing = Proposal((), np.empty((0, pool.dimension)), key=snapshot.key)
        if wanted <= 0:
            return replace(nothing, problem="the pool has grown as far as it may")
        try:
            self.check(pool)
            return await self._proposed(snapshot, wanted, progress)
        except (UseralignError, OSError) as error:
            if progress is not None:
                progress(Event("done", 0, wanted, note=str(error)))
            return replace(nothing, problem=str(error))

    def join(self, session: Session, proposal: Proposal) -> Grown:
        """Join what was proposed to the session it was proposed for, once.

        Call it between an answer and the next `ask`, because what is asked next may change. The
        session may have gone on since the snapshot.
        """
        if proposal.key in keys_of(session.pool):
            return Grown((), (), Usage())
        joined: tuple[Candidate, ...] = ()
        rejected, problem = proposal.rejected, proposal.problem
        if session.stop_reason in OVER:
            problem = problem or "the session is over"
        elif proposal.candidates:
            new, rows, late = self._still_new(session.pool, proposal)
            rejected += late
            if new:
                joined = session.extend(_named(new, session), rows)
        done = {
            "key": proposal.key,
            "step": session.cost,
            "asked": proposal.asked,
            "joined": [candidate.label for candidate in joined],
            "rejected": [one.why for one in rejected],
            "problem": problem,
        }
        session.pool = noted(session.pool, done, proposal.usage)
        return Grown(joined, rejected, proposal.usage, problem)

    async def _proposed(
        self, snapshot: Snapshot, wanted: int, progress: Progress | None
    ) -> Proposal:
        pool, recipe = snapshot.pool, self._recipe_for(snapshot.pool)
        header = {
            "question": pool.question,
            "model": self.generator.identity,
            "recipe": recipe.identity(),
            KEY: [snapshot.key, self.seed],
        }
        folder = Path(self._folder) if self._folder else cache_dir("drafts")
        name = snapshot.key
        task = Task(pool, snapshot.taste, snapshot.step, wanted, self.attempts, self.seed, name)
        with Journal(folder / f"growth-{digest(header)}.jsonl", header) as journal:
            ledger = Ledger(None if math.isinf(self.cost) else self.cost - spent(pool))
            desk = Desk(self.generator, self.generator, journal, ledger)
            round_ = Round(task, recipe, desk, self._features_for(pool, recipe), progress)
            rows = await round_.run()
            problem = round_.problem
            if self.cost < math.inf and ledger.total.cost is None:
                problem = problem or self._priceless()
            return Proposal(
                tuple(round_.found),
                rows,
                tuple(round_.rejected),
                ledger.total,
                problem,
                name,
                round_.asked,
            )

    def _priceless(self) -> str:
        return f"cost= had no effect: no price is known for {self.generator.model}"

    def _still_new(
        self, pool: Pool, proposal: Proposal
    ) -> tuple[list[Candidate], NDArray[np.float64], tuple[Rejected, ...]]:
        """Leave out what another proposal has brought meanwhile, and what there is no room for."""
        recipe = self._recipe_for(pool)
        kept, late = list[int](), list[Rejected]()
        for place, candidate in enumerate(proposal.candidates):
            row = proposal.features[place]
            twin = alike(candidate, row, list(pool), pool.raw_features, recipe)
            if twin is not None:
                late.append(Rejected(candidate.text[:200], f"too much like {twin.label}"))
            elif len(kept) < self._room(pool):
                kept.append(place)
        return [proposal.candidates[k] for k in kept], proposal.features[kept], tuple(late)

    def _room(self, pool: Pool) -> int:
        grown = sum(candidate.source == "grown" for candidate in pool)
        if spent(pool) >= self.cost or spent(pool) + next_call(pool) > self.cost:
            return 0
        return self.most - grown

    def _recipe_for(self, pool: Pool) -> Recipe:
        if self._recipe is not None:
            return self._recipe
        made = pool.meta.get("recipe")
        if isinstance(made, dict):
            try:
                return Recipe(**made)
            except (TypeError, OptionError):  # of another version
                pass
        kind: Any = "image" if all(map(_is_picture, pool)) else "text"
        if kind == "text" and self.generator.identity["generator"] == "local":
            return Recipe.concise()
        return Recipe(kind=kind)

    def _features_for(self, pool: Pool, recipe: Recipe) -> Features:
        chosen = self._embedder
        if chosen is None:
            if pool.embedder is None:
                raise OptionError(
                    "the pool cannot grow: its features were given, and nothing says how a new "
                    "candidate's are made; give embedder="
                )
            chosen = pool.embedder
        return Features(embedder_for(chosen, recipe.kind), recipe.kind)


def _is_picture(candidate: Candidate) -> bool:
    return candidate.image is not None or "media" in candidate.meta


def _named(candidates: Sequence[Candidate], session: Session) -> list[Candidate]:
    """Give new candidates free ids, and say when they joined."""
    taken = {candidate.label for candidate in session.pool}
    named, number = list[Candidate](), 0
    for candidate in candidates:
        number += 1
        while f"grown{number}" in taken:
            number += 1
        meta = {**candidate.meta, "step": session.cost}
        named.append(replace(candidate, id=f"grown{number}", meta=meta))
    return named
