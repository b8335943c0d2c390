"""Texts as people and models write them: tidied, and taken apart into words and sentences."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 20_000
"""Characters of a reply that are looked at; a model that runs away is not followed."""

_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2060\ufeff\ud800-\udfff]")
_END = re.compile(r"(?:[.!?…]+[\"'”’»)\]]*(?=\s|$))|[。！？]+[”’」』）]*")  # noqa: RUF001
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|dr|mrs?|ms|st|vs|approx|prof|jr|sr)|\b[A-Z]|(?:^|\s)\d{1,2})\.$",
    re.IGNORECASE,
)

_FUNCTION_WORDS = re.compile(
    r"(?:an?|and|at|by|for|from|go|have|her|him|in|into|it|make|my|new|of|on|or|out|some|take|that|the|them|to|"
    r"try|up|use|with|your)"
)


def tidy(text: str) -> str:
    """Return the text without what cannot be shown or saved, and no longer than `LONGEST`."""
    plain = text[:LONGEST].replace("\r\n", "\n").replace("\r", "\n")
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", plain)).strip()


def words(text: str) -> list[str]:
    """Return its words, without case, punctuation and typographic variants."""
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())


def shingles(text: str, length: int = 3) -> frozenset[tuple[str, ...]]:
    """Return all runs of `length` words; for a shorter text, the whole of it."""
    found = words(text)
    if not found:
        return frozenset()
    last = max(1, len(found) - length + 1)
    return frozenset(tuple(found[start : start + length]) for start in range(last))


def sentences(text: str) -> tuple[list[str], str]:
    """Split a text into complete sentences and what is left behind the last of them.

    Parameters
    ----------
    text : str

    Returns
    -------
    complete : list of str
    rest : str
        Empty when the text ends with a sentence.
    """
    complete, start = [], 0
    for end in _END.finditer(text):
        piece = text[start : end.end()]
        # "e.g." and "1." end no sentence, unless nothing follows.
        if end.end() < len(text) and _ABBREVIATION.search(piece[-12:]):
            continue
        complete.append(piece.strip())
        start = end.end()
    return complete, text[start:].strip()


def is_function_word(word: str) -> bool:
    """Return whether an English word says nothing by itself, such as "for" or "with"."""
    return _FUNCTION_WORDS.fullmatch(word.casefold()) is not None


def content_words(text: str) -> frozenset[str]:
    """Return the words that say what a text is about, singular and plural alike.

    English function words are left out, unless there is nothing else.
    """
    found = [word.removesuffix("s") if len(word) > 3 else word for word in words(text)]
    content = frozenset(word for word in found if not is_function_word(word))
    return content or frozenset(found)
