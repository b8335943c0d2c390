"""Domains: questions, answers and people that come with the package, as data.

Each is a folder under `data/` with a `domain.toml` and a `questions.jsonl`, or is made by code. All
of it was written for this project.
"""

from __future__ import annotations

from useralign.domains import large, synthetic
from useralign.domains.questions import Domain, Persona, Question, folder_names, load_folder
from useralign.errors import OptionError

__all__ = ["Domain", "Persona", "Question", "find_question", "load", "names"]

_BUILT = {synthetic.NAME: synthetic.domain, large.NAME: large.domain}


def names() -> list[str]:
    """Return the names of the domains, sorted."""
    return sorted([*_BUILT, *folder_names()])


def load(name: str) -> Domain:
    """Load a domain by name.

    Raises
    ------
    OptionError
        If there is none of that name.
    """
    if name in _BUILT:
        return _BUILT[name]()
    if name not in folder_names():
        raise OptionError(f"unknown domain {name!r}; known: {', '.join(names())}")
    return load_folder(name)


def find_question(text: str) -> tuple[Domain, Question] | None:
    """Return the question of this wording, whatever its case and punctuation, and its domain.

    None if there is none.
    """
    wording = _plain(text)
    for domain in map(load_folder, folder_names()):
        if domain.dimension > 2:
            for question in domain.questions:
                if _plain(question.text) == wording:
                    return domain, question
    return None


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())
