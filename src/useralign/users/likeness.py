"""Someone described in words, for whom an answer is as good as it resembles the words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign.errors import OptionError
from useralign.models.embedders import embedder_for
from useralign.users.base import User

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from useralign.answers import Comparison
    from useralign.domains.questions import Question
    from useralign.models.embedders import Embedder
    from useralign.pool import Candidate, Pool


class LikenessUser(User):
    """Takes the candidate whose text is more like a description of the person.

    This is a stand-in for trying things out without a model, not a model of a person: it sees
    which words go together, and takes "hates chilli" for an interest in chilli. Where answers
    matter, use `JudgePersona`, a ranking, or people.

    Parameters
    ----------
    pool : Pool
        The candidates that will be compared; each must have a text.
    description : str
        Who the person is and what they like.
    embedder : str or Embedder, optional
        The default embedder for texts when not given.
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

    def choose(self, pair: Comparison) -> Candidate:
        """Return the better candidate of a comparison; of equal ones the first."""
        return max(pair.first, pair.second, key=self.utility)

    def worth(self, pool: Pool) -> NDArray[np.float64]:
        """Return the likenesses, shape (K,)."""
        return np.array([self.utility(candidate) for candidate in pool])

    @classmethod
    def roster(cls, question: Question, count: int) -> list[str]:
        """Name the question's personas: their descriptions are used, their rankings are not."""
        names = [persona.name for persona in question.personas]
        if count > len(names):
            raise OptionError(f"{question.id} has {len(names)} personas, not {count}")
        return [f"like-{name}" for name in names[:count]]

    @classmethod
    def enlist(cls, question: Question, pool: Pool, name: str, *, taste: int, seed: int) -> Self:  # noqa: ARG003
        """Make a user of the persona's description; nothing about it is random."""
        return cls(pool, question.persona(name.removeprefix("like-")).description)

    def _learn(self, texts: list[str]) -> None:
        likeness = _directions(self._embedder, texts) @ self._wish
        # Rounded, so that equal texts are equal whatever they were embedded together with.
        self._likeness.update(zip(texts, np.round(likeness, 9).tolist(), strict=True))


def _directions(embedder: Embedder, texts: list[str]) -> NDArray[np.float64]:
    vectors = embedder.embed_texts(texts)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))


def _text(candidate: Candidate) -> str:
    if not candidate.text.strip():
        raise OptionError(
            f"candidate {candidate.label} has no text to compare with the description; "
            "pictures need one that says what they show"
        )
    return candidate.text
