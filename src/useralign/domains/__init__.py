"""Domains: questions, answers and people that come with the package, as plain text.

Each is a folder under `data/` with a `domain.toml` and a `questions.jsonl`. All of it was written
for this project.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from useralign.domains.questions import Persona, Question, read_questions
from useralign.errors import OptionError

__all__ = ["Domain", "Persona", "Question", "find_question", "load", "names"]

_DATA = Path(__file__).parent / "data"
# Made by code instead of read from a folder: the modules that have a `domain()`.
_MADE = {"synthetic2d": "synthetic", "food64d-large": "large"}


@dataclass(frozen=True, slots=True)
class Domain:
    """A set of questions with the space their answers live in.

    Parameters
    ----------
    name, title : str
    kind : {"text", "image"}
    dimension : int
        The number of features.
    questions : tuple of Question
    """

    name: str
    title: str
    kind: str
    dimension: int
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


def names() -> list[str]:
    """List the domains, sorted."""
    return sorted([*_MADE, *_written()])


def _written() -> list[str]:
    return sorted(path.parent.name for path in _DATA.glob("*/domain.toml"))


@cache
def load(name: str) -> Domain:
    """Load a domain by name.

    Raises
    ------
    OptionError
        If there is none of that name.
    """
    folder = _DATA / name
    if name in _MADE:
        made: Domain = import_module(f"useralign.domains.{_MADE[name]}").domain()
        return made
    if name not in _written():
        raise OptionError(f"unknown domain {name!r}; known: {', '.join(names())}")
    about = tomllib.loads((folder / "domain.toml").read_text(encoding="utf-8"))
    axes = [axis["name"] for axis in about.get("axes", [])]
    questions = tuple(read_questions(folder / about["questions"], axes, about["kind"]))
    return Domain(name, about["title"], about["kind"], about["dimension"], questions)


def find_question(text: str) -> tuple[Domain, Question] | None:
    """Find a question by its wording, whatever its case and punctuation; None if there is none."""
    wanted = _plain(text)
    for name in _written():
        domain = load(name)
        if domain.dimension > 2:
            for question in domain.questions:
                if _plain(question.text) == wanted:
                    return domain, question
    return None


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())
