"""The making of one pool, step by step. `useralign.pooling.make` is the way in."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign.errors import ModelAnswerError
from useralign.pool import Candidate, Pool
from useralign.pooling.asker import Asker
from useralign.pooling.desk import NoAnswerError, together
from useralign.pooling.events import Event
from useralign.pooling.features import normalisation
from useralign.pooling.ideas import Ideas
from useralign.pooling.keys import pool_key
from useralign.pooling.plan import Ask, Group
from useralign.pooling.selection import Selection
from useralign.pooling.spending import OverBudgetError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from useralign.pooling.desk import Desk
    from useralign.pooling.events import Progress
    from useralign.pooling.features import Features
    from useralign.pooling.recipe import Recipe

_INTEREST_TRIES = 3
_SILENT_ROUNDS = 2
_FEWEST = 2


class Maker:
    """Makes one pool.

    Parameters
    ----------
    question : str
    recipe : Recipe
    desk : Desk
    features : Features
    progress : callable, optional

    Attributes
    ----------
    made : int
        How many candidates there are so far.
    """

    def __init__(
        self,
        question: str,
        recipe: Recipe,
        desk: Desk,
        features: Features,
        progress: Progress | None,
    ) -> None:
        self.question = question
        self.recipe = recipe
        self.desk = desk
        self.features = features
        self.progress = progress
        self.made = 0
        self._asker = Asker(question, recipe, desk)
        self._ideas = Ideas(
            question, recipe, desk, features, lambda note: self._tell("ideas", note=note)
        )
        self._selection = Selection(recipe, features)
        self._baseline: Candidate | None = None
        self._interests: list[str] = list(recipe.interests)
        self._arrived: dict[str, Candidate] = {}
        self._attempts = 0
        self._silent = 0
        self._over_budget = False
        self._rejected: Counter[str] = Counter()
        self._notes: list[str] = []

    async def run(self) -> Pool:
        """Make the pool."""
        self._tell("begin")
        groups = await self._first_round()
        await self._replace(groups)
        self._selection.fill(self.recipe.count)
        chosen = self._selection.chosen
        self.made = len(chosen)
        if self.made < _FEWEST:
            raise ModelAnswerError(self._too_few())
        if self.made < self.recipe.count:
            self._notes.append(self._limit_note())
        await self.features.learn_aside(chosen)
        self._tell("embedded", note=f"{self.features.seconds:.2f} seconds")
        pool = self._pool()
        self._tell("done")
        return pool

    async def _first_round(self) -> list[Group]:
        unbiased = Group("unbiased", self.recipe.count - self.recipe.by_interest)
        asks = unbiased.first()
        await together(self._ask_baseline(), self._ask_interests(), self._ask(asks))
        groups = [unbiased, *self._interest_groups(unbiased)]
        found = [self._arrived[ask.id] for ask in asks if ask.id in self._arrived]
        await self._offer(unbiased, found)
        for group in groups[1:]:
            found = await self._ask(group.first())
            await self._offer(group, self._shuffled(found) if group.each else found)
        return groups

    def _interest_groups(self, unbiased: Group) -> list[Group]:
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
            return [Group("given", quota, self._interests, self.recipe.answers_per_interest)]
        return [Group("interest", quota, self._interests)]

    def _shuffled(self, candidates: list[Candidate]) -> list[Candidate]:
        order = np.random.default_rng(self.recipe.seed).permutation(len(candidates))
        return [candidates[place] for place in order]

    async def _replace(self, groups: Sequence[Group]) -> None:
        """Ask for what is missing, until nothing is or a limit is reached."""
        while not self._over_budget and self._room() > 0:
            missing = [ask for group in groups for ask in group.more(self._selection.chosen)]
            if not missing:
                return
            found = await self._ask(missing)
            for group in groups:
                await self._offer(group, [c for c in found if c.source == group.source])

    def _room(self) -> int:
        return self.recipe.attempts - self._attempts

    async def _offer(self, group: Group, found: list[Candidate]) -> None:
        chosen = sum(c.source == group.source for c in self._selection.chosen)
        for twin in await self._selection.offer(found, group.quota - chosen):
            self._tell("duplicate", twin, "too much like another one")
        self.made = len(self._selection.chosen)

    async def _ask(self, asks: list[Ask]) -> list[Candidate]:
        """Ask for candidates side by side, as many as the limit has room for."""
        asks = asks[: max(0, self._room())]
        if self.recipe.with_care:
            asks = await self._ideas.assign(asks)
        errors = await together(*(self._candidate(ask) for ask in asks))
        live = [error for error in errors if error is not None and not error.replayed]
        # Without a single answer in two rounds running the model is taken to have failed for good.
        silent = bool(live) and len(live) == len(asks)
        self._silent = self._silent + 1 if silent else 0
        if self._silent >= _SILENT_ROUNDS:
            raise live[-1]
        return [self._arrived[ask.id] for ask in asks if ask.id in self._arrived]

    async def _candidate(self, ask: Ask) -> NoAnswerError | None:
        """Ask for one candidate and judge it; return the error if the model gave no answer."""
        try:
            candidate, problem = await self._asker.candidate(
                ask.id, ask.role, ask.interest, ask.idea
            )
        except OverBudgetError:
            self._over_budget = True
            return None
        except NoAnswerError as error:
            self._rejected["no answer"] += 1
            self._tell("rejected", note=str(error))
            return error
        self._attempts += 1
        if not problem and ask.idea and not await self._ideas.suits(candidate.text, ask.idea):
            problem = "does not suit the question"
        if problem:
            self._rejected[problem] += 1
            self._tell("rejected", candidate, problem)
            return None
        self._arrived[ask.id] = replace(candidate, source=ask.source, interest=ask.interest)
        self.made = min(self.made + 1, self.recipe.count)
        self._tell("candidate", self._arrived[ask.id])
        return None

    async def _ask_baseline(self) -> None:
        if not self.recipe.baseline:
            return
        problem: str | None = "no answer"
        # A failure on file is no reason not to ask again, under another name.
        for number in count(1):
            name = "baseline" if number == 1 else f"baseline{number}"
            try:
                candidate, problem = await self._asker.candidate(name, "baseline")
            except NoAnswerError as error:
                if error.replayed:
                    continue
            except OverBudgetError:
                problem = "no money left"
            break
        if problem:
            self._notes.append(f"there is no baseline: {problem}")
            return
        self._baseline = replace(candidate, id="baseline", source="baseline")
        self._tell("baseline", self._baseline)

    async def _ask_interests(self) -> None:
        """Have the model reason about interests; ask again for what is missing in the list."""
        tries = _INTEREST_TRIES if self.recipe.style == "mixed" else 0
        for number in count(1):
            if tries <= 0 or len(self._interests) >= self.recipe.by_interest:
                break
            try:
                self._interests += await self._asker.interests(f"n{number}", self._interests)
            except NoAnswerError as error:
                tries += error.replayed
            except ModelAnswerError:
                pass
            except OverBudgetError:
                break
            tries -= 1
        if self.recipe.by_interest:
            self._tell("interests", note="; ".join(self._interests))

    def _tell(self, kind: Any, candidate: Candidate | None = None, note: str = "") -> None:
        if self.progress is not None:
            usage = self.desk.ledger.total
            self.progress(Event(kind, self.made, self.recipe.count, candidate, note, usage))

    def _too_few(self) -> str:
        problems = ", ".join(f"{count} {what}" for what, count in self._rejected.most_common())
        flagged = len(self._selection.flagged)
        return (
            f"{self._limit_note()}, and a pool needs at least {_FEWEST}. Not usable: "
            f"{problems or 'none'}; duplicates: {flagged}. Raise the limit, or choose another seed "
            "or model"
        )

    def _limit_note(self) -> str:
        limit = (
            f"max_cost={self.recipe.max_cost}"
            if self._over_budget
            else f"{self.recipe.attempts} attempts (max_attempts)"
        )
        return f"only {self.made} of {self.recipe.count} candidates were made within {limit}"

    def _all_rejected(self) -> dict[str, int]:
        """Count what is not in the pool, by reason."""
        twins = Counter({"near duplicate": sum(not f["kept"] for f in self._selection.flagged)})
        return dict(self._rejected + self._ideas.rejected + twins)

    def _pool(self) -> Pool:
        chosen = sorted(self._selection.chosen, key=lambda c: c.source != "unbiased")
        features = self.features.matrix(chosen)
        model, name = self.desk.generator.model, self.features.embedder.name
        ledger = self.desk.ledger
        if self.recipe.max_cost is not None and ledger.total.cost is None:
            self._notes.append(f"max_cost had no effect: no price is known for {model}")
        meta = {
            "kind": self.recipe.kind,
            "model": model,
            "key": pool_key(self.question, self.recipe, model),
            "recipe": self.recipe.identity(),
            "complete": len(chosen) == self.recipe.count,
            "interests": self._interests,
            "near_duplicates": self._selection.flagged,
            "rejected": self._all_rejected(),
            "notes": self._notes,
            "draft": str(self.desk.journal.path),
            "replayed": self.desk.replayed,
            "usage": ledger.report(model, name, self.features.seconds, len(chosen)),
        }
        how = normalisation(features)
        return Pool(
            self.question, chosen, features, self._baseline, normalise=how, embedder=name, meta=meta
        )
