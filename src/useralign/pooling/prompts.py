"""Every prompt that pools are made with and grow by; their fixed parts are in `prompts.toml`.

What a person or a model wrote is data, not an instruction of ours: it stands between triple quotes,
which it cannot close.
"""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LONGEST_EXAMPLE = 600  # characters of a liked or disliked answer, or of a remark, in a prompt
MENTIONED = 40  # other answers that a prompt for a new one mentions
_FIRST_WORDS = 8
_FIXED = tomllib.loads(files("useralign.pooling").joinpath("prompts.toml").read_text("utf-8"))
SYSTEM: str = _FIXED["SYSTEM"]
CONCISE: str = _FIXED["CONCISE"]
REASONING: str = _FIXED["REASONING"]
LISTING: str = _FIXED["LISTING"]
TURNING: str = _FIXED["TURNING"]
GUESSING: str = _FIXED["GUESSING"]
TELLTALE: frozenset[str] = frozenset(_FIXED["TELLTALE"])
LISTED, TURNED, GUESSED = (
    tuple((question, reply) for question, reply in _FIXED[name])
    for name in ("LISTED", "TURNED", "GUESSED")
)


def quoted(text: str) -> str:
    """Put a person's text between triple quotes; triple quotes within it become single ones."""
    inner = text.strip()
    while '"""' in inner:
        inner = inner.replace('"""', "'''")
    return f'"""\n{inner}\n"""'


def unbiased(question: str) -> str:
    """Return the prompt that has the question and nothing else."""
    return f"Question:\n{quoted(question)}"


def for_interest(question: str, interest: str) -> str:
    """Return the prompt for an answer that suits one interest."""
    task = (
        "Answer the question so that it suits this person, without repeating what you know of them."
    )
    return f"{ideas(question, interest)}\n\n{task}"


def for_idea(question: str, idea: str, interest: str | None = None) -> str:
    """Return the prompt for an answer that makes one idea concrete."""
    start = for_interest(question, interest) if interest else unbiased(question)
    return f"{start}\n\nSuggest this:\n{quoted(idea)}"


def beginning(idea: str) -> str:
    """Return how the sentence for an idea begins; a thing without a verb is one to choose."""
    thing = re.match(r"(?:an?|the|some|your|my|his|her|their)\b", idea, re.IGNORECASE)
    return f"Choose {idea[0].lower()}{idea[1:]}," if thing else f"{idea},"


def ideas(question: str, interest: str | None = None, mind: str = "") -> str:
    """Return the prompt that asks for a list of short answers, for an interest if there is one.

    `mind` is what is easily forgotten of the question, such as `"rainy, not sunny"`.
    """
    lines = [unbiased(question)]
    if interest is not None:
        lines.append(f"About the person who asks:\n{quoted(interest)}")
    if mind:
        lines.append(f"Mind: {mind}.")
    return "\n\n".join(lines)


def interests(question: str, count: int, existing: Sequence[str] = ()) -> str:
    """Return the prompt that asks for so many interests, as JSON, beside those already there."""
    people = (
        f"Think of {count} people who ask this, as different from each other as you can. For "
        "each, describe in two to eight words the person, not the answer: the one interest, taste "
        'or circumstance that would most change what suits them, such as "loves old jazz '
        'records", "has two small children" or "is short of money".'
    )
    form = (
        f'Reply with a JSON array of {count} strings under the key "interests":\n'
        '{"interests": ["...", "..."]}'
    )
    lines = [f"Question:\n{quoted(question)}", people, form]
    if existing:
        lines.insert(2, f"Leave out these and anything like them:\n{quoted('; '.join(existing))}")
    return "\n\n".join(lines)


def interests_schema(count: int) -> Mapping[str, Any]:
    """Return the JSON schema of the reply to `interests`."""
    # The array is wrapped in an object because some services enforce schemas of objects only.
    array = {
        "type": "array",
        "items": {"type": "string"},
        "minItems": count,
        "maxItems": count,
    }
    return {
        "type": "object",
        "properties": {"interests": array},
        "required": ["interests"],
        "additionalProperties": False,
    }


def picture(question: str, interest: str | None = None) -> str:
    """Return the prompt for one picture, for an interest if there is one."""
    prompt = f"Make one picture that answers this request:\n{quoted(question)}"
    if interest is None:
        return prompt
    return f"{prompt}\n\nMake it for this person:\n{quoted(interest)}"


def grown_answer(
    question: str,
    liked: Sequence[str],
    disliked: Sequence[str],
    remarks: Sequence[str] = (),
    others: Sequence[str] = (),
) -> str:
    """Return the prompt for one more answer, near what was liked.

    It does not speak of a person: a small model would speak of one, too. What stays the same from
    one prompt to the next comes first, so that a local model need not read it again. Of the others
    that are there the first words are given.
    """
    parts = [f"Question:\n{quoted(question)}"]
    if others:
        starts = [" ".join(text.split()[:_FIRST_WORDS]) for text in others[-MENTIONED:]]
        parts.append(f"Known already:\n{_listed(starts)}")
    if disliked:
        parts.append(f"Not liked:\n{_listed(disliked)}")
    if remarks:
        parts.append(f"Wishes:\n{_listed(remarks)}")
    if liked:
        parts.append(f"Liked:\n{_listed(liked)}")
    parts.append(_task(liked, disliked))
    return "\n\n".join(parts)


def grown_picture(
    question: str, liked: Sequence[str], disliked: Sequence[str], remarks: Sequence[str] = ()
) -> str:
    """Return the prompt for one more picture; parameters as for `grown_answer`."""
    parts = [f"Make one picture that answers this request:\n{quoted(question)}"]
    if remarks:
        parts.append(f"The person said:\n{_listed(remarks)}")
    if disliked:
        parts.append(f"They do not want pictures such as:\n{_listed(disliked)}")
    if liked:
        parts.append(f"They like pictures such as:\n{_listed(liked)}")
    parts.append(
        "Make a new picture that is close to what they like and unlike what they do not want."
        if liked or disliked
        else "Make a new picture."
    )
    return "\n\n".join(parts)


def _task(liked: Sequence[str], disliked: Sequence[str]) -> str:
    kind = ""
    if liked:
        kind = " of the same kind as what was liked"
    if disliked:
        kind += "," if liked else ""
        kind += " unlike what was not liked"
    return f"Answer the question with another choice{kind}. Repeat none of the above."


def _listed(texts: Sequence[str]) -> str:
    return quoted("\n".join(f"- {' '.join(text[:LONGEST_EXAMPLE].split())}" for text in texts))
