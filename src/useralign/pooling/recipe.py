"""What a pool is made of: how many candidates, of which kinds, at which temperatures.

The defaults are the paper's (its appendix "Details about Pool Generation"): half of the candidates
from the question alone at temperature 0.5, half by interests that the model reasons about at
temperature 0.8 and answers at 0.5, and one baseline at temperature 0.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from useralign.checks import whole
from useralign.errors import OptionError
from useralign.pooling.parse import words
from useralign.pooling.prompts import CONCISE, SYSTEM

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from useralign.pool import Candidate

Kind = Literal["text", "image"]
Style = Literal["mixed", "unbiased", "given"]
Source = Literal["baseline", "unbiased", "interest", "given"]
SIZES: dict[str, int] = {"text": 20, "image": 40}
MAX_OVERLAP = 0.5
"""Two sentences of twenty words that differ in two places share this much."""
MAX_COSINE = {"text": 0.92, "image": 0.97}
"""With the default text embedder, candidates of one question in food64d and travel64d reach 0.88 at
most; three paraphrases tried had 0.93 to 0.97. The limit for pictures is not measured: those for
one prompt are taken to be closer by nature."""
_LEAST = {"size": 2, "answers_per_interest": 1, "seed": 0, "max_tokens": 1, "min_words": 1}
_LEAST_IF_SET = {"sentences": 1, "max_attempts": 1}
_LIMITS = ("max_attempts", "max_cost")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a pool is made of. Two equal recipes ask a model for exactly the same things.

    Parameters
    ----------
    kind : {"text", "image"}
    size : int, optional
        How many candidates, at least 2; 20 texts or 40 pictures when not given.
    style : {"mixed", "unbiased", "given"}
        `mixed`: half from the question alone, half one each for interests that the model reasons
        about. `unbiased`: all from the question alone. `given`: half from the question alone, half
        sampled at random from `answers_per_interest` answers to each of `interests`.
    interests : tuple of str
        For the style `given` only.
    answers_per_interest : int
        For the style `given` only.
    baseline : bool
        Whether to make the answer that win-rates are measured against.
    seed : int
        Where all the requests' seeds, and the sampling, start from.
    temperature, interest_temperature, baseline_temperature : float
        For the answers, the interests, and the baseline. Pictures have none.
    care : bool
        For small models, which repeat themselves and lose sight of the question: have the model
        list short ideas first, drop those that repeat another or suit the question least, and
        then have one answer written for each. For texts only. See `useralign.pooling.ideas`.
    min_p : float, optional
        Drop tokens less likely than this share of the likeliest one; for small models.
    system : str, optional
        The system prompt of answers; the default asks for two or three plain sentences.
    sentences : int, optional
        Cut answers to this many sentences.
    min_words : int
        Reject answers with fewer words: a bare name gives nothing to choose by.
    max_tokens : int
        For one answer.
    max_overlap, max_cosine : float
        From which share of common word triples, and from which cosine of features, on two
        candidates count as near-duplicates. The cosine is 0.92 for texts and 0.97 for pictures
        when not given.
    max_attempts : int, optional
        How many candidates may be asked for before a smaller pool is accepted; when not given, two
        re-samplings a candidate.
    max_cost : float, optional
        In US dollars. No call is begun that would exceed it if it cost as much as the dearest.
    image_size, image_quality : str
        As the image model names them.
    """

    kind: Kind = "text"
    size: int | None = None
    style: Style = "mixed"
    interests: tuple[str, ...] = ()
    answers_per_interest: int = 5
    baseline: bool = True
    seed: int = 0
    temperature: float = 0.5
    interest_temperature: float = 0.8
    baseline_temperature: float = 0.0
    care: bool = False
    min_p: float | None = None
    system: str = SYSTEM
    sentences: int | None = None
    min_words: int = 1
    max_tokens: int = 256
    max_overlap: float = MAX_OVERLAP
    max_cosine: float | None = None
    max_attempts: int | None = None
    max_cost: float | None = None
    image_size: str = "1024x1024"
    image_quality: str = "low"

    def __post_init__(self) -> None:
        _choice("kind", self.kind, get_args(Kind))
        _choice("style", self.style, get_args(Style))
        if self.size is None:
            self._set("size", SIZES[self.kind])
        if self.max_cosine is None:
            self._set("max_cosine", MAX_COSINE[self.kind])
        self._set("interests", _interests(self.interests))
        for name, least in (_LEAST | _LEAST_IF_SET).items():
            if name in _LEAST or getattr(self, name) is not None:
                self._set(name, whole(name, getattr(self, name), least))
        for name in ("temperature", "interest_temperature", "baseline_temperature"):
            _number(name, getattr(self, name), 0.0, 2.0)
        for name in ("max_overlap", "max_cosine", "min_p"):
            if name != "min_p" or self.min_p is not None:
                _number(name, getattr(self, name), 0.0, 1.0)
        if not isinstance(self.care, bool):
            raise OptionError(f"care must be True or False; got {self.care!r}")
        if self.max_cost is not None:
            _number("max_cost", self.max_cost, 0.0, math.inf)
        self._check_interests()

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_interests(self) -> None:
        if self.style != "given":
            if self.interests:
                raise OptionError(
                    f"interests are for style='given' only; got style={self.style!r} "
                    f"and {len(self.interests)} interests"
                )
            return
        have = len(self.interests) * self.answers_per_interest
        if have < self.by_interest:
            raise OptionError(
                f"style='given' samples {self.by_interest} answers, but {len(self.interests)} "
                f"interests with {self.answers_per_interest} answers each give only {have}; "
                "give more interests, raise answers_per_interest, or lower size"
            )

    @classmethod
    def concise(cls, **changes: Any) -> Recipe:
        """Return a recipe for small local models: one sentence that names one choice, and why.

        At temperature 0.5 a small model repeats itself; at 1.0 with a floor of `min_p` it varies
        and still makes sense. The changes are any of `Recipe`'s parameters.
        """
        settings: dict[str, Any] = {
            "temperature": 1.0,
            "min_p": 0.05,
            "system": CONCISE,
            "sentences": 1,
            "min_words": 8,
            "max_tokens": 96,
        }
        return cls(**(settings | changes))

    @property
    def count(self) -> int:
        """How many candidates the pool shall have."""
        return self.size or SIZES[self.kind]

    @property
    def nearest(self) -> float:
        """From which cosine on two candidates are near-duplicates."""
        return MAX_COSINE[self.kind] if self.max_cosine is None else self.max_cosine

    @property
    def by_interest(self) -> int:
        """How many of them are written for interests."""
        return 0 if self.style == "unbiased" else self.count // 2

    @property
    def with_care(self) -> bool:
        """Whether ideas come before answers."""
        return self.care and self.kind == "text"

    @property
    def attempts(self) -> int:
        """How many candidates may be asked for."""
        if self.max_attempts is not None:
            return self.max_attempts
        return 3 * self.count + len(self.interests) * self.answers_per_interest

    def identity(self) -> dict[str, Any]:
        """Return as plain data what makes it this recipe: all but the limits.

        A pool that stopped at a limit is resumed with the same recipe and a higher limit.
        """
        data = {k: v for k, v in asdict(self).items() if k not in _LIMITS}
        return data | {"interests": list(self.interests)}


class CandidateSpec(NamedTuple):
    """One candidate to ask a model for."""

    source: Source
    id: str
    interest: str | None = None
    idea: str | None = None  # what the answer is to suggest

    @property
    def role(self) -> str:
        """What it counts as in the usage."""
        return self.source if self.source in ("baseline", "unbiased") else "answers"


@dataclass
class SourceGroup:
    """Candidates of one source, as many as its quota.

    Specs are numbered in the order in which they are made, which depends on the replies alone. So a
    replay of the replies makes the same specs, with the same ids and seeds.
    """

    source: Source
    quota: int
    interests: Sequence[str | None] = (None,)  # what to ask for; None asks for the question alone
    each: int | None = None  # how many of each interest at first; else the quota in all
    count: int = 0

    def first(self) -> list[CandidateSpec]:
        """Return the specs to begin with."""
        if self.each is None:
            return self._specs(islice(cycle(self.interests), self.quota))
        return self._specs(interest for interest in self.interests for _ in range(self.each))

    def missing(self, candidates: Sequence[Candidate]) -> list[CandidateSpec]:
        """Return specs for what is missing; the interests least served come first."""
        served = Counter(c.interest for c in candidates if c.source == self.source)
        order = sorted(self.interests, key=lambda interest: served[interest])
        return self._specs(islice(cycle(order), max(0, self.quota - served.total())))

    def _specs(self, interests: Iterable[str | None]) -> list[CandidateSpec]:
        specs = [
            CandidateSpec(self.source, f"{self.source[0]}{number}", interest)
            for number, interest in enumerate(interests, start=self.count + 1)
        ]
        self.count += len(specs)
        return specs


def seed_of(seed: int, name: str) -> int:
    """Return the seed of one request: its own, and the same in every run of the recipe."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:4]) >> 1


def digest(data: Any) -> str:
    """Return a short hash of plain data."""
    canonical = json.dumps(data, sort_keys=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()[:24]


def question_key(question: str, kind: str) -> str:
    """Return a key that is the same for all ways to write a question: case, spaces, marks."""
    return digest([words(question), kind])[:12]


def pool_key(question: str, recipe: Recipe, model: str) -> str:
    """Return the key of the pool that a recipe and a model make for a question."""
    return f"{question_key(question, recipe.kind)}-{digest([recipe.identity(), model])[:12]}"


def _interests(texts: object) -> tuple[str, ...]:
    if isinstance(texts, str) or not isinstance(texts, (tuple, list)):
        raise OptionError(f"interests must be several texts, such as ('music',); got {texts!r}")
    if wrong := [item for item in texts if not isinstance(item, str) or not item.strip()]:
        raise OptionError(f"an interest must be a text that is not empty; got {wrong[0]!r}")
    tidy = tuple(" ".join(item.split()) for item in texts)
    if len({item.casefold() for item in tidy}) < len(tidy):
        raise OptionError(f"interests must differ from each other; got {list(tidy)}")
    return tidy


def _choice(name: str, value: object, expected: tuple[str, ...]) -> None:
    if value not in expected:
        raise OptionError(f"{name}={value!r} is not known; expected one of {', '.join(expected)}")


def _number(name: str, value: object, low: float, high: float) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not low <= value <= high:  # type: ignore[operator]
        raise OptionError(f"{name} must be a number from {low:g} to {high:g}; got {value!r}")
