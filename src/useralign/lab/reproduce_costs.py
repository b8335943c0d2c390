"""What one run costs: nothing here, and what it would cost with the paper's models."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from useralign import domains
from useralign.errors import UseralignError
from useralign.lab import paper
from useralign.lab.cells import embedder_of
from useralign.lab.tables import Table, Value
from useralign.models.embedders import embedder_for
from useralign.models.generators.prices import Prices
from useralign.users.judge import SYSTEM, comparison_prompt

if TYPE_CHECKING:
    from useralign.domains import Domain, Question

QUESTIONS = 49  # the paper's cap for this table
_CHARACTERS = 4  # a token of English text, roughly
_REPLY = 8  # tokens of {"better": "A"}
_REQUEST = 60  # tokens around a question that asks for one answer


def costs() -> Table:
    """Build the table of costs for one question and one user, beside the paper's."""
    rows: list[tuple[Value, ...]] = []
    for theirs in paper.load().costs:
        seconds = pool_usd = asked_usd = None
        if (domain := _text_domain(theirs.domain)) is not None:
            seconds = _embedding_seconds(domain)
            pool_usd = _pool_usd(domain.questions[0])
            asked_usd = _asked_usd(domain.questions[0])
        rows += [
            (theirs.domain, "generating the pool, USD", pool_usd, theirs.pool_usd),
            (theirs.domain, "embedding it, seconds", seconds, theirs.embedding_seconds),
            (theirs.domain, f"answers of {theirs.user}, USD", asked_usd, theirs.comparisons_usd),
        ]
    return Table(
        "costs",
        "Costs of one run: one question, one user, ε = 0",
        ("Domain", "what", "ours", "paper"),
        rows,
        "This reproduction calls no model and costs nothing; the dollars are an estimate of what "
        "our texts and prompts would cost with the paper's models, at the prices that come with "
        f"the package and four characters a token, for {QUESTIONS} questions. The seconds were "
        "measured. Pictures are drawn by our own code and have no price.",
        digits=4,
    )


def _text_domain(name: str) -> Domain | None:
    """Return a domain of texts; None for one of pictures, or one that is not there."""
    try:
        domain = domains.load(name)
    except UseralignError:
        return None
    return domain if domain.kind == "text" else None


def _embedding_seconds(domain: Domain) -> float:
    embedder = embedder_for(embedder_of(domain))
    texts = [candidate.text for candidate in domain.questions[0].select()]
    embedder.embed_texts(texts[:1])  # loads it
    began = time.perf_counter()
    embedder.embed_texts(texts)
    return time.perf_counter() - began


def _pool_usd(question: Question) -> float | None:
    price = Prices().find("gpt-4o")
    if price is None:
        return None
    texts = [candidate.text for candidate in question.select()]
    asked = len(texts) * (_REQUEST + _tokens(question.text))
    return price.of(asked, sum(map(_tokens, texts)))


def _asked_usd(question: Question) -> float | None:
    price = Prices().find("gpt-4o-mini")
    if price is None:
        return None
    first, second = (candidate.text for candidate in question.select()[:2])
    prompt = comparison_prompt(question.personas[0].description, question.text, first, second)
    return QUESTIONS * price.of(_tokens(SYSTEM + prompt), _REPLY)


def _tokens(text: str) -> int:
    return -(-len(text) // _CHARACTERS)
