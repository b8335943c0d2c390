"""The data of a domain: questions with their answers, and people with their tastes."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from useralign.errors import FileFormatError, OptionError
from useralign.models.embedders import embedder_for
from useralign.pool import Candidate, Pool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from useralign.models.embedders import Embedder

STYLES = ("mixed", "unbiased")


@dataclass(frozen=True, slots=True)
class Persona:
    """A person to answer for: who they are, and how they rank every answer, best first.

    Parameters
    ----------
    name : str
    description : str
    ranking : tuple of str
        Ids of all candidates and of the baseline.
    """

    name: str
    description: str
    ranking: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a domain.

    Parameters
    ----------
    id, text : str
    baseline : Candidate
        The answer at temperature 0.
    candidates : tuple of Candidate
        Unbiased answers first, then one for each interest.
    personas : tuple of Persona
    axes : tuple of str
        Names of numbers in each candidate's `meta` that are its features; none: embed it.
    kind : {"text", "image"}
        Whether the answers are texts, or pictures whose `meta` has a recipe to draw them from.
    """

    id: str
    text: str
    baseline: Candidate
    candidates: tuple[Candidate, ...]
    personas: tuple[Persona, ...]
    axes: tuple[str, ...] = ()
    kind: str = "text"

    def chosen(self, style: str = "mixed") -> list[Candidate]:
        """Return the candidates of a pool of one style.

        Parameters
        ----------
        style : {"mixed", "unbiased"}
            As many unbiased answers as there are interests, and the interests' answers; or all
            the unbiased answers.
        """
        if style not in STYLES:
            raise OptionError(f"style={style!r} is not known; expected one of {', '.join(STYLES)}")
        unbiased = [c for c in self.candidates if c.source == "unbiased"]
        interest = [c for c in self.candidates if c.source == "interest"]
        if style == "unbiased" or not interest:
            return unbiased
        return unbiased[: len(interest)] + interest

    def pool(self, style: str = "mixed", embedder: str | Embedder | None = None) -> Pool:
        """Build the pool of this question.

        Parameters
        ----------
        style : {"mixed", "unbiased"}
        embedder : str or Embedder, optional
            The default embedder when not given; not used where the domain has axes.
        """
        candidates = self.chosen(style)
        meta = {"question_id": self.id, "style": style}
        if self.axes:
            return Pool(
                self.text,
                candidates,
                [self._on_axes(candidate) for candidate in candidates],
                self.baseline,
                baseline_features=self._on_axes(self.baseline),
                embedder="axes: " + ", ".join(self.axes),
                meta=meta,
            )
        if self.kind == "image":
            return self._of_pictures(candidates, embedder, meta)
        pool = Pool.from_texts(self.text, candidates, baseline=self.baseline, embedder=embedder)
        pool.meta.update(meta)
        return pool

    def persona(self, name: str) -> Persona:
        """Return the persona of this name."""
        for persona in self.personas:
            if persona.name.lower() == name.lower():
                return persona
        known = ", ".join(persona.name for persona in self.personas)
        raise OptionError(f"{self.id} has no persona {name!r}; it has {known}")

    def _of_pictures(
        self, candidates: Sequence[Candidate], embedder: str | Embedder | None, meta: dict[str, Any]
    ) -> Pool:
        """Draw what is not yet drawn, and embed the pictures and the baseline's."""
        chosen = embedder_for(embedder, kind="image")
        drawn = [_drawn(candidate) for candidate in (*candidates, self.baseline)]
        vectors = chosen.embed_images([str(candidate.image) for candidate in drawn])
        return Pool(
            self.text,
            drawn[:-1],
            vectors[:-1],
            drawn[-1],
            normalise="unit",
            embedder=chosen.name,
            baseline_features=vectors[-1],
            meta=meta,
        )

    def _on_axes(self, candidate: Candidate) -> list[float]:
        return [float(candidate.meta[axis]) for axis in self.axes]


def _drawn(candidate: Candidate) -> Candidate:
    """Return the candidate with its picture."""
    from useralign.domains.drawing import picture  # noqa: PLC0415 - for pictures only

    return replace(candidate, image=str(picture(candidate.meta["recipe"])))


def read_questions(path: Path, axes: Sequence[str] = (), kind: str = "text") -> Iterator[Question]:
    """Read a questions.jsonl file.

    Raises
    ------
    FileFormatError
        Naming the file, the line and what is wrong with it.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{path}: cannot be read ({error})") from error
    for number, line in enumerate(lines, start=1):
        try:
            yield _question(json.loads(line), axes, kind)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileFormatError(f"{path}, line {number}: not a question ({error!r})") from error


def _question(data: dict[str, Any], axes: Sequence[str], kind: str) -> Question:
    question = Question(
        id=data["id"],
        text=data["text"],
        baseline=Candidate.from_dict(data["baseline"]),
        candidates=tuple(Candidate.from_dict(item) for item in data["candidates"]),
        personas=tuple(
            Persona(item["name"], item["description"], tuple(item["ranking"]))
            for item in data["personas"]
        ),
        axes=tuple(axes),
        kind=kind,
    )
    everything = sorted(str(c.id) for c in (*question.candidates, question.baseline))
    for persona in question.personas:
        if sorted(persona.ranking) != everything:
            raise ValueError(f"the ranking of {persona.name} is not a ranking of all answers")
    return question
