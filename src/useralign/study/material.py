"""What a study shows: shipped domains, or questions, answers, baselines and people of your own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, PrivateAttr, ValidationInfo, field_validator

from useralign.errors import FileFormatError, UseralignError
from useralign.pool import Candidate, Pool
from useralign.pooling import Recipe, read_pool
from useralign.pooling.parse import SUFFIXES
from useralign.study.pages import Context, Entry, Text, in_language

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from useralign.domains import Question


_REQUEST_TOKENS, _ANSWER, _PICTURE_TOKENS = 150, 150, 300  # of a request, a text, a picture


class PersonaEntry(Entry):
    """Somebody whose part a participant plays; in a file a plain text is the description."""

    text: Text
    ranking: list[str] = Field(default_factory=list)


def _persona(value: Any) -> Any:
    return value if isinstance(value, dict) and "text" in value else {"text": value}


Persona = Annotated[PersonaEntry, BeforeValidator(_persona)]


class QuestionEntry(Entry):
    """A question of your own."""

    # Its name in the data; `q1`, `q2`, ... when not given.
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$")]
    text: Text  # what participants read
    model: str = ""  # who makes the pool, beforehand: `useralign study prepare`
    # The answers: a file or folder as `useralign pool import` reads them, beside the study file.
    pool: str = ""
    # What selections are compared with: the id of an answer in the pool, which is then not among
    # the candidates; a picture's file; or a text. A saved pool may have its own.
    baseline: Text = ""
    personas: dict[str, Persona] = Field(default_factory=dict)
    size: Annotated[int, Field(ge=2, le=200)] | None = None  # how many answers the model makes
    images: bool = False  # whether the model makes pictures
    _material: tuple[Path, Material] | None = PrivateAttr(None)  # read once

    @field_validator("pool")
    @classmethod
    def _is_there(cls, name: str, info: ValidationInfo) -> str:
        folder = (info.context or {}).get("folder")
        if info.data.get("model"):  # which makes it
            return name
        if folder is not None and name and not (Path(folder) / name).exists():
            raise ValueError(f"there is no file or folder {name!r} beside the study file")
        return name

    def problems(self, context: Context, /) -> Iterator[str]:
        """Yield what is wrong with the answers, the baseline and the rankings."""
        if context is None or not context["prepared"]:
            return
        material = self.material(context["folder"])
        try:
            labels = {answer.label for answer in material.answers} | {"baseline"}
        except UseralignError as error:
            yield str(error)
            return
        if len(material.pool) < 2:
            yield f"its pool has {len(material.pool)} answer; expected at least two"
        if any(candidate.label == "baseline" for candidate in material.pool):
            yield (
                "an answer has the id 'baseline', as exports call what it is compared with; give "
                'it another, or make it that: baseline = "baseline"'
            )
        baseline, pictures = material.pool.baseline, material.pool[0].is_picture
        if baseline is not None and baseline.is_picture != pictures:
            kinds = ("pictures", "a text") if pictures else ("texts", "a picture")
            yield (
                f"its answers are {kinds[0]} and its baseline is {kinds[1]}, so that everybody "
                "would see which is which"
            )
        for name, ranking in material.rankings.items():
            for label in ranking:
                if label not in labels:
                    yield f"{name} ranks {label!r}, which is no answer"

    def material(self, folder: Path) -> Material:
        """Return the question as a study shows it, its files being in a folder."""
        if self._material is None or self._material[0] != folder:
            personas = {name: persona.text for name, persona in self.personas.items()}
            ranks = {name: tuple(persona.ranking) for name, persona in self.personas.items()}
            self._material = folder, Material(self.id, self.text, personas, ranks, (self, folder))
        return self._material[1]

    def file(self, folder: Path) -> Path:
        """Return where the answers are, or will be once they are prepared."""
        return folder / (self.pool or f"{self.id}.pool.json")


@dataclass(frozen=True)
class Material:
    """A question with its pool, as a study shows it."""

    id: str
    text: str | Mapping[str, str]
    personas: Mapping[str, str | Mapping[str, str]]  # descriptions by name
    # How they rank the answers, best first, where that is known: for simulations.
    rankings: Mapping[str, tuple[str, ...]]
    # A shipped question; or one of your own, and the folder of its files; or its stored pool.
    source: Question | tuple[QuestionEntry, Path] | Pool

    @property
    def answers(self) -> list[Candidate]:
        """All answers that a persona may rank: the candidates, and the baseline."""
        if not isinstance(self.source, tuple | Pool):
            return [*self.source.candidates, self.source.baseline]
        return [*self.pool, *([self.pool.baseline] if self.pool.baseline else [])]

    @cached_property
    def pool(self) -> Pool:
        """Its candidates, features and baseline; a FileFormatError if they cannot be read yet."""
        if isinstance(self.source, Pool):
            return self.source
        return read_material(*self.source) if isinstance(self.source, tuple) else self.source.pool()


def shipped(question: Question) -> Material:
    """Return a question of a domain that comes with the package."""
    personas = {persona.name: persona.description for persona in question.personas}
    rankings = {persona.name: persona.ranking for persona in question.personas}
    return Material(question.id, question.text, personas, rankings, question)


def read_material(entry: QuestionEntry, folder: Path) -> Pool:
    """Read the pool of a question of your own, with its baseline."""
    path = entry.file(folder)
    if not path.exists():
        mend = "give pool = ..., or model = ... for one that makes it"
        if entry.model:
            mend = f"`useralign study prepare FILE` lets {entry.model} make it"
        raise FileFormatError(f"{entry.id}: has no pool yet; {mend}")
    pool = read_pool(path, in_language(entry.text, ""))
    return _with_baseline(pool, entry.baseline, folder) if entry.baseline else pool


def _with_baseline(pool: Pool, baseline: str | dict[str, str], folder: Path) -> Pool:
    """Return a pool with a baseline: one of its answers, which leaves it, a picture, or a text."""
    name = in_language(baseline, "")
    labels = [candidate.label for candidate in pool]
    if name in labels:
        index = labels.index(name)
        return Pool(
            pool.question,
            [candidate for candidate in pool if candidate.index != index],
            np.delete(pool.raw_features, index, axis=0),
            pool[index],
            normalise=pool.normalise,
            embedder=pool.embedder,
            baseline_features=pool.raw_features[index],
            meta=pool.meta,
        )
    if Path(name).suffix.lower() in SUFFIXES:
        image = folder / name
        if not image.is_file():
            raise FileFormatError(f"baseline: there is no picture {name} beside the study file")
        answer = Candidate(image=str(image.absolute()), id="baseline")
    else:
        texts = {} if isinstance(baseline, str) else baseline
        meta = {f"text_{language}": text for language, text in texts.items()}
        answer = Candidate(text=name, id="baseline", meta=meta)
    return pool.with_candidates(list(pool), answer)


def estimate_cost(entry: QuestionEntry) -> tuple[int, float | None]:
    """Return how many answers a model is to make, and about what they cost in US dollars.

    None where the model's price is not known; nothing is paid for one that runs here.
    """
    from useralign.models.providers import find_price  # noqa: PLC0415 - only when something is made

    count = entry.size or (Recipe(kind="image") if entry.images else Recipe()).size or 0
    provider, _, name = entry.model.partition(":")
    if provider in ("local", "ollama"):
        return count, 0.0
    price = find_price(name or provider)
    if price is None:
        return count, None
    request = _REQUEST_TOKENS + len(in_language(entry.text, "")) // 4
    reply = 0 if entry.images and price.image else _PICTURE_TOKENS if entry.images else _ANSWER
    return count, (count + 1) * price.of(request, reply, int(entry.images))
