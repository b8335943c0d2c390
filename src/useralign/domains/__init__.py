"""Domains: questions, answers and people that come with the package, as data.

Each is a folder under `data/` with a `domain.toml` and a `questions.jsonl`, or is made by code. All
of it was written for this project.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from useralign.domains import large, near, pools, synthetic
from useralign.domains.questions import Domain, Persona, Question, folder_names, load_folder
from useralign.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "Domain",
    "Persona",
    "Question",
    "add",
    "find_question",
    "load",
    "names",
    "shipped_questions",
]

_BUILT: dict[str, Callable[[], Domain]] = {
    synthetic.NAME: synthetic.domain,
    large.NAME: large.domain,
    large.NAME_TEN: large.domain_of_ten,
    **{name: partial(near.domain, name) for name in near.NAMES},
}


_ADDED: dict[str, Domain] = {}


def names() -> list[str]:
    """Return the names of the domains, sorted."""
    return sorted([*_BUILT, *folder_names(), *_ADDED])


def add(folder: str | Path) -> Domain:
    """Load a folder of pools as a domain, and know it by the folder's name from now on.

    Raises FileFormatError if it is not one; see `useralign.domains.pools` for what it holds. Raises
    OptionError if a domain that comes with the package has that name.
    """
    domain = pools.load_pools(Path(folder))
    if domain.name in (*_BUILT, *folder_names()):
        raise OptionError(f"{folder}: {domain.name!r} is a domain already; rename the folder")
    _ADDED[domain.name] = domain
    return domain


def load(name: str) -> Domain:
    """Load a domain by name.

    Raises OptionError if there is none of that name.
    """
    if name in _ADDED:
        return _ADDED[name]
    if name in _BUILT:
        return _BUILT[name]()
    if name not in folder_names():
        raise OptionError(f"unknown domain {name!r}; known: {', '.join(names())}")
    return load_folder(name)


def shipped_questions() -> Iterator[tuple[Domain, Question]]:
    """Yield the questions whose answers come with the package, for people, and their domains."""
    for domain in map(load_folder, folder_names()):
        if domain.dimension > 2:
            yield from ((domain, question) for question in domain.questions)


def find_question(text: str) -> tuple[Domain, Question] | None:
    """Return the question of this wording, whatever its case and punctuation, and its domain.

    None if there is none.
    """
    wording = _plain(text)
    same = (pair for pair in shipped_questions() if _plain(pair[1].text) == wording)
    return next(same, None)


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())
