"""Checks of a plan against what is there: domains, questions, users, methods."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from useralign import domains, registry
from useralign.errors import OptionError
from useralign.lab.cells import embedder_of
from useralign.methods import method_for
from useralign.users import user_kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from useralign.domains import Domain, Question
    from useralign.lab.plan import DomainEntry, MethodEntry, Plan


def check_plan(plan: Plan) -> None:
    """Raise OptionError, naming the key, if a plan names something that is not there."""
    for number, entry in enumerate(plan.domains):
        with _naming(f"domains[{number}]"):
            questions = _questions(entry)
            for place, user in enumerate(plan.users):
                with _naming(f"users[{place}]"):
                    for question in questions:
                        user_kind(user.kind).roster(question, user.count)
    for number, method in enumerate(plan.methods):
        with _naming(f"methods[{number}]"):
            _check_method(method)
    if not any(True for _ in usable_domains(plan)):
        raise OptionError("domains: all are optional, and none of them can be run here")


def usable_domains(plan: Plan) -> Iterator[tuple[Domain, list[Question]]]:
    """Iterate over the domains of a plan that can be run, each with its chosen questions."""
    for entry in plan.domains:
        if not (entry.optional and domain_trouble(entry, plan)):
            yield domains.load(entry.name), _questions(entry)


def domain_trouble(entry: DomainEntry, plan: Plan) -> str | None:
    """Return why a domain cannot be run here and what to do about it, or None when it can."""
    if entry.name not in domains.names():
        return f"there is no domain {entry.name!r}; known: {', '.join(domains.names())}"
    domain = domains.load(entry.name)
    name = embedder_of(domain, plan.embedder, plan.image_embedder)
    return domain.trouble(name)


def _questions(entry: DomainEntry) -> list[Question]:
    """Return the chosen questions; none of a domain that is optional and not there."""
    if entry.optional and entry.name not in domains.names():
        return []
    domain = domains.load(entry.name)
    if entry.questions == "all":
        return list(domain.questions)
    return [domain.question(ident) for ident in entry.questions]


def _check_method(entry: MethodEntry) -> None:
    method = registry.load("methods", entry.name)
    if "epsilon" in entry.modes and not (method.asks and method.stops):
        raise OptionError(
            f'{entry.name} certifies nothing, so it has no mode "epsilon"; use modes = ["budget"]'
        )
    if entry.name != "oracle":  # it is given the utilities of each user
        method_for(entry.name, **entry.options)


@contextlib.contextmanager
def _naming(place: str) -> Iterator[None]:
    try:
        yield
    except OptionError as error:
        raise OptionError(f"{place}: {error}") from error
