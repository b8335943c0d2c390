"""The data of a domain: questions with their answers, and people with their tastes."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign import pictures
from useralign.errors import FileFormatError, OptionError
from useralign.models import embedder_for
from useralign.pool import Candidate, Pool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from useralign.models import Embedder

DATA = Path(__file__).parent / "data"
STYLES = ("mixed", "unbiased")


@dataclass(frozen=True, slots=True)
class Persona:
    """A person to answer for: who they are, and how they rank every answer, best first."""

    name: str
    description: str
    ranking: tuple[str, ...]  # ids of all candidates and of the baseline
    # in place of a ranking, how a language model that plays the person judged pairs of ids: which
    # place was better with the first as A, and with the second as A
    verdicts: Mapping[tuple[str, str], tuple[str, str]] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a domain."""

    id: str
    text: str
    baseline: Candidate  # the answer at temperature 0
    candidates: tuple[Candidate, ...]  # unbiased answers first, then one for each interest
    personas: tuple[Persona, ...]
    # names of numbers in each candidate's `meta` that are its features; none: embed it
    axes: tuple[str, ...] = ()
    kind: str = "text"  # one of "text", "image"; whether the answers are texts or pictures
    whole: bool = False  # whether a pool of any style has all candidates
    # whether an answer is embedded together with the question, the question first
    paired: bool = False

    def select(self, style: str = "mixed") -> list[Candidate]:
        """Return the candidates of a pool of one style.

        A mixed pool has as many unbiased answers as there are interests, and the interests'
        answers; an unbiased one has all the unbiased answers.
        """
        if self.whole:
            return list(self.candidates)
        if style not in STYLES:
            raise OptionError(f"style={style!r} is not known; expected one of {', '.join(STYLES)}")
        unbiased = [c for c in self.candidates if c.source == "unbiased"]
        interest = [c for c in self.candidates if c.source == "interest"]
        if style == "unbiased" or not interest:
            return unbiased
        return unbiased[: len(interest)] + interest

    def pool(self, style: str = "mixed", embedder: str | Embedder | None = None) -> Pool:
        """Build the pool of this question.

        The embedder is the default one when not given, and not used where the domain has axes.
        """
        candidates = self.select(style)
        answers = [*candidates, self.baseline]
        options: dict[str, Any] = {"meta": {"question_id": self.id, "style": style}}
        if self.axes:
            vectors = np.array([[float(a.meta[axis]) for axis in self.axes] for a in answers])
            options |= {"embedder": "axes: " + ", ".join(self.axes)}
        elif self.kind == "image" or self.paired:
            model = embedder_for(embedder, self.kind)
            vectors = self._embed(answers, model)
            options |= {"embedder": model.name, "normalise": "unit"}
        else:
            pool = Pool.from_texts(self.text, candidates, baseline=self.baseline, embedder=embedder)
            pool.meta.update(options["meta"])
            return pool
        options |= {"baseline": self.baseline, "baseline_features": vectors[-1]}
        return Pool(self.text, candidates, vectors[:-1], **options)

    def _embed(self, answers: Sequence[Candidate], model: Embedder) -> NDArray[np.float64]:
        """Return features, shape (n, d): of pictures those that are shipped, if they are."""
        if self.kind == "text":
            return model.embed_texts([f"{self.text} {answer.text}" for answer in answers])
        images = [str(answer.image) for answer in answers]
        vectors = pictures.features(images, model.identity)
        return model.embed_images(images) if vectors is None else vectors

    def persona(self, name: str) -> Persona:
        """Return the persona of this name."""
        for persona in self.personas:
            if persona.name.lower() == name.lower():
                return persona
        options = ", ".join(persona.name for persona in self.personas)
        raise OptionError(f"{self.id} has no persona {name!r}; it has {options}")


@dataclass(frozen=True, slots=True)
class Domain:
    """A set of questions with the space their answers live in."""

    name: str
    title: str
    kind: str  # one of "text", "image"
    dimension: int  # the number of features
    questions: tuple[Question, ...]

    def question(self, name: str) -> Question:
        """Return the question of this id."""
        for question in self.questions:
            if question.id == name:
                return question
        raise OptionError(
            f"{self.name} has no question {name!r}; it has {self.questions[0].id} to "
            f"{self.questions[-1].id}"
        )

    def trouble(self, embedder: str | Embedder | None = None) -> str | None:
        """Return why its pools cannot be built here, or None when they can.

        The embedder is the default one when not given. Its weights are not needed where its
        features are shipped with the domain.
        """
        if all(question.axes for question in self.questions):
            return None
        model = embedder_for(embedder, self.kind)
        if self.kind == "image":
            images = [str(question.baseline.image) for question in self.questions]
            if pictures.features(images, model.identity) is not None:
                return None
        return model.trouble()


def folder_names() -> list[str]:
    """Return the names of the domains that are folders of data, sorted."""
    return sorted(path.parent.name for path in DATA.glob("*/domain.toml"))


@cache
def load_folder(name: str) -> Domain:
    """Load a domain that is a folder of data."""
    folder = DATA / name
    about = tomllib.loads((folder / "domain.toml").read_text(encoding="utf-8"))
    axes = [axis["name"] for axis in about.get("axes", [])]
    questions = tuple(read_questions(folder / about["questions"], axes, about["kind"]))
    return Domain(name, about["title"], about["kind"], about["dimension"], questions)


def read_questions(path: Path, axes: Sequence[str] = (), kind: str = "text") -> Iterator[Question]:
    """Read a questions.jsonl file.

    Raises FileFormatError naming the file, the line and what is wrong with it.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{path}: cannot be read ({error})") from error
    for number, line in enumerate(lines, start=1):
        try:
            yield _question(json.loads(line), path.parent, axes, kind)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileFormatError(f"{path}, line {number}: not a question ({error!r})") from error


def _question(data: dict[str, Any], folder: Path, axes: Sequence[str], kind: str) -> Question:
    question = Question(
        id=data["id"],
        text=data["text"],
        baseline=_candidate(data["baseline"], folder, kind),
        candidates=tuple(_candidate(item, folder, kind) for item in data["candidates"]),
        personas=tuple(
            Persona(item["name"], item["description"], tuple(item["ranking"]))
            for item in data["personas"]
        ),
        axes=tuple(axes),
        kind=kind,
    )
    answers = sorted(str(c.id) for c in (*question.candidates, question.baseline))
    for persona in question.personas:
        if sorted(persona.ranking) != answers:
            raise ValueError(f"the ranking of {persona.name} is not a ranking of all answers")
    return question


def _candidate(item: Mapping[str, Any], folder: Path, kind: str) -> Candidate:
    """Build a candidate; a picture is a file in the domain's folder, by its relative path."""
    if kind == "text":
        return Candidate.from_dict(item)
    image = item.get("image")
    if not image or not (folder / image).is_file():
        raise ValueError(
            f"the candidate {item.get('id')!r} has image={image!r}; expected the name of a picture "
            "in the domain's folder. Recipes are not drawn any more, see docs/pictures.md"
        )
    return Candidate.from_dict({**item, "image": str(folder / image)})
