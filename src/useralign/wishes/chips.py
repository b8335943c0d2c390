"""Wishes to propose: what some candidates of a pool have and others do not."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from useralign.checks import whole
from useralign.wishes import words
from useralign.wishes.judge import by_words, phrases_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from useralign.pool import Candidate, Pool

_LEAST = 2  # candidates that a proposed wish must concern, and leave alone
_LONG = 28  # characters of an interest or a word that still fits a chip
_SAMPLE = 500  # candidates that are looked at in a large pool
_DIETS = ("vegetarian", "vegan")
_BANS = ("no meat", "no fish", "no dairy", "no nuts", "no gluten", "no flights")


class Chip(NamedTuple):
    """A wish to propose: what `Session.wish` takes, and its effect by words alone, as indices."""

    text: str
    hidden: frozenset[int]
    favoured: frozenset[int]

    @property
    def hides(self) -> int:
        """How many candidates it would hide."""
        return len(self.hidden)

    @property
    def favours(self) -> int:
        """How many candidates it would put first."""
        return len(self.favoured)


def chips(pool: Pool, most: int = 12) -> list[Chip]:
    """Return wishes that tell the candidates of a pool apart, the most telling first.

    They are made of what recurs in the texts: diets and things to leave out, qualities such as
    "spicy", words that several candidates share; and of the interests that candidates were written
    for. One is proposed only if it concerns at least two candidates, or is an interest, and leaves
    at least two as they are. There are at most `most`.

    Examples
    --------
    >>> import useralign as ua
    >>> texts = ["Beef stew", "Duck pie", "Hot chilli tofu", "Pea soup", "Spicy noodles"]
    >>> pool = ua.Pool("What shall I cook?", texts, [[0], [1], [2], [3], [4]])
    >>> [chip.text for chip in chips(pool)]
    ['vegetarian', 'spicy']
    """
    count = whole("most", most, least=0)
    sample = tuple(pool[k] for k in range(min(len(pool), _SAMPLE)))
    if not any(candidate.text.strip() for candidate in sample):
        return []
    return list(_chips(pool.question, sample, count))


@lru_cache(maxsize=128)  # a page asks for the same again and again
def _chips(question: str, sample: tuple[Candidate, ...], count: int) -> tuple[Chip, ...]:
    """Return up to `count` chips, of all sorts in turn; what hides comes first.

    Diets and qualities are for what is read: a picture's caption tells neither.
    """
    sources = [_interests(sample), _shared(question, sample)]
    if not sample[0].is_picture:
        sources = [islice(_bans(sample), 3), _qualities(sample), *sources]
    mixed = zip_longest(*sources)
    result: dict[str, Chip] = {}
    for chip in filter(None, chain.from_iterable(mixed)):
        if len(result) == count:
            break
        result.setdefault(chip.text.casefold(), chip)
    return tuple(sorted(result.values(), key=lambda chip: not chip.hidden))


def _bans(sample: Sequence[Candidate]) -> Iterator[Chip]:
    """Yield diets and things to leave out; of two that hide the same, the first."""
    seen: set[frozenset[int]] = set()
    for text in (*_DIETS, *_BANS):
        chip = _chip(text, sample)
        if _LEAST <= chip.hides <= len(sample) - _LEAST and chip.hidden not in seen:
            seen.add(chip.hidden)
            yield chip


def _qualities(sample: Sequence[Candidate]) -> Iterator[Chip]:
    """Yield qualities, first those that concern about a quarter of the candidates."""
    options = [_chip(name, sample) for name in words.knowledge().qualities]
    least, most = max(_LEAST, len(sample) // 10), len(sample) // 2
    yield from sorted(
        (chip for chip in options if least <= chip.favours <= most),
        key=lambda chip: abs(chip.favours - len(sample) / 4),
    )


def _interests(sample: Sequence[Candidate]) -> Iterator[Chip]:
    """Yield interests that fit a chip, first those of the most candidates."""
    counts = Counter(candidate.interest for candidate in sample)
    for interest, _ in counts.most_common():
        if interest and len(interest) <= _LONG:
            yield _chip(interest, sample)


def _shared(question: str, sample: Sequence[Candidate]) -> Iterator[Chip]:
    """Yield words that several candidates share and most lack, but not those of the question."""
    counts: Counter[str] = Counter()
    for candidate in sample:
        line = words.tokens(candidate.text).words
        counts.update({min(words.forms(word), key=len) for word in line})
    own = {form for word in words.tokens(question).words for form in words.forms(word)}
    facts = words.knowledge()
    usual = {*facts.kinds, *facts.qualities, *facts.common, *own}
    for word, number in counts.most_common():
        fits = number <= len(sample) // 2 and 3 < len(word) <= _LONG
        if fits and words.forms(word).isdisjoint(usual):
            chip = _chip(word, sample)
            if chip.favours >= max(_LEAST + 1, len(sample) // 10):
                yield chip


def _chip(text: str, sample: Sequence[Candidate]) -> Chip:
    """Return a wish as a chip."""
    hidden, favoured = by_words(phrases_of(text, sample), sample, range(len(sample)))
    return Chip(text, frozenset(hidden), frozenset(favoured))
