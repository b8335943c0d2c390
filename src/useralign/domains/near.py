"""Variants of the text domains whose answers are as alike as a model's at temperature 0.5.

The paper prints one pool: its ten unbiased answers are rewordings of three or four ideas, one of
them twice, in one voice. Those of food64d, travel64d and dsp64d were written to differ. `-near`
has near-duplicates instead, and the interests' answers in the same voice. In `-xy` an answer is
embedded together with its question: the paper writes phi(x, y), and does not say if that is meant.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from useralign.domains.questions import DATA, Domain, Persona, Question, load_folder
from useralign.pool import Candidate

if TYPE_CHECKING:
    from collections.abc import Mapping

BASES = ("food64d", "travel64d", "dsp64d")
NEAR, PAIRED = "-near", "-xy"
JUDGED = "-judged"  # what the copies of a domain end in that a model has judged
NAMES = tuple(base + variant for base in BASES for variant in (NEAR, PAIRED, NEAR + PAIRED))


@cache
def domain(name: str) -> Domain:
    """Build a variant by its name, one of `NAMES`."""
    stem = name.removesuffix(PAIRED)
    base = load_folder(stem.removesuffix(NEAR))
    title, questions = base.title, base.questions
    if stem.endswith(NEAR):
        title += ", near-duplicates"
        path = DATA / base.name / "near.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines()
        entries = {entry["id"]: entry for entry in map(json.loads, lines)}
        questions = tuple(_with_candidates(q, entries[q.id]) for q in questions)
    if name != stem:
        title += ", embedded with their question"
        questions = tuple(replace(question, paired=True) for question in questions)
    return Domain(name, title, base.kind, base.dimension, questions)


def base_of(name: str) -> str:
    """Return the domain that a variant is one of; any other name as it is."""
    name = name.removesuffix(JUDGED)
    return name.removesuffix(PAIRED).removesuffix(NEAR) if name in NAMES else name


def _with_candidates(question: Question, entry: Mapping[str, Any]) -> Question:
    """Return a question with other answers, and the same people's rankings of them."""
    personas = tuple(
        Persona(persona.name, persona.description, tuple(entry["rankings"][persona.name]))
        for persona in question.personas
    )
    candidates = tuple(Candidate.from_dict(item) for item in entry["candidates"])
    return replace(question, candidates=candidates, personas=personas)
