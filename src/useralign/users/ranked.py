"""A persona whose taste is a ranking of all answers, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.domains.questions import Persona
from useralign.errors import AnswerError, OptionError
from useralign.users.base import User

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray

    from useralign.answers import Comparison
    from useralign.domains.questions import Question
    from useralign.pool import Candidate, Pool


class RankedPersona(User):
    """Always takes the candidate that stands higher in a ranking; needs no model.

    Parameters
    ----------
    ranking : Persona or sequence of str
        A persona of a domain, or the ids of all candidates and of the baseline, best first.
    name, description : str, optional
        Who it is, where `ranking` is not a Persona.

    Raises
    ------
    OptionError
        If an id stands there twice, or there are none.
    """

    def __init__(
        self, ranking: Persona | Sequence[str], *, name: str = "", description: str = ""
    ) -> None:
        if isinstance(ranking, Persona):
            name, description = ranking.name, ranking.description
            ranking = ranking.ranking
        self.name = name
        self.description = description
        self.ranking = tuple(ranking)
        self._place = {ident: place for place, ident in enumerate(self.ranking)}
        if not self.ranking or len(self._place) < len(self.ranking):
            raise OptionError(
                f"a ranking must name each answer once, best first; got {len(self.ranking)} ids, "
                f"{len(self._place)} of them different"
            )

    def __repr__(self) -> str:
        return f"RankedPersona({self.name!r}, {len(self.ranking)} answers)"

    def place(self, candidate: Candidate) -> int:
        """Return a candidate's place in the ranking, from 0, the best.

        Raises
        ------
        AnswerError
            If it has none.
        """
        try:
            return self._place[candidate.label]
        except KeyError:
            raise AnswerError(
                f"{self.name or 'the persona'} ranks no candidate {candidate.label!r}; "
                "give it the pool of the question that it was written for"
            ) from None

    def prefers(self, first: Candidate, second: Candidate) -> float:
        """Return 1 if `first` stands at least as high, else 0."""
        return float(self.place(first) <= self.place(second))

    def choose(self, pair: Comparison) -> Candidate:
        """Return the better candidate of a comparison."""
        return min(pair.first, pair.second, key=self.place)

    def worth(self, pool: Pool) -> NDArray[np.float64]:
        """Return the places counted from the end, shape (K,)."""
        return np.array([len(self.ranking) - self.place(c) for c in pool], dtype=np.float64)

    @classmethod
    def roster(cls, question: Question, count: int) -> list[str]:
        """Name the question's personas."""
        names = [persona.name for persona in question.personas]
        if count > len(names):
            raise OptionError(f"{question.id} has {len(names)} personas, not {count}")
        return names[:count]

    @classmethod
    def enlist(cls, question: Question, pool: Pool, name: str, *, taste: int, seed: int) -> Self:  # noqa: ARG003
        """Make the question's persona of that name; nothing about it is random."""
        return cls(question.persona(name))
