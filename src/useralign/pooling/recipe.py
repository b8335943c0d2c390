"""How a pool is to be made: how many candidates, of which kinds, at which temperatures.

The defaults are the paper's (its appendix "Details about Pool Generation"): half of the candidates
from the question alone at temperature 0.5, half by interests that the model reasons about at
temperature 0.8 and answers at 0.5, and one baseline at temperature 0.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from useralign.errors import OptionError
from useralign.pooling.duplicates import MAX_COSINE, MAX_OVERLAP
from useralign.pooling.prompts import CONCISE, SYSTEM

Kind = Literal["text", "image"]
Style = Literal["mixed", "unbiased", "given"]
SIZES: dict[str, int] = {"text": 20, "image": 40}
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
            object.__setattr__(self, "size", SIZES[self.kind])
        if self.max_cosine is None:
            object.__setattr__(self, "max_cosine", MAX_COSINE[self.kind])
        object.__setattr__(self, "interests", _interests(self.interests))
        for name, low in (("size", 2), ("answers_per_interest", 1), ("seed", 0), ("max_tokens", 1)):
            _whole(name, getattr(self, name), low)
        _whole("min_words", self.min_words, 1)
        for name in ("sentences", "max_attempts"):
            if getattr(self, name) is not None:
                _whole(name, getattr(self, name), 1)
        for name in ("temperature", "interest_temperature", "baseline_temperature"):
            _number(name, getattr(self, name), 0.0, 2.0)
        for name in ("max_overlap", "max_cosine", "min_p"):
            if name != "min_p" or self.min_p is not None:
                _number(name, getattr(self, name), 0.0, 1.0)
        _switch("care", self.care)
        if self.max_cost is not None:
            _number("max_cost", self.max_cost, 0.0, math.inf)
        self._check_interests()

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
        and still makes sense.

        Parameters
        ----------
        **changes
            Any of `Recipe`'s parameters.
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
        given = len(self.interests) * self.answers_per_interest
        return 3 * self.count + given

    def identity(self) -> dict[str, Any]:
        """Return as plain data what makes it this recipe: all but the limits.

        A pool that stopped at a limit is resumed with the same recipe and a higher limit.
        """
        data = {k: v for k, v in asdict(self).items() if k not in _LIMITS}
        return data | {"interests": list(self.interests)}


def _interests(given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, (tuple, list)):
        raise OptionError(f"interests must be several texts, such as ('music',); got {given!r}")
    if wrong := [item for item in given if not isinstance(item, str) or not item.strip()]:
        raise OptionError(f"an interest must be a text that is not empty; got {wrong[0]!r}")
    tidy = tuple(" ".join(item.split()) for item in given)
    if len({item.casefold() for item in tidy}) < len(tidy):
        raise OptionError(f"interests must differ from each other; got {list(tidy)}")
    return tidy


def _choice(name: str, value: object, expected: tuple[str, ...]) -> None:
    if value not in expected:
        raise OptionError(f"{name}={value!r} is not known; expected one of {', '.join(expected)}")


def _switch(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise OptionError(f"{name} must be True or False; got {value!r}")


def _whole(name: str, value: object, low: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < low:
        raise OptionError(f"{name} must be a whole number of at least {low}; got {value!r}")


def _number(name: str, value: object, low: float, high: float) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not low <= value <= high:  # type: ignore[operator]
        raise OptionError(f"{name} must be a number from {low:g} to {high:g}; got {value!r}")
