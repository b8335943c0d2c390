"""Simulated tastes: utilities, linear ones, a ranking, likeness to a description; and slips."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from useralign.checks import is_finite, whole
from useralign.domains.questions import Persona
from useralign.errors import AnswerError, OptionError
from useralign.methods.base import NORM_BOUND
from useralign.models import embedder_for
from useralign.users.base import User, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from useralign.answers import Comparison
    from useralign.domains.questions import Question
    from useralign.models import Embedder
    from useralign.pool import Candidate, Pool

_text = partial(text_of, purpose="to compare with the description")


class UtilityUser(User):
    """A user who takes the candidate of higher utility; of equal ones the first."""

    def __init__(self, utility: Callable[[Candidate], float]) -> None:
        self._utility = utility

    def utility(self, candidate: Candidate) -> float:
        """Return what a candidate is worth to the user."""
        return self._utility(candidate)

    def prefers(self, first: Candidate, second: Candidate) -> float:
        """Return 1 if `first` is at least as good, else 0."""
        return float(self.utility(first) >= self.utility(second))

    def choose(self, pair: Comparison) -> Candidate:
        """Return the better candidate of a comparison; of equal ones the first."""
        return max(pair.first, pair.second, key=self.utility)

    def worth(self, pool: Pool) -> NDArray[np.float64]:
        """Return the utilities, shape (K,)."""
        return np.array([self.utility(candidate) for candidate in pool], dtype=np.float64)


class LinearUser(UtilityUser):
    """A user with utilities `<theta, phi>`.

    The preference vector theta has shape (d,); when not given, it is uniform on the sphere of
    radius S = 3. The seed is for that draw and for the answers.
    """

    def __init__(self, pool: Pool, theta: ArrayLike | None = None, *, seed: int = 0) -> None:
        self.generator = np.random.default_rng([seed, 7])
        if theta is None:
            direction = self.generator.normal(size=pool.dimension)
            theta = direction * (NORM_BOUND / np.linalg.norm(direction))
        self.theta: NDArray[np.float64] = np.asarray(theta, dtype=np.float64)
        if self.theta.shape != (pool.dimension,):
            raise OptionError(
                f"theta must have shape ({pool.dimension},), one number per feature of the pool; "
                f"got {self.theta.shape}"
            )
        self.utilities: NDArray[np.float64] = pool.features @ self.theta
        row = pool.baseline_features
        self.baseline_utility = None if row is None else float(row @ self.theta)

    def utility(self, candidate: Candidate) -> float:
        """Return what a candidate is worth; one outside the pool (index -1) is the baseline."""
        if candidate.index < 0:
            if self.baseline_utility is None:
                raise OptionError(
                    "the pool has no baseline_features, so the baseline has no utility"
                )
            return self.baseline_utility
        return float(self.utilities[candidate.index])

    def worth(self, pool: Pool) -> NDArray[np.float64]:  # noqa: ARG002 - the one it was made for
        """Return the utilities, shape (K,)."""
        return self.utilities

    @classmethod
    def roster(cls, question: Question, count: int) -> list[str]:  # noqa: ARG003
        """Return `count` numbered names; there is no end of them."""
        return [f"{cls.__name__.lower()}-{number}" for number in range(1, count + 1)]

    @classmethod
    def enlist(cls, question: Question, pool: Pool, name: str, *, taste: int, seed: int) -> Self:  # noqa: ARG003
        """Draw theta by `taste` and the number, the same for every kind; answers by `seed`."""
        number = int(name.rpartition("-")[2])
        return cls(pool, cls(pool, seed=taste + number).theta, seed=seed)


class Consistent(LinearUser):
    """Always takes the better one; ties go to the first."""


class BTL(LinearUser):
    """Takes the better one with probability `1 / (1 + exp(-difference))` (section 4)."""

    def prefers(self, first: Candidate, second: Candidate) -> float:
        """Return the probability that `first` is chosen."""
        return 1.0 / (1.0 + math.exp(self.utility(second) - self.utility(first)))

    def choose(self, pair: Comparison) -> Candidate:
        """Draw the answer to a comparison."""
        lucky = self.generator.random() < self.prefers(pair.first, pair.second)
        return pair.first if lucky else pair.second


class RankedPersona(UtilityUser):
    """Always takes the candidate that stands higher in a ranking; needs no model.

    The ranking is a persona of a domain, or the ids of all candidates and of the baseline, best
    first. Raises OptionError if an id stands there twice, or there are none.
    """

    def __init__(self, ranking: Persona | Sequence[str]) -> None:
        self.name = ranking.name if isinstance(ranking, Persona) else ""
        self.ranking = tuple(ranking.ranking if isinstance(ranking, Persona) else ranking)
        self._positions = {ident: position for position, ident in enumerate(self.ranking)}
        if not self.ranking or len(self._positions) < len(self.ranking):
            raise OptionError(
                f"a ranking must name each answer once, best first; got {len(self.ranking)} ids, "
                f"{len(self._positions)} of them different"
            )

    def __repr__(self) -> str:
        return f"RankedPersona({self.name!r}, {len(self.ranking)} answers)"

    def position(self, candidate: Candidate) -> int:
        """Return a candidate's position in the ranking, from 0, the best.

        Raises AnswerError if it has none.
        """
        try:
            return self._positions[candidate.label]
        except KeyError:
            raise AnswerError(
                f"{self.name or 'the persona'} ranks no candidate {candidate.label!r}; "
                "give it the pool of the question that it was written for"
            ) from None

    def utility(self, candidate: Candidate) -> float:
        """Return a candidate's position counted from the end."""
        return float(len(self.ranking) - self.position(candidate))

    @classmethod
    def roster(cls, question: Question, count: int) -> list[str]:
        """Return the names of the question's personas."""
        names = [persona.name for persona in question.personas]
        if count > len(names):
            raise OptionError(f"{question.id} has {len(names)} personas, not {count}")
        return names[:count]

    @classmethod
    def enlist(cls, question: Question, pool: Pool, name: str, *, taste: int, seed: int) -> Self:  # noqa: ARG003
        """Build the question's persona of that name; nothing about it is random."""
        return cls(question.persona(name))


class LikenessUser(UtilityUser):
    """Takes the candidate whose text is more like a description of the person.

    This is a stand-in for trying things out without a model, not a model of a person: it sees
    which words go together, and takes "hates chilli" for an interest in chilli. Where answers
    matter, use `JudgePersona`, a ranking, or people. Each candidate of the pool must have a text;
    the embedder is the default one for texts when not given.
    """

    def __init__(
        self, pool: Pool, description: str, *, embedder: str | Embedder | None = None
    ) -> None:
        if not description.strip():
            raise OptionError("the description is empty; say in a sentence who the person is")
        self.description = description
        self._embedder = embedder_for(embedder)
        self._likeness: dict[str, float] = {}
        self._wish = _directions(self._embedder, [description])[0]
        everyone = [*pool, *([pool.baseline] if pool.baseline else [])]
        self._learn([_text(candidate) for candidate in everyone])

    def __repr__(self) -> str:
        return f"LikenessUser({self.description!r})"

    def utility(self, candidate: Candidate) -> float:
        """Return the cosine of the angle between candidate and description, in [-1, 1]."""
        text = _text(candidate)
        if text not in self._likeness:
            self._learn([text])
        return self._likeness[text]

    def prefers(self, first: Candidate, second: Candidate) -> float:
        """Return 1 if `first` is liked more, 0 if less, and 0.5 for equal texts."""
        gain = self.utility(first) - self.utility(second)
        return 0.5 if gain == 0 else float(gain > 0)

    @classmethod
    def roster(cls, question: Question, count: int) -> list[str]:
        """Return the question's personas: their descriptions are used, their rankings are not."""
        return [f"like-{name}" for name in RankedPersona.roster(question, count)]

    @classmethod
    def enlist(cls, question: Question, pool: Pool, name: str, *, taste: int, seed: int) -> Self:  # noqa: ARG003
        """Build a user of the persona's description; nothing about it is random."""
        return cls(pool, question.persona(name.removeprefix("like-")).description)

    def _learn(self, texts: list[str]) -> None:
        likeness = _directions(self._embedder, texts) @ self._wish
        # Rounded, so that equal texts are equal whatever they were embedded together with.
        self._likeness.update(zip(texts, np.round(likeness, 9).tolist(), strict=True))


class Erring(User):
    """Another user with slips of the hand: a share of the answers is turned round.

    A slip depends on nothing, neither on the pair nor on how clear the preference is. What the user
    likes is untouched by it, so `worth` and `win_rate` are those of the other user. Raises
    OptionError if the rate, the share of answers, is not from 0 to 0.5.
    """

    def __init__(self, user: User, rate: float, *, seed: int = 0) -> None:
        if not is_finite(rate) or not 0.0 <= rate <= 0.5:
            raise OptionError(
                f"rate must be a number from 0 to 0.5, where answers say nothing; got {rate!r}"
            )
        self.user = user
        self.rate = float(rate)
        self.generator = np.random.default_rng([whole("seed", seed, least=0), 13])

    def __repr__(self) -> str:
        return f"Erring({self.user!r}, {self.rate:g})"

    def prefers(self, first: Candidate, second: Candidate) -> float:
        """Return the probability that `first` is clicked."""
        meant = self.user.prefers(first, second)
        return (1.0 - self.rate) * meant + self.rate * (1.0 - meant)

    def choose(self, pair: Comparison) -> Candidate:
        """Return the candidate that is clicked."""
        meant = self.user.choose(pair)
        slips = self.generator.random() < self.rate
        other = pair.second if meant == pair.first else pair.first
        return other if slips else meant

    def knows(self, first: Candidate, second: Candidate) -> bool:
        """Return whether the other user can say which of the two is better."""
        return self.user.knows(first, second)

    def win_rate(self, candidate: Candidate, baseline: Candidate) -> float:
        """Return p_u[candidate > baseline] of the other user."""
        return self.user.win_rate(candidate, baseline)

    def worth(self, pool: Pool) -> NDArray[np.float64]:
        """Return what each candidate is worth to the other user, shape (K,)."""
        return self.user.worth(pool)


def _directions(embedder: Embedder, texts: list[str]) -> NDArray[np.float64]:
    vectors = embedder.embed_texts(texts)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))
