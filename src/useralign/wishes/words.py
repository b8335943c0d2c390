"""What words stand for: meat is beef and duck, vegetarian is without meat or fish.

`words.toml` has the knowledge; this module finds it in a text. A text mentions a word where the
word stands by itself, in the singular or plural, and does not say that it is absent ("without
meat", "meat-free") or something else ("oat milk", "to fish for compliments").
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FILE = Path(__file__).with_name("words.toml")
LONGEST = 20_000  # characters of a text that are read
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_REACH = 4  # words between "no" and what it denies
_LIST = 10  # the same in a list that ends with "or"
_DENIALS = {
    "no", "not", "without", "never", "avoid", "avoids", "avoiding", "skip", "skips", "skipping",
    "minus", "sans", "lacks", "lacking", "nor", "neither", "zero", "omit", "omits", "hold",
    "cannot", "contains no", "free of", "free from", "instead of", "rather than",
}  # fmt: skip
_ABSENCES = {"without", "avoid", "avoids", "avoiding", "free of", "free from"}  # of a whole list
_NO_DENIAL = {"more", "less", "only", "just", "but", "need", "matter", "longer", "doubt", "far"}
_STOPS = {"with", "but", "so", "since", "while", "yet", "though", "then", "because", "until", "as"}
_ALIKE = {"like", "coloured", "colored", "shaped", "scented", "sized"}


class Tokens(NamedTuple):
    """The words of a text, in lower case without accents, and what follows each up to the next."""

    words: tuple[str, ...]
    gaps: tuple[str, ...]


class Mentions(NamedTuple):
    """Whether a text names a phrase as there, and as not there."""

    present: bool
    absent: bool


class Meaning(NamedTuple):
    """What a phrase stands for, as it is called in a message."""

    name: str
    sort: str  # "kind", "diet", "quality", or "word": one that is not known
    without: tuple[str, ...] = ()  # of a diet: the kinds that it leaves out
    fitting: tuple[str, ...] = ()  # of a diet: what says that something fits it


@lru_cache(maxsize=4096)
def tokens(text: str) -> Tokens:
    """Return the words of a text in lower case and without accents, and the gaps after them.

    A text as long as a chapter is judged by its beginning: a page waits for this.
    """
    text = text[:LONGEST].replace("\u2019", "'")
    if not text.isascii():  # one by one: the marks of a letter are sorted, in quadratic time
        apart = chain.from_iterable(unicodedata.normalize("NFKD", c) for c in text)
        text = "".join(c for c in apart if not unicodedata.combining(c))
    plain = text.lower()[:LONGEST]  # a character may stand for many
    matches = list(_WORD.finditer(plain))
    ends = [match.start() for match in matches[1:]] + [len(plain)] * bool(matches)
    gaps = tuple(plain[match.end() : end] for match, end in zip(matches, ends, strict=True))
    return Tokens(tuple(match.group() for match in matches), gaps)


@lru_cache(maxsize=65536)
def forms(word: str) -> frozenset[str]:
    """Return a word and what its singular may be; two words are the same if they share a form."""
    word = word.removesuffix("'s")
    result = {word}
    if word.endswith("ies") and len(word) > 4:
        result |= {word[:-3] + "y", word[:-1]}
    elif word.endswith("ves") and len(word) > 4:
        result |= {word[:-3] + "f", word[:-1]}
    elif word.endswith(("ches", "shes", "sses", "xes", "oes")):
        result.add(word[:-2])
    if word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        result.add(word[:-1])
    return frozenset(result)


def same(one: str, other: str) -> bool:
    """Whether two words are one but for the plural."""
    return one == other or not forms(one).isdisjoint(forms(other))


@lru_cache(maxsize=4096)
def meaning(phrase: str) -> Meaning:
    """Return what a phrase stands for by itself; a word that is not known stands for itself."""
    words = tokens(phrase).words
    return knowledge().names.get(_key(words)) or Meaning(" ".join(words), "word")


@lru_cache(maxsize=4096)
def meanings(phrase: str) -> tuple[Meaning, ...]:
    """Return what is known of a phrase, longest names first; else the phrase as it is."""
    whole = meaning(phrase)
    if whole.sort != "word":
        return (whole,)
    words, result, start = tokens(phrase).words, list[Meaning](), 0
    while start < len(words):
        for end in range(min(len(words), start + 3), start, -1):
            name = knowledge().names.get(_key(words[start:end]))
            if name is not None or end == start + 1:
                result.append(name or Meaning(words[start], "word"))
                start = end
                break
    return tuple(result)


def mentions(text: str, phrase: str) -> Mentions:
    """Return whether a text names a phrase, or anything that belongs to it.

    Of a phrase of several words ("smoked fish") the text must name each.
    """
    parts = [_mentions(text, part.name) for part in meanings(phrase)]
    return Mentions(all(p.present for p in parts), any(p.absent for p in parts))


class Cues(NamedTuple):
    """Words by which a person says what they want; `words.toml` explains them."""

    none: frozenset[str]
    less: frozenset[str]
    soft: frozenset[str]
    lack: frozenset[str]
    indifferent: frozenset[str]
    allowed: frozenset[str]
    filling: frozenset[str]


class Knowledge(NamedTuple):
    """What `words.toml` says."""

    kinds: dict[str, list[str]]  # what belongs to each
    diets: dict[str, Meaning]
    qualities: dict[str, list[str]]
    opposites: dict[str, str]  # of which there is less where there is more of a quality
    before: dict[str, list[tuple[str, ...]]]  # what makes a word harmless
    after: dict[str, list[tuple[str, ...]]]
    names: dict[str, Meaning]
    common: frozenset[str]  # words that say too little to be a wish by themselves
    cues: Cues
    fitting_words: frozenset[str]


@cache
def knowledge() -> Knowledge:
    """Return what `words.toml` says."""
    data = tomllib.loads(FILE.read_text(encoding="utf-8"))
    diets = {
        name: Meaning(name, "diet", tuple(entry["without"]), tuple(entry["fitting"]))
        for name, entry in data["diets"].items()
    }
    names = {_key(tokens(name).words): Meaning(name, "kind") for name in data["kinds"]}
    for alias, kind in data["aliases"].items():
        names[_key(tokens(alias).words)] = Meaning(kind, "kind")
    for quality in data["qualities"]:
        names.setdefault(_key(tokens(quality).words), Meaning(quality, "quality"))
    for diet, entry in data["diets"].items():
        for name in (diet, *entry["names"]):
            names[_key(tokens(name).words)] = diets[diet]
    return Knowledge(
        data["kinds"],
        diets,
        data["qualities"],
        data["opposites"],
        _contexts(data["harmless_before"]),
        _contexts(data["harmless_after"]),
        names,
        frozenset(data["common"]["words"].split()),
        Cues(**{name: frozenset(line.split()) for name, line in data["cues"].items()}),
        frozenset(
            word for diet in diets.values() for item in diet.fitting for word in tokens(item).words
        ),
    )


def _contexts(table: Mapping[str, list[str]]) -> dict[str, list[tuple[str, ...]]]:
    """Return what stands beside words, by every form of the word."""
    index: dict[str, list[tuple[str, ...]]] = {}
    for word, items in table.items():
        for form in forms(word):
            index.setdefault(form, []).extend(tokens(item).words for item in items)
    return index


def _key(words: Iterable[str]) -> str:
    return " ".join(min(forms(word), key=len) for word in words)


@cache
def _expressions(name: str) -> dict[str, list[tuple[str, ...]]]:
    """Return all expressions that stand for a name, by the first word's shortest form."""
    index: dict[str, list[tuple[str, ...]]] = {}
    for item in dict.fromkeys(_members(name, set())):
        words = tokens(item).words
        for form in forms(words[0]):
            index.setdefault(form, []).append(words)
    return index


def _members(name: str, seen: set[str]) -> Iterator[str]:
    """Yield a name and all that belongs to it, however far down."""
    facts = knowledge()
    if name in seen:
        return
    seen.add(name)
    yield name
    if name in facts.diets:
        yield from facts.diets[name].fitting
    for item in facts.kinds.get(name, facts.qualities.get(name, []) if len(seen) == 1 else []):
        yield from _members(item, seen)


@lru_cache(maxsize=65536)
def _mentions(text: str, name: str) -> Mentions:
    line, positions, index = tokens(text), _positions(text), _expressions(name)
    places = (
        (at, words)
        for form in index
        if form in positions
        for at in positions[form]
        for words in index[form]
    )
    present = absent = False
    for start, expression in places:
        if not _stands(line, start, expression) or _is_harmless(line, start, expression, name):
            continue
        if _is_denied(line, start, start + len(expression)):
            absent = True
        else:
            present = True
        if present and absent:
            break
    return Mentions(present, absent)


@lru_cache(maxsize=1024)  # a text is asked about many names
def _positions(text: str) -> dict[str, list[int]]:
    """Return where each form of each word stands."""
    positions: dict[str, list[int]] = {}
    for start, word in enumerate(tokens(text).words):
        for form in forms(word):
            positions.setdefault(form, []).append(start)
    return positions


def _stands(line: Tokens, start: int, expression: tuple[str, ...]) -> bool:
    """Whether an expression stands in a text at a word, with blanks or hyphens inside."""
    words = line.words[start : start + len(expression)]
    gaps = line.gaps[start : start + len(expression) - 1]
    return _same_words(words, expression) and all(gap in (" ", "-", "\n") for gap in gaps)


def _is_harmless(line: Tokens, start: int, expression: tuple[str, ...], name: str) -> bool:
    """Whether the words around make it something else: oat milk, a vegan sausage."""
    end = start + len(expression)
    if end < len(line.words) and line.words[end] in _ALIKE and line.gaps[end - 1] in (" ", "-"):
        return True
    facts = knowledge()
    before, after = line.words[max(start - 2, 0) : start], line.words[end : end + 3]
    if before[-1:] == ("than",) or before in (("than", "a"), ("than", "an")):
        return True  # it is compared with something else
    return (
        any(_same_words(before[-len(c) :], c) for c in _beside(facts.before, line.words[start]))
        or any(_same_words(after[: len(c)], c) for c in _beside(facts.after, line.words[end - 1]))
        or _fits_a_diet(line, start, expression, name)
    )


def _beside(table: Mapping[str, list[tuple[str, ...]]], word: str) -> Iterator[tuple[str, ...]]:
    return (context for form in forms(word) for context in table.get(form, ()))


def _same_words(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    return len(some) == len(others) and all(map(same, some, others))


def _fits_a_diet(line: Tokens, start: int, expression: tuple[str, ...], name: str) -> bool:
    """Whether the one or two words before say that it is made without this: vegan, plant-based."""
    facts, item = knowledge(), " ".join(expression)
    if facts.fitting_words.isdisjoint(line.words[max(start - 4, 0) : start]):
        return False
    return any(
        _stands(line, start - len(words) - gap, words)
        for diet in facts.diets.values()
        if any(
            item in _names_below(kind)
            and (name in _names_below(kind) or kind in _names_below(name))
            for kind in diet.without
        )
        for words in (tokens(text).words for text in diet.fitting)
        for gap in (0, 1)
        if start - len(words) - gap >= 0
    )


@cache
def _names_below(kind: str) -> frozenset[str]:
    return frozenset(_members(kind, set()))


def _is_denied(line: Tokens, start: int, end: int) -> bool:
    """Whether a text says that what stands at a place is not there."""
    following = line.words[end : end + 2]
    if following[:1] in (("free",), ("less",)) and line.gaps[end - 1] in (" ", "-"):
        return following[1:] not in (("range",), ("of",))
    return _denial_before(line, start, end)


def _denial_before(line: Tokens, start: int, end: int) -> bool:
    """Whether "no" or "without" stands before a place, and reaches it."""
    listed = any(word in ("or", "nor") for word in line.words[end : end + 3])
    joined = False
    for steps, k in enumerate(range(start - 1, -1, -1)):
        gap, word, pair = line.gaps[k].strip(), line.words[k], " ".join(line.words[k : k + 2])
        apart = gap not in ("", "-", "'", '"') and not (gap == "," and listed)
        if apart or word in _STOPS or steps > (_LIST if listed else _REACH):
            return False
        if word.endswith("n't") or word in _DENIALS or pair in _DENIALS:
            reaches = not joined or word in _ABSENCES or pair in _ABSENCES
            return reaches and line.words[k + 1] not in _NO_DENIAL
        listed = listed or word in ("or", "nor")
        joined = joined or word == "and"
    return False
