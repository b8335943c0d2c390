"""Generate a pool: ask a model for candidates, select among them, embed them.

The procedure is the paper's (appendix "Details about Pool Generation"). Candidates are asked for in
rounds, side by side within a round; what is refused, cut short, or like another is replaced in the
next one under another seed, until the pool is full or a limit is reached.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from useralign.errors import ModelAnswerError, ModelError, ModelUnavailableError, OptionError
from useralign.files import cache_dir
from useralign.models import Generator, default_generator, generator_for, wait_for
from useralign.pool import Candidate, Pool
from useralign.pooling import prompts
from useralign.pooling.client import (
    CandidateMaker,
    NoAnswerError,
    OverBudgetError,
    check_makes,
    open_client,
    together,
)
from useralign.pooling.ideas import Ideas
from useralign.pooling.parse import parse_interests, tidy, words
from useralign.pooling.recipe import CandidateSpec, Recipe, SourceGroup, digest, pool_key, seed_of
from useralign.pooling.select import Selection, embedded_pool, usable_features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from useralign.pooling.client import Progress
    from useralign.pooling.recipe import Kind
    from useralign.pooling.select import AnyEmbedder

_LONGEST_QUESTION = 4000
_INTEREST_TRIES = 3
_SILENT_ROUNDS = 2
_HOPELESS = 20  # answers without a single usable one, after which no more are paid for
_FEWEST = 2
_WITH_IDEA = 0.5


def generate_pool(
    question: str,
    model: str | Path | Generator | None = None,
    embedder: AnyEmbedder = None,
    recipe: Recipe | None = None,
    *,
    draft: str | Path | None = None,
    progress: Progress | None = None,
) -> Pool:
    """Generate a pool by a recipe and wait for it; also from within a notebook.

    Every reply is in the draft the moment it arrives. When this fails or is killed, the same call
    again takes from the draft what is there and asks for the rest only.

    Parameters
    ----------
    question : str
    model : str, Path or Generator, optional
        The model that makes the candidates, as for `Pool.generate`. It stays open.
    embedder : str, Embedder or callable, optional
        The default one for texts or pictures when not given.
    recipe : Recipe, optional
        That of `default_recipe` when not given.
    draft : str or Path, optional
        The draft's file; one in the cache folder when not given. Pictures are put beside it.
    progress : callable, optional
        Called with an `Event` at every step.

    Returns
    -------
    Pool
        `meta` holds the recipe, the usage, the near-duplicates found, and notes for the user. The
        pool is smaller than asked for if a limit was reached and it has at least two candidates.

    Raises
    ------
    OptionError
        If the question is empty or too long.
    FileFormatError
        If the draft's file is something else, or cannot be written.
    ModelError
        If a model failed for good, or nothing of what it said is usable. The message says what is
        kept, and how to go on.
    """
    generator = load_generator(model)
    call = generate_pool_async(
        question, generator, embedder, recipe, draft=draft, progress=progress
    )
    return wait_for(call, generator)


def default_recipe(
    generator: Generator,
    *,
    kind: Kind = "text",
    size: int | None = None,
    care: bool | None = None,
) -> Recipe:
    """Return the recipe for a model: small local ones are asked for one sentence, and with care.

    `care` is as for `Recipe`; when not given, a local model takes care and a service does not.
    """
    small = generator.name == "local"
    settings: dict[str, Any] = {"kind": kind, "size": size, "care": small if care is None else care}
    return Recipe.concise(**settings) if small else Recipe(**settings)


def load_generator(model: str | Path | Generator | None = None) -> Generator:
    """Return a generator by name; a local model writes four answers at once, 1.6 times as fast."""
    if isinstance(model, Generator):
        return model
    name = str(model or default_generator())
    return generator_for(name, **({"parallel": 4} if name.startswith("local") else {}))


async def generate_pool_async(
    question: str,
    generator: Generator,
    embedder: AnyEmbedder = None,
    recipe: Recipe | None = None,
    *,
    draft: str | Path | None = None,
    progress: Progress | None = None,
) -> Pool:
    """Generate a pool as `generate_pool` does, for a caller that has an event loop."""
    recipe = recipe or default_recipe(generator)
    question = check_question(question)
    check_makes(generator, recipe.kind)
    if recipe.style == "mixed" and "text" not in generator.makes:
        raise ModelUnavailableError(
            f"{generator.model} writes no texts, so it cannot reason about interests; "
            "use style='unbiased'"
        )
    features = usable_features(embedder, recipe.kind)
    header = {
        "question": question,
        "model": generator.identity,
        "writer": generator.identity,  # in version 0.1 it could be another
        "recipe": recipe.identity(),
    }
    path = Path(draft) if draft else cache_dir("drafts") / f"{digest(header)}.jsonl"
    async with open_client(generator, path, header, recipe.max_cost) as client:
        generation = _Generation(question, recipe, client, features, progress, recipe.count)
        try:
            return await generation.run()
        except ModelError as error:
            if not client.entries:
                raise
            raise _resumable(error, generation.made, recipe.count, path) from error


def check_question(question: str) -> str:
    """Return the question without what cannot be shown or saved.

    Raises `OptionError` if there is nothing left of it, or it is too long.
    """
    clean = tidy(question)
    if not clean:
        raise OptionError(f"the question is empty: got {question!r}; give what you want to ask")
    if len(question) > _LONGEST_QUESTION:
        raise OptionError(
            f"the question has {len(question)} characters; expected at most {_LONGEST_QUESTION}"
        )
    return clean


def _resumable(error: ModelError, made: int, wanted: int, path: Path) -> ModelError:
    message = (
        f"{error}\n{made} of {wanted} candidates were made; all replies are kept in {path}. Make "
        "the pool again with the same question, recipe, model and draft to go on from there: only "
        "what is missing is asked for"
    )
    kinds = (ModelUnavailableError, ModelAnswerError)
    kind = next((kind for kind in kinds if isinstance(error, kind)), ModelError)
    return kind(message)


@dataclass(eq=False)
class _Generation(CandidateMaker):
    """The generation of one pool, step by step; `made` counts the candidates so far."""

    def __post_init__(self) -> None:
        self._ideas = Ideas(self)
        self._selection = Selection(self.recipe, self.features)
        self._baseline: Candidate | None = None
        self._interests: list[str] = list(self.recipe.interests)
        self._attempts = 0
        self._silent = 0
        self._over_budget = False
        self._rejected: Counter[str] = Counter()
        self._notes: list[str] = []

    async def run(self) -> Pool:
        """Generate the pool."""
        self.report("begin")
        groups = await self._first_round()
        while True:
            await self._replace(groups)
            self._selection.fill(self.recipe.count)
            self.made = len(self._selection.candidates)
            if self.made >= _FEWEST:
                break
            if self.client.calls or self._over_budget:
                raise ModelAnswerError(self._too_few())
            # All that is on file is of no use. It does not count: who tries again wants to ask.
            self._attempts = 0
        if self.made < self.recipe.count:
            self._notes.append(self._limit_note())
        await asyncio.to_thread(self.features.embed, self._selection.candidates)
        self.report("embedded", note=f"{self.features.seconds:.2f} seconds")
        pool = self._pool()
        self.report("done")
        return pool

    async def _first_round(self) -> list[SourceGroup]:
        unbiased = SourceGroup("unbiased", self.recipe.count - self.recipe.by_interest)
        calls = self._ask_baseline(), self._ask_interests(), self._ask(unbiased.first())
        *_, candidates = await together(*calls)
        groups = [unbiased, *self._interest_groups(unbiased)]
        await self._offer(unbiased, cast("list[Candidate]", candidates))
        for group in groups[1:]:
            candidates = await self._ask(group.first())
            if group.each:
                order = np.random.default_rng(self.recipe.seed).permutation(len(candidates))
                candidates = [candidates[index] for index in order]
            await self._offer(group, candidates)
        return groups

    def _interest_groups(self, unbiased: SourceGroup) -> list[SourceGroup]:
        """Return the group for interests; without any, the unbiased one takes its place."""
        quota = self.recipe.by_interest
        if not quota:
            return []
        if not self._interests:
            unbiased.quota += quota
            self._notes.append(
                "the model named no interests, so all candidates come from the question alone"
            )
            return []
        if self.recipe.style == "given":
            return [SourceGroup("given", quota, self._interests, self.recipe.answers_per_interest)]
        return [SourceGroup("interest", quota, self._interests)]

    async def _replace(self, groups: Sequence[SourceGroup]) -> None:
        """Ask for what is missing, until nothing is, a limit is reached, or there is no hope."""
        while not self._over_budget and self._room() > 0:
            selected = self._selection.candidates
            if not selected and self._attempts >= _HOPELESS:
                return
            missing = [spec for group in groups for spec in group.missing(selected)]
            if not missing:
                return
            candidates = await self._ask(missing)
            for group in groups:
                await self._offer(group, [c for c in candidates if c.source == group.source])

    def _room(self) -> int:
        return self.recipe.attempts - self._attempts

    async def _offer(self, group: SourceGroup, candidates: list[Candidate]) -> None:
        filled = sum(c.source == group.source for c in self._selection.candidates)
        for twin in await self._selection.offer(candidates, group.quota - filled):
            self.report("duplicate", twin, "too much like another one")
        self.made = len(self._selection.candidates)

    async def _ask(self, specs: list[CandidateSpec]) -> list[Candidate]:
        """Ask for candidates side by side, as many as the limit has room for; return the usable."""
        specs = specs[: max(0, self._room())]
        if self.recipe.with_care:
            specs = await self._ideas.assign(specs)
        outcomes = await together(*(self._ask_candidate(spec) for spec in specs))
        live = [one for one in outcomes if isinstance(one, NoAnswerError) and not one.replayed]
        # Without a single answer in two rounds running the model is taken to have failed for good.
        silent = bool(live) and len(live) == len(specs)
        self._silent = self._silent + 1 if silent else 0
        if self._silent >= _SILENT_ROUNDS:
            raise live[-1]
        return [one for one in outcomes if isinstance(one, Candidate)]

    async def _ask_candidate(self, spec: CandidateSpec) -> Candidate | NoAnswerError | None:
        """Ask for one candidate; return it if it is usable, or that the model gave no answer."""
        try:
            candidate, problem = await self._candidate(spec)
        except OverBudgetError:
            self._over_budget = True
            return None
        except NoAnswerError as error:
            self._rejected["no answer"] += 1
            self.report("rejected", note=str(error))
            return error
        self._attempts += 1
        if not problem and spec.idea and not await self._ideas.suits(candidate.text, spec.idea):
            problem = "does not suit the question"
        if problem:
            self._rejected[problem] += 1
            self.report("rejected", candidate, problem)
            return None
        self.made = min(self.made + 1, self.recipe.count)
        self.report("candidate", candidate)
        return candidate

    async def _candidate(self, spec: CandidateSpec) -> tuple[Candidate, str | None]:
        """Ask for one candidate; return it, and what is wrong with it if anything is."""
        recipe, interest, idea = self.recipe, spec.interest, spec.idea
        prompt = (
            prompts.answer(self.question, interest, idea)
            if recipe.kind == "text"
            else prompts.picture(self.question, interest)
        )
        settings: dict[str, Any] = {"temperature": recipe.temperature}
        if spec.source == "baseline":
            settings = {"temperature": recipe.baseline_temperature, "min_p": None}
        elif idea:
            # With an idea of its own an answer need not vary much, and a cool head errs less.
            settings["temperature"] = min(recipe.temperature, _WITH_IDEA)
            settings["begin"] = prompts.beginning(idea) if self.client.generator.continues else ""
        seed = seed_of(recipe.seed, spec.id)
        candidate, problem = await self.ask(
            spec.role, spec.id, prompt, seed, caption=interest or "", **settings
        )
        meta = candidate.meta if idea is None else {**candidate.meta, "idea": idea}
        return replace(candidate, source=spec.source, interest=interest, meta=meta), problem

    async def _ask_baseline(self) -> None:
        if not self.recipe.baseline:
            return
        problem: str | None = "no answer"
        # A failure on file is no reason not to ask again, under another name.
        for number in count(1):
            name = "baseline" if number == 1 else f"baseline{number}"
            try:
                candidate, problem = await self._candidate(CandidateSpec("baseline", name))
            except NoAnswerError as error:
                if error.replayed:
                    continue
            except OverBudgetError:
                problem = "no money left"
            break
        if problem:
            self._notes.append(f"there is no baseline: {problem}")
            return
        self._baseline = replace(candidate, id="baseline")
        self.report("baseline", self._baseline)

    async def _ask_interests(self) -> None:
        """Ask the model for interests, and again for what is missing in its list."""
        tries = _INTEREST_TRIES if self.recipe.style == "mixed" else 0
        for number in count(1):
            if tries <= 0 or len(self._interests) >= self.recipe.by_interest:
                break
            try:
                self._interests += await self._more_interests(f"n{number}")
            except NoAnswerError as error:
                tries += error.replayed
            except ModelAnswerError:
                pass
            except OverBudgetError:
                break
            tries -= 1
        if self.recipe.by_interest:
            self.report("interests", note="; ".join(self._interests))

    async def _more_interests(self, name: str) -> list[str]:
        """Ask for the interests that are missing, and return those that are new.

        Raises `ModelAnswerError` if there are none in the reply.
        """
        missing = self.recipe.by_interest - len(self._interests)
        reply = await self.ask_text(
            "interests",
            name,
            prompt=prompts.interests(self.question, missing, self._interests),
            system=prompts.REASONING,
            temperature=self.recipe.interest_temperature,
            max_tokens=100 + 40 * missing,
            min_p=self.recipe.min_p,
            schema=prompts.interests_schema(missing),
        )
        old = [words(interest) for interest in self._interests]
        new = [item for item in parse_interests(reply.text) if words(item) not in old]
        return new[:missing]

    def _too_few(self) -> str:
        problems = ", ".join(f"{count} {what}" for what, count in self._rejected.most_common())
        duplicates = len(self._selection.duplicates)
        return (
            f"{self._limit_note()}, and a pool needs at least {_FEWEST}. Not usable: "
            f"{problems or 'none'}; duplicates: {duplicates}. Raise the limit, or choose another "
            "seed or model"
        )

    def _limit_note(self) -> str:
        limit = (
            f"max_cost={self.recipe.max_cost}"
            if self._over_budget
            else f"{self._attempts} attempts{' (max_attempts)' if self._room() <= 0 else ''}"
        )
        return f"only {self.made} of {self.recipe.count} candidates were made within {limit}"

    def _pool(self) -> Pool:
        candidates = sorted(self._selection.candidates, key=lambda c: c.source != "unbiased")
        model, name = self.client.generator.model, self.features.embedder.name
        ledger = self.client.ledger
        twins = Counter({"near duplicate": sum(not d["kept"] for d in self._selection.duplicates)})
        if self.recipe.max_cost is not None and ledger.total.cost is None:
            self._notes.append(f"max_cost had no effect: no price is known for {model}")
        meta = {
            "kind": self.recipe.kind,
            "model": model,
            "key": pool_key(self.question, self.recipe, model),
            "recipe": self.recipe.identity(),
            "complete": len(candidates) == self.recipe.count,
            "interests": self._interests,
            "near_duplicates": self._selection.duplicates,
            "rejected": dict(self._rejected + self._ideas.rejected + twins),
            "notes": self._notes,
            "draft": str(self.client.path),
            "replayed": self.client.replayed,
            "usage": ledger.report(model, name, self.features.seconds, len(candidates)),
        }
        return embedded_pool(self.question, candidates, self.features, self._baseline, meta)
