"""What a model says is data: interests and answers, read by their form and never trusted.

Nothing here raises on account of a strange reply, but for `parse_interests`, which raises
`ModelAnswerError` when there is no interest in it.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from useralign.errors import ModelAnswerError
from useralign.pooling.words import sentences, shingles, tidy, words

_TRIES = 20
_ITEM_LENGTH = 120
_LIST_LENGTH = 200
_HEADING = 8
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_BULLET = re.compile(r"^\s*(?:[-*•–+]|\(?\d{1,3}[.):]|[a-z][.)])\s+(?=\S)")  # noqa: RUF001
_REFUSAL = re.compile(
    r"\bas an? (?:ai|artificial|language model|large language)|"
    r"\bi(?:'m| am) (?:just |only )?an? (?:ai|artificial|language model|large language)|"
    r"\b(?:i(?:'m| am) (?:sorry|unable|not able)|i(?: can(?:'t|not| not)| won't| will not)|"
    r"i must decline|unfortunately,? i(?:'m| am| can(?:'t|not| not)))\b[^.!?]{0,40}"
    r"\b(?:help|assist|provide|answer|comply|fulfil?l?|do that|recommend|suggest|generate|create|"
    r"engage|discuss|continue|support|offer|browse|access)\b|"
    r"^(?:i'm |i am )?sorry\b",
)
_PREFACE = re.compile(
    r"^(?:(?:sure(?: thing)?|certainly|of course|absolutely|great(?: question)?|okay|ok|alright)"
    r"\b[,.!:]*\s+)?(?:here(?:'s| is| are)\b[^:.!?\n]{0,80}:|(?:my )?(?:answer|response|"
    r"suggestion|recommendation)\s*:)\s*",
    re.IGNORECASE,
)
_EAGER = re.compile(
    r"^(?:sure(?: thing)?|certainly|of course|absolutely|great question|okay|ok|alright)[!.,]+\s+",
    re.IGNORECASE,
)
_DANGLING = re.compile(r"(?:[,;:(–—-]|\b(?:a|an|and|the|of|or|to|with|for|in|but|is))$")  # noqa: RUF001


class Verdict(NamedTuple):
    """An answer as it may be shown, and what is wrong with it, if anything.

    Parameters
    ----------
    text : str
    problem : str or None
        `"empty"`, `"refusal"`, `"truncated"`, `"too short"`, `"echo"`, or None for an answer that
        is usable.
    """

    text: str
    problem: str | None


def parse_interests(reply: str) -> list[str]:
    """Read the interests in a reply: the JSON asked for, half of it, or a list in prose.

    Parameters
    ----------
    reply : str

    Returns
    -------
    list of str
        In the order given, each once.

    Raises
    ------
    ModelAnswerError
        If there is none.
    """
    text = tidy(reply)
    found: dict[str, str] = {}
    for item in (_from_json(text) or _from_half(text) or _from_lines(text))[:_LIST_LENGTH]:
        clean = _interest(item)
        if clean:
            found.setdefault(" ".join(words(clean)), clean)
    if not found:
        start = " ".join(text.split())[:60]
        raise ModelAnswerError(
            f"expected a JSON array of interests; the model answered {start!r}. "
            "Try again with another seed or a larger model, or use style='unbiased'"
        )
    return list(found.values())


def _from_json(text: str) -> list[str]:
    """Read the first JSON value in the text that holds a list of texts."""
    decoder = json.JSONDecoder()
    for place in [match.start() for match in re.finditer(r"[\[{]", text)][:_TRIES]:
        try:
            value, _ = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            continue
        if texts := _texts(value):
            return texts
    return []


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        lists = [item for item in value.values() if isinstance(item, list)]
        return _texts(lists[0]) if lists else []
    if not isinstance(value, list):
        return []
    found = []
    for item in value:
        # Some models make an object of each: {"name": "...", "reason": "..."}.
        inner = next(iter(item.values()), None) if isinstance(item, dict) else item
        if isinstance(inner, str):
            found.append(inner)
    return found


def _from_half(text: str) -> list[str]:
    """Read the complete strings of an array that was cut short."""
    opened = text.find("[")
    if opened < 0:
        return []
    found = []
    for match in _STRING.finditer(text, opened):
        try:
            found.append(str(json.loads(match.group())))
        except ValueError:
            found.append(match.group(1))
    return found


def _from_lines(text: str) -> list[str]:
    """Read the lines that are numbered or have bullets; other prose is no list."""
    return [_BULLET.sub("", line) for line in text.splitlines() if _BULLET.match(line)]


def _interest(item: str) -> str:
    plain = _BULLET.sub("", re.sub(r"[*_`#]+", "", tidy(item)))
    plain = " ".join(plain.split()).strip(" \"'“”,;.:[]{}")
    usable = 2 <= len(plain) <= _ITEM_LENGTH and words(plain) and not _refuses(plain)
    return plain if usable else ""


def parse_lines(reply: str, *, cut_off: bool = False) -> list[str]:
    """Read a list with an item on each line, with or without numbers and bullets.

    Parameters
    ----------
    reply : str
    cut_off : bool
        Whether the model was stopped, so that the last line is not whole.
    """
    lines = tidy(reply).splitlines()[: -1 if cut_off else None]
    plain = [line.replace('"', "") for line in lines[:_LIST_LENGTH]]
    return [clean for line in plain if (clean := _interest(line))]


def parse_answer(
    reply: str,
    *,
    question: str = "",
    prompt: str = "",
    finish: str = "stop",
    limit: int | None = None,
    least: int = 1,
) -> Verdict:
    """Clean an answer and judge whether it can be a candidate.

    Parameters
    ----------
    reply : str
        What the model said.
    question, prompt : str
        What it was asked, to know an echo by.
    finish : str
        Why the model stopped; `"length"` when it was cut off.
    limit : int, optional
        Keep this many sentences.
    least : int
        How many words there must be.
    """
    text = _without_question(clean_answer(reply), question)
    if not words(text):
        return Verdict("", "empty")
    if _refuses(text):
        return Verdict(text, "refusal")
    complete = [sentence for sentence in sentences(text)[0] if words(sentence)]
    if not complete:
        if finish == "length" or _DANGLING.search(text.lower()):
            return Verdict(text, "truncated")
        complete = [text]
    shown = _limited(complete, limit)
    if len(words(shown)) < least:
        return Verdict(shown, "too short")
    return Verdict(shown, "echo" if _echoes(shown, question, prompt) else None)


def clean_answer(reply: str) -> str:
    """Return the answer in a reply: without preface, quotes, fences, markdown and thoughts."""
    text = re.sub(r"<think>.*?(?:</think>|\Z)", "", tidy(reply), flags=re.DOTALL)
    text = _unwrapped(re.sub(r"^\s*```\w*\s*$", "", text, flags=re.MULTILINE).strip())
    lines = [re.sub(r"^\s*(?:#{1,6}|>)\s+", "", _BULLET.sub("", s)) for s in text.splitlines()]
    text = " ".join(" ".join(_stopped(lines)).split())
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\*+|__+|`+|\"\"\"|'''", "", text).strip()
    text = _EAGER.sub("", _PREFACE.sub("", text, count=1), count=1).strip()
    return _unquoted(text)


def _stopped(lines: list[str]) -> list[str]:
    """End a short first line with a full stop: it names the choice, and a sentence follows."""
    first, *others = [line.strip() for line in lines if line.strip()] or [""]
    heading = len(words(first)) <= _HEADING and first[-1:].isalnum()
    if others and heading and others[0][:1].isupper():
        return [f"{first}.", *others]
    return [first, *others]


def _unwrapped(text: str) -> str:
    """Take the text out of JSON such as `{"answer": "..."}`."""
    if not text.startswith(("{", '"')):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
    return tidy(value) if isinstance(value, str) else text


def _unquoted(text: str) -> str:
    for opening, closing in ('""', "''", "“”", "‘’", "«»"):  # noqa: RUF001
        inner = text[1:-1]
        whole = len(text) > 1 and text[0] == opening and text[-1] == closing
        if whole and opening not in inner and closing not in inner:
            return inner.strip()
    return text


def _without_question(text: str, question: str) -> str:
    """Drop a repetition of the question before the answer."""
    asked = " ".join(tidy(question).split())
    start = text.removeprefix("Question:").lstrip()
    if asked and start[: len(asked)].casefold() == asked.casefold():
        return _PREFACE.sub("", start[len(asked) :].lstrip(" ?:.-\n"), count=1)
    return text


def _limited(complete: list[str], limit: int | None) -> str:
    if limit is None:
        return " ".join(complete)
    # "Pizza!" names a choice without its reason: it takes the next sentence with it.
    short = 1 if len(words(complete[0])) < 5 else 0
    return " ".join(complete[: limit + short])


def _refuses(text: str) -> bool:
    start = text[:240].casefold().replace("’", "'")  # noqa: RUF001
    return _REFUSAL.search(start) is not None


def _echoes(text: str, question: str, prompt: str) -> bool:
    """Return whether most of a text's word triples stand in what was asked."""
    own = shingles(text)
    asked = shingles(question) | shingles(prompt)
    return bool(own) and len(own & asked) / len(own) >= 0.6
