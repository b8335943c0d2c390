"""Every prompt that pools are made with, in one place.

A question and an interest are a person's data, not instructions of ours: they stand between triple
quotes, which they cannot close.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SYSTEM = (
    "You answer a person's question with one concrete suggestion that they can act on. The "
    "question stands between triple quotes. Write two or three plain, complete sentences: name "
    "the suggestion, then say what makes it a good one. No list, no heading, no introduction, and "
    "no question in return."
)
# A small model follows an example better than a rule.
CONCISE = (
    "You help people choose. Answer the question with exactly one specific choice, called by its "
    "name, and the reason it fits the situation in the question. Write one sentence of 15 to 30 "
    "words. For example, asked what to read on a long flight: Read The Count of Monte Cristo, "
    "because its endless plot of prison, treasure and revenge makes twelve hours in a narrow seat "
    "feel short. Never offer two choices."
)
REASONING = (
    "You think of the different people who might ask a question, and of what they care about. You "
    "reply with JSON only."
)

LISTING = "You think of different answers to a question. You reply with JSON only."
CHECKING = "You judge answers strictly."
# A small model begins its sentence with the idea as it stands: without a verb here there is none
# there.
_FORM = (
    "Begin each with a verb, and go on with the name of one thing, place or dish: three to seven "
    "words."
)
TURNING = "You rewrite questions. You change as few words as you can."


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
    return (
        f"Question:\n{quoted(question)}\n\n"
        f"About the person who asks:\n{quoted(interest)}\n\n"
        "Answer the question so that it suits this person, without repeating what you know of them."
    )


def for_idea(question: str, idea: str, interest: str | None = None) -> str:
    """Return the prompt for an answer that makes one idea concrete."""
    start = for_interest(question, interest) if interest else unbiased(question)
    return f"{start}\n\nSuggest this:\n{quoted(idea)}"


def ideas(question: str, count: int) -> str:
    """Return the prompt that asks for a list of short answers, as JSON."""
    task = (
        f"Think of {count} answers to this, as different from each other as you can, each possible "
        f"under all that the question says. {_FORM}"
    )
    return "\n\n".join([f"Question:\n{quoted(question)}", task, _answers_form(count)])


def ideas_for(question: str, people: Sequence[str]) -> str:
    """Return the prompt that asks for one short answer for each of several interests, as JSON."""
    task = (
        f"These {len(people)} people ask it:\n{quoted(chr(10).join(people))}\n\n"
        "Think of one answer for each of them, in this order, no two alike, each possible under "
        f"all that the question says. {_FORM}"
    )
    return "\n\n".join([f"Question:\n{quoted(question)}", task, _answers_form(len(people))])


def _answers_form(count: int) -> str:
    return (
        f'Reply with a JSON array of {count} strings under the key "answers":\n'
        '{"answers": ["...", "..."]}'
    )


def check(question: str, idea: str) -> str:
    """Return the prompt that asks whether an idea is a good answer."""
    return (
        f"Question:\n{quoted(question)}\n\nAnswer:\n{quoted(idea)}\n\n"
        "Is this answer good or bad? Reply good or bad."
    )


def opposite(question: str) -> str:
    """Return the prompt that asks for the same question under opposite circumstances."""
    return (
        "Turn each circumstance in the question into its opposite, and keep all the other words. "
        'For example, "Which film should I see on a long evening alone?" becomes "Which film '
        'should I see on a short evening with friends?"\n\n'
        f"Question:\n{quoted(question)}\n\nWrite the new question only."
    )


def interests(question: str, count: int, known: Sequence[str] = ()) -> str:
    """Return the prompt that asks for interests, as JSON.

    Parameters
    ----------
    question : str
    count : int
        How many to ask for.
    known : sequence of str
        Those already there, which are not to be repeated.
    """
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
    if known:
        lines.insert(2, f"Leave out these and anything like them:\n{quoted('; '.join(known))}")
    return "\n\n".join(lines)


def interests_schema(count: int) -> Mapping[str, Any]:
    """Return the JSON schema of the reply to `interests`."""
    return _strings("interests", count)


def ideas_schema(count: int) -> Mapping[str, Any]:
    """Return the JSON schema of the reply to `ideas` and `ideas_for`."""
    return _strings("answers", count)


def _strings(key: str, count: int) -> Mapping[str, Any]:
    # The array is wrapped in an object because some services enforce schemas of objects only.
    array = {
        "type": "array",
        "items": {"type": "string"},
        "minItems": count,
        "maxItems": count,
    }
    return {
        "type": "object",
        "properties": {key: array},
        "required": [key],
        "additionalProperties": False,
    }


def picture(question: str, interest: str | None = None) -> str:
    """Return the prompt for one picture, for an interest if there is one."""
    prompt = f"Make one picture that answers this request:\n{quoted(question)}"
    if interest is None:
        return prompt
    return f"{prompt}\n\nMake it for this person:\n{quoted(interest)}"
