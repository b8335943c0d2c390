"""One round of growth: a few new candidates asked for, read, embedded and compared with the rest.

`useralign.pooling.grow` is the way in.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from useralign.errors import ModelAnswerError, ModelError
from useralign.models.generators.base import ImageRequest, Text, TextRequest
from useralign.pool import Candidate
from useralign.pooling import grow_prompts as prompts
from useralign.pooling.desk import NoAnswerError, together
from useralign.pooling.duplicates import FEW_AXES, overlap, same
from useralign.pooling.events import Event
from useralign.pooling.parse import parse_answer
from useralign.pooling.pictures import picture_problem
from useralign.pooling.plan import seed_of
from useralign.pooling.spending import OverBudgetError
from useralign.pooling.words import shingles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from useralign.models.generators.base import Picture
    from useralign.pool import Pool
    from useralign.pooling.desk import Desk
    from useralign.pooling.events import Progress
    from useralign.pooling.features import Features
    from useralign.pooling.grow_taste import Taste
    from useralign.pooling.recipe import Recipe

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
_BRIEF_WORDS = 10
_COPIED = 0.4  # the share of its word triples, in one other candidate, from which a text is a copy


class Rejected(NamedTuple):
    """What a model gave that did not join, and why."""

    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Task:
    """What one round is to do.

    Parameters
    ----------
    pool : Pool
    taste : Taste
    step : int
        How many comparisons were answered.
    wanted : int
        How many new candidates to make.
    attempts : int
        How many may be asked for.
    seed : int
    name : str
        What sets the seeds of this round apart from another's.
    """

    pool: Pool
    taste: Taste
    step: int
    wanted: int
    attempts: int
    seed: int
    name: str


class Round:
    """Asks for new candidates until there are enough, or a limit is reached.

    Nothing that a model does makes `run` raise, but for being cancelled.

    Parameters
    ----------
    task : Task
    recipe : Recipe
    desk : Desk
    features : Features
    progress : callable, optional

    Attributes
    ----------
    found : list of Candidate
        Those that are usable and unlike all others.
    rejected : list of Rejected
    asked : int
        How many were asked for.
    problem : str
        What went wrong, if anything did; empty otherwise.
    """

    def __init__(
        self, task: Task, recipe: Recipe, desk: Desk, features: Features, progress: Progress | None
    ) -> None:
        self.found: list[Candidate] = []
        self.rejected: list[Rejected] = []
        self.asked = 0
        self.problem = ""
        self._task = task
        self._recipe = recipe
        self._desk = desk
        self._features = features
        self._progress = progress
        self._stop = False

    async def run(self) -> NDArray[np.float64]:
        """Do it, and return the features of those found, shape (n, d)."""
        task = self._task
        self._tell("begin")
        while not self._stop and len(self.found) < task.wanted and self.asked < task.attempts:
            count = min(task.wanted - len(self.found), task.attempts - self.asked)
            numbers = range(self.asked + 1, self.asked + count + 1)
            self.asked += count
            arrived = await together(*(self._one(number) for number in numbers))
            await self._sift([candidate for candidate in arrived if candidate is not None])
        self._tell("done", note=self.problem)
        return self._rows(self.found)

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
        if self._recipe.kind == "image":
            return await self._picture(number)
        recipe, task = self._recipe, self._task
        request = TextRequest(
            prompt=self._prompt(number),
            system=recipe.system,
            temperature=max(recipe.temperature, recipe.interest_temperature),
            max_tokens=recipe.max_tokens,
            seed=seed_of(task.seed, f"{task.name}/{number}"),
            min_p=recipe.min_p,
        )
        reply = await self._desk.text(_ROLE, f"g{number}", request)
        verdict = parse_answer(
            reply.text,
            question=task.pool.question,
            prompt=f"{request.system}\n{request.prompt}",
            finish=reply.finish,
            limit=recipe.sentences,
            least=recipe.min_words,
        )
        meta = self._provenance(request, reply) | {"temperature": request.temperature}
        candidate = Candidate(text=verdict.text, source="grown", meta=meta)
        return candidate, verdict.problem or self._off_form(reply.text, verdict.text)

    def _prompt(self, number: int) -> str:
        """Write the prompt; each has another of the liked ones last, where it counts most."""
        pool, taste = self._task.pool, self._task.taste
        liked, disliked = ([pool[k].text for k in k_s] for k_s in (taste.liked, taste.disliked))
        others = [c.text for c in pool if c.index not in {*taste.liked, *taste.disliked}]
        others += [c.text for c in self.found]
        if self._recipe.sentences == 1:
            liked, disliked = _brief(liked), _brief(disliked)
            others = []
        turn = number % max(1, len(liked))
        liked = liked[turn:] + liked[:turn]
        return prompts.answer(pool.question, liked, disliked, taste.remarks, others)

    async def _picture(self, number: int) -> tuple[Candidate, str | None]:
        recipe, task = self._recipe, self._task
        liked, disliked = (
            [words for k in places if (words := _caption(task.pool[k]))]
            for places in (task.taste.liked, task.taste.disliked)
        )
        turn = number % max(1, len(liked))
        liked = liked[turn:] + liked[:turn]
        request = ImageRequest(
            prompt=prompts.picture(task.pool.question, liked, disliked, task.taste.remarks),
            size=recipe.image_size,
            quality=recipe.image_quality,
            seed=seed_of(task.seed, f"{task.name}/{number}"),
        )
        reply, path = await self._desk.picture(_ROLE, f"g{number}", request)
        digest = hashlib.sha256(reply.data).hexdigest()
        meta = self._provenance(request, reply) | {"sha256": digest}
        text = liked[-1] if liked else ""
        candidate = Candidate(text=text, image=str(path), source="grown", meta=meta)
        return candidate, picture_problem(reply.data)

    def _provenance(
        self, request: TextRequest | ImageRequest, reply: Text | Picture
    ) -> dict[str, Any]:
        pool, taste = self._task.pool, self._task.taste
        return {
            "prompt": request.prompt,
            "model": reply.model,
            "seed": request.seed,
            "cached": reply.cached,
            "usage": asdict(reply.usage),
            "parents": {
                "liked": [pool[k].label for k in taste.liked],
                "disliked": [pool[k].label for k in taste.disliked],
            },
        }

    def _off_form(self, reply: str, text: str) -> str | None:
        longest = max(len(candidate.text) for candidate in self._task.pool)
        if len(text) > max(_LONGEST, 2 * longest):
            return "too long"
        if len(_ITEM.findall(reply[:_LONGEST])) > 1:
            return "a list"
        return "speaks of the prompt" if _TELLTALE.search(text) else None

    async def _sift(self, arrived: list[Candidate]) -> None:
        """Embed what arrived and keep what is unlike everything that is there."""
        if not arrived:
            return
        try:
            await self._features.learn_aside(arrived)
            self._rows(arrived)
        except Exception as error:  # noqa: BLE001 - an embedder may be somebody else's, too
            self._fail(f"the new candidates could not be embedded: {error}"[:300])
            return
        for candidate in arrived:
            known = [*self._task.pool, *self.found]
            rows = np.vstack([self._task.pool.raw_features, self._rows(self.found)])
            twin = alike(candidate, self._features.of(candidate), known, rows, self._recipe)
            if twin is None:
                self.found.append(candidate)
                self._tell("candidate", candidate)
            else:
                self._reject(candidate, f"too much like {twin.label}", "duplicate")

    def _rows(self, candidates: Sequence[Candidate]) -> NDArray[np.float64]:
        dimension = self._task.pool.dimension
        if not candidates:
            return np.empty((0, dimension))
        rows = self._features.matrix(candidates)
        if rows.shape[1] != dimension:
            raise ModelAnswerError(
                f"{self._features.embedder.name} gives {rows.shape[1]} features, the pool has "
                f"{dimension}; use the embedder that the pool was made with"
            )
        return rows

    def _reject(self, candidate: Candidate, why: str, kind: str = "rejected") -> None:
        self.rejected.append(Rejected(candidate.text[:200], why))
        self._tell(kind, candidate if str(candidate.text) else None, why)

    def _fail(self, problem: str) -> None:
        self._stop = True
        self.problem = self.problem or problem

    def _tell(self, kind: Any, candidate: Candidate | None = None, note: str = "") -> None:
        if self._progress is not None:
            usage = self._desk.ledger.total
            made, wanted = len(self.found), self._task.wanted
            self._progress(Event(kind, made, wanted, candidate, note, usage))


def alike(
    candidate: Candidate,
    row: NDArray[np.float64],
    known: Sequence[Candidate],
    rows: NDArray[np.float64],
    recipe: Recipe,
) -> Candidate | None:
    """Return one of the known candidates that a new one is too much like, or None.

    Parameters
    ----------
    candidate : Candidate
    row : ndarray, shape (d,)
    known : sequence of Candidate, length n
    rows : ndarray, shape (n, d)
    recipe : Recipe
        Says what counts as alike.
    """
    near = _cosines(row, rows) >= recipe.nearest
    for place, other in enumerate(known):
        if recipe.kind == "image":
            equal = candidate.meta.get("sha256") == other.meta.get("sha256", "")
        else:
            equal = same(candidate.text, other.text) or _copied(candidate.text, other.text)
            equal = equal or overlap(candidate.text, other.text) >= recipe.max_overlap
        if equal or near[place]:
            return other if other.index >= 0 else replace(other, id="another new one")
    return None


def _copied(text: str, other: str) -> bool:
    own = shingles(text)
    return bool(own) and len(own & shingles(other)) / len(own) >= _COPIED


def _cosines(row: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosines to all rows, shape (n,); on a few axes they say nothing, and are 0."""
    if len(row) < FEW_AXES:
        return np.zeros(len(rows))
    sizes = np.linalg.norm(rows, axis=1) * np.linalg.norm(row)
    return np.asarray((rows @ row) / np.where(sizes > 0, sizes, 1.0))


def _brief(texts: list[str]) -> list[str]:
    return [" ".join(text.split()[:_BRIEF_WORDS]) for text in texts]


def _caption(candidate: Candidate) -> str:
    return candidate.text.strip() or candidate.interest or ""
