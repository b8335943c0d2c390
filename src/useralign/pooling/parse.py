"""Read what a model returns: lists, answers and pictures, judged by their form and never trusted.

Nothing here raises on account of a strange reply, but for `parse_interests`, which raises
`ModelAnswerError` when there is no interest in it. Every pattern takes time in proportion to the
length of the text, whatever the text is.
"""

from __future__ import annotations

import importlib
import io
import json
import re
import unicodedata
from typing import Any, Literal, NamedTuple

from useralign.errors import ModelAnswerError
from useralign.models import picture_suffix

LONGEST = 20_000  # characters of a reply that are looked at; who runs away is not followed
SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp"})  # of picture files

_MOST_MARKS = 30
_HIDDEN_MARKS = "\u0f73\u0f75\u0f81\uff9e\uff9f"  # that only taken apart are seen to be marks
_JSON_STARTS = 20
_ITEM_LENGTH = 120
_LIST_LENGTH = 200
_HEADING = 8
_ECHO = 0.6
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2060\ufeff\ud800-\udfff]")
# Only from the first of several marks on, so that a run of them is not tried from each of them.
_END = re.compile(
    r"(?:(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s|$))|[。！？]+[”’」』）]*"  # noqa: RUF001
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|dr|mrs?|ms|st|vs|approx|prof|jr|sr)|\b[A-Z]|(?:^|\s)\d{1,2})\.$",
    re.IGNORECASE,
)
_FUNCTION_WORDS = re.compile(
    r"(?:an?|and|at|by|for|from|go|have|her|him|in|into|it|make|my|new|of|on|or|out|some|take|that|the|them|to|"
    r"try|up|use|with|your)"
)
# The closing mark is optional: a string that is never closed is passed over as a whole.
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*+)("?)')
_BULLET = re.compile(r"^\s*(?:[-*•–+]|\(?\d{1,3}[.):]|[a-z][.)])\s+(?=\S)")  # noqa: RUF001
_FENCE = re.compile(r"^[^\S\n]*```\w*[^\S\n]*$", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\[\]]*+)\]\([^)\[]*+\)")
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


def tidy(text: str) -> str:
    """Return the text without what cannot be shown or saved, and no longer than `LONGEST`."""
    plain = text[:LONGEST].replace("\r\n", "\n").replace("\r", "\n")
    return _normalised("NFC", _INVISIBLE.sub("", plain)).strip()


def _normalised(form: Literal["NFC", "NFKC"], text: str) -> str:
    """Normalise a text, with no more marks on a letter than Unicode's stream-safe texts have.

    The marks of a letter are sorted, which takes time in proportion to the square of their number.
    """
    if text.isascii():
        return unicodedata.normalize(form, text)
    characters, marks = [], 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) or character in _HIDDEN_MARKS else 0
        if marks <= _MOST_MARKS:
            characters.append(character)
    return unicodedata.normalize(form, "".join(characters))


def words(text: str) -> list[str]:
    """Return its words, without case, punctuation and typographic variants."""
    return re.findall(r"\w+", _normalised("NFKC", text).casefold())


def shingles(text: str, length: int = 3) -> frozenset[tuple[str, ...]]:
    """Return all runs of `length` words; for a shorter text, the whole of it."""
    parts = words(text)
    if not parts:
        return frozenset()
    last = max(1, len(parts) - length + 1)
    return frozenset(tuple(parts[start : start + length]) for start in range(last))


def sentences(text: str) -> tuple[list[str], str]:
    """Split a text into complete sentences, and what is left behind the last of them."""
    complete, start = [], 0
    for match in _END.finditer(text):
        end = match.end()
        # "e.g." and "1." end no sentence, unless nothing follows.
        if end < len(text) and _ABBREVIATION.search(text[max(start, end - 12) : end]):
            continue
        complete.append(text[start:end].strip())
        start = end
    return complete, text[start:].strip()


def is_function_word(word: str) -> bool:
    """Return whether an English word says nothing by itself, such as "for" or "with"."""
    return _FUNCTION_WORDS.fullmatch(word.casefold()) is not None


def content_words(text: str) -> frozenset[str]:
    """Return the words that say what a text is about, singular and plural alike.

    English function words are left out, unless there is nothing else.
    """
    stems = [word.removesuffix("s") if len(word) > 3 else word for word in words(text)]
    content = frozenset(word for word in stems if not is_function_word(word))
    return content or frozenset(stems)


class ParsedAnswer(NamedTuple):
    """An answer as it may be shown, and what is wrong with it, if anything.

    The problem is `"empty"`, `"refusal"`, `"truncated"`, `"too short"` or `"echo"`.
    """

    text: str
    problem: str | None


def parse_interests(reply: str) -> list[str]:
    """Read the interests in a reply, each once: the JSON asked for, half of it, or a list in prose.

    Raises `ModelAnswerError` if there is none.
    """
    text = tidy(reply)
    interests: dict[str, str] = {}
    for item in (_from_json(text) or _from_half(text) or _from_lines(text))[:_LIST_LENGTH]:
        if clean := _clean_item(item):
            interests.setdefault(" ".join(words(clean)), clean)
    if not interests:
        start = " ".join(text.split())[:60]
        raise ModelAnswerError(
            f"expected a JSON array of interests; the model answered {start!r}. "
            "Try again with another seed or a larger model, or use style='unbiased'"
        )
    return list(interests.values())


def _from_json(text: str) -> list[str]:
    """Read the first JSON value in the text that holds a list of texts."""
    decoder = json.JSONDecoder()
    for start in [match.start() for match in re.finditer(r"[\[{]", text)][:_JSON_STARTS]:
        try:
            value, _ = decoder.raw_decode(text, start)
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
    # Some models make an object of each: {"name": "...", "reason": "..."}.
    items = [next(iter(i.values()), None) if isinstance(i, dict) else i for i in value]
    return [item for item in items if isinstance(item, str)]


def _from_half(text: str) -> list[str]:
    """Read the complete strings of an array that was cut short."""
    opened = text.find("[")
    if opened < 0:
        return []
    strings = []
    for match in _STRING.finditer(text, opened):
        if not match.group(2):
            continue
        try:
            strings.append(str(json.loads(match.group())))
        except ValueError:
            strings.append(match.group(1))
    return strings


def _from_lines(text: str) -> list[str]:
    """Read the lines that are numbered or have bullets; other prose is no list."""
    return [_BULLET.sub("", line) for line in text.splitlines() if _BULLET.match(line)]


def _clean_item(item: str) -> str:
    plain = _BULLET.sub("", re.sub(r"[*_`#]+", "", tidy(item)))
    plain = " ".join(plain.split()).strip(" \"'“”,;.:[]{}")
    usable = 2 <= len(plain) <= _ITEM_LENGTH and words(plain) and not _refuses(plain)
    return plain if usable else ""


def parse_lines(reply: str, *, cut_off: bool = False) -> list[str]:
    """Read a list with an item on each line, with or without numbers and bullets.

    If the model was cut off, the last line is not whole.
    """
    lines = tidy(reply).splitlines()[: -1 if cut_off else None]
    plain = [line.replace('"', "") for line in lines[:_LIST_LENGTH]]
    return [clean for line in plain if (clean := _clean_item(line))]


def parse_answer(
    reply: str,
    *,
    question: str = "",
    prompt: str = "",
    finish: str = "stop",
    limit: int | None = None,
    least: int = 1,
) -> ParsedAnswer:
    """Clean an answer and judge whether it can be a candidate.

    An echo is known by the question and the prompt. The model was cut off if `finish` is
    `"length"`. At most `limit` sentences are kept, and at least `least` words must be there.
    """
    text = _without_question(clean_answer(reply), question)
    if not words(text):
        return ParsedAnswer("", "empty")
    if _refuses(text):
        return ParsedAnswer(text, "refusal")
    complete = [sentence for sentence in sentences(text)[0] if words(sentence)]
    if not complete:
        if finish == "length" or _DANGLING.search(text.lower()):
            return ParsedAnswer(text, "truncated")
        complete = [text]
    answer = _limited(complete, limit)
    if len(words(answer)) < least:
        return ParsedAnswer(answer, "too short")
    return ParsedAnswer(answer, "echo" if _echoes(answer, question, prompt) else None)


def clean_answer(reply: str) -> str:
    """Return the answer in a reply: without preface, quotes, fences, markdown and thoughts."""
    text = re.sub(r"<think>.*?(?:</think>|\Z)", "", tidy(reply), flags=re.DOTALL)
    text = _unwrapped(_FENCE.sub("", text).strip())
    lines = [re.sub(r"^\s*(?:#{1,6}|>)\s+", "", _BULLET.sub("", s)) for s in text.splitlines()]
    text = " ".join(" ".join(_stopped(lines)).split())
    text = _LINK.sub(r"\1", text)
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
    plain = " ".join(tidy(question).split())
    start = text.removeprefix("Question:").lstrip()
    if plain and start[: len(plain)].casefold() == plain.casefold():
        return _PREFACE.sub("", start[len(plain) :].lstrip(" ?:.-\n"), count=1)
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
    request = shingles(question) | shingles(prompt)
    return bool(own) and len(own & request) / len(own) >= _ECHO


def picture_problem(data: bytes) -> str | None:
    """Return what is wrong with the bytes of a picture; None when nothing is.

    Without Pillow only the first bytes are looked at.
    """
    if not data:
        return "empty"
    if picture_suffix(data) is None:
        return "no picture (PNG, JPEG, WebP, GIF or BMP)"
    try:
        image = importlib.import_module("PIL.Image")
    except ImportError:
        return None
    try:
        with image.open(io.BytesIO(data)) as opened:
            opened.load()
    except Exception as error:  # noqa: BLE001 - Pillow raises many kinds on damaged data
        return f"damaged picture ({error})"
    return None
