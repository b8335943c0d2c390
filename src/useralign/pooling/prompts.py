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
    inner = text.strip().replace('"""', "'''")
    return f'"""\n{inner}\n"""'


def _section(title: str, text: str | None) -> str:
    return "" if text is None else f"{title}:\n{quoted(text)}"


def _listed(title: str, texts: Sequence[str]) -> str:
    lines = [f"- {' '.join(text[:LONGEST_EXAMPLE].split())}" for text in texts]
    return _section(title, "\n".join(lines) or None)


def _joined(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))


def answer(question: str, interest: str | None = None, idea: str | None = None) -> str:
    """Return the prompt for an answer, which suits an interest and makes an idea concrete, if any.

    Without these it has the question and nothing else.
    """
    task = _FIXED["FOR_INTEREST"] if interest else ""
    return _joined(ideas(question, interest), task, _section("Suggest this", idea))


def beginning(idea: str) -> str:
    """Return how the sentence for an idea begins; a thing without a verb is one to choose."""
    thing = re.match(r"(?:an?|the|some|your|my|his|her|their)\b", idea, re.IGNORECASE)
    return f"Choose {idea[0].lower()}{idea[1:]}," if thing else f"{idea},"


def ideas(question: str, interest: str | None = None, mind: str = "") -> str:
    """Return the prompt that asks for a list of short answers, for an interest if there is one.

    `mind` is what is easily forgotten of the question, such as `"rainy, not sunny"`.
    """
    person = _section("About the person who asks", interest)
    return _joined(_section("Question", question), person, f"Mind: {mind}." if mind else "")


def interests(question: str, count: int, existing: Sequence[str] = ()) -> str:
    """Return the prompt that asks for so many interests, as JSON, beside those already there."""
    people, form = (
        _FIXED[name].replace("COUNT", str(count)) for name in ("INTERESTS", "INTERESTS_FORM")
    )
    others = _section("Leave out these and anything like them", "; ".join(existing) or None)
    return _joined(_section("Question", question), people, others, form)


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
    person = _section("Make it for this person", interest)
    return _joined(_section("Make one picture that answers this request", question), person)


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
    starts = [" ".join(text.split()[:_FIRST_WORDS]) for text in others[-MENTIONED:]]
    kind = " of the same kind as what was liked" * bool(liked)
    kind += "," * bool(liked and disliked) + " unlike what was not liked" * bool(disliked)
    return _joined(
        _section("Question", question),
        _listed("Known already", starts),
        _listed("Not liked", disliked),
        _listed("Wishes", remarks),
        _listed("Liked", liked),
        f"Answer the question with another choice{kind}. Repeat none of the above.",
    )


def grown_picture(
    question: str, liked: Sequence[str], disliked: Sequence[str], remarks: Sequence[str] = ()
) -> str:
    """Return the prompt for one more picture; parameters as for `grown_answer`."""
    near = " that is close to what they like and unlike what they do not want"
    return _joined(
        picture(question),
        _listed("The person said", remarks),
        _listed("They do not want pictures such as", disliked),
        _listed("They like pictures such as", liked),
        f"Make a new picture{near if liked or disliked else ''}.",
    )
