"""Comparisons, the answers to them, and the form in which answers are saved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from useralign.checks import is_finite, is_whole, whole
from useralign.errors import AnswerError, FileFormatError
from useralign.pool import Candidate
from useralign.wishes.judge import WishJudgement, tidy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# What answers a screen or is said in words; then, what steers the session.
KINDS = (
    "choice", "ranking", "equal", "neither", "skip", "remark", "wish", "withdraw", "final", "go_on",
    "prove",
)  # fmt: skip
_NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
# What is saved of an answer that is about no comparison, by its kind.
_SAVED = {
    "remark": ("text", "direction", "weight"),
    "wish": ("text", "hidden", "favoured", "direction", "judged"),
    "withdraw": ("text",),
    "go_on": ("screens",),
    "prove": ("screens",),
}
COUNTED = ("choice", "ranking", "equal", "neither")  # those a person answered a screen with


@dataclass(frozen=True, slots=True)
class Comparison:
    """A question to a person: which of these candidates is best.

    Parameters
    ----------
    first, second : Candidate
    step : int
        How many answers, skips and remarks came before it.
    bound : float
        The bound before it is answered.
    others : tuple of Candidate
        The third to the ninth, where there are more than two.
    """

    first: Candidate
    second: Candidate
    step: int
    bound: float
    others: tuple[Candidate, ...] = ()

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """All of them; the first two are `first` and `second`."""
        return (self.first, self.second, *self.others)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of a person, with candidates as their indices in the pool.

    Parameters
    ----------
    first, second : int
        The first two candidates of the comparison; -1 where there is none, as for a remark.
    winner : int or None
        The best one; None unless the kind is `"choice"` or `"final"`.
    kind : str, optional
        One of `KINDS`: `"final"` for the candidate that the person takes in the end; `"go_on"` and
        `"prove"` for asking more. Without it, a winner makes a choice and none makes a skip.
    others : tuple of int
        The other candidates of the comparison.
    order : tuple of int
        Of a ranking: all of them, best first.
    text : str
        Of a remark or wish: what the person said; of a withdrawal: which wish it takes back.
    direction : tuple of float, length d
        Of a remark or wish: what that means, in the space of the pool's raw features. A wish may
        have none.
    weight : float
        Of a remark: how much it counts.
    screens : int
        Of `"go_on"` and `"prove"`: how many more screens were announced.
    hidden, favoured : tuple of int
        Of a wish: the candidates that it hides, and that it puts first.
    judged : int
        Of a wish: how many candidates the pool had when it was made; those that joined it later
        are judged by words when it is replayed.
    """

    first: int = -1
    second: int = -1
    winner: int | None = None
    kind: str = ""
    others: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    text: str = ""
    direction: tuple[float, ...] = ()
    weight: float = 1.0
    screens: int = 0
    hidden: tuple[int, ...] = ()
    favoured: tuple[int, ...] = ()
    judged: int = 0

    def __post_init__(self) -> None:
        if not self.kind:
            object.__setattr__(self, "kind", "skip" if self.winner is None else "choice")

    @property
    def candidates(self) -> tuple[int, ...]:
        """The candidates of the comparison; none for what is said in words."""
        return tuple(k for k in (self.first, self.second, *self.others) if k >= 0)

    @property
    def wins(self) -> tuple[tuple[int, int], ...]:
        """Every pair (better, worse) that follows from it: what methods learn from."""
        if self.kind in ("choice", "final") and self.winner is not None:
            return tuple((self.winner, k) for k in self.candidates if k != self.winner)
        return tuple(pairwise(self.order))

    @property
    def counts(self) -> bool:
        """Whether the person answered a screen with it; nothing else costs anything."""
        return self.kind in COUNTED

    def to_data(self) -> list[int | None] | dict[str, Any]:
        """Return its saved form: `[first, second, winner]` for a pair, else a small mapping."""
        if self.kind in ("choice", "skip") and not self.others:
            return [self.first, self.second, self.winner]
        if self.kind in _SAVED:
            values = {name: getattr(self, name) for name in _SAVED[self.kind]}
            lists = {name: list(v) for name, v in values.items() if isinstance(v, tuple)}
            return {"kind": self.kind, **values, **lists}
        data: dict[str, Any] = {"kind": self.kind, "shown": list(self.candidates)}
        if self.kind in ("choice", "final"):
            data["winner"] = self.winner
        elif self.kind == "ranking":
            data["order"] = list(self.order)
        return data


def answer_to(
    comparison: Comparison, kind: str, *, winner: int | None = None, order: tuple[int, ...] = ()
) -> Answer:
    """Build the answer to a comparison."""
    first, second, *others = (candidate.index for candidate in comparison.candidates)
    return Answer(first, second, winner, kind, tuple(others), order)


def remark(text: str, direction: ArrayLike, weight: float, dimension: int) -> Answer:
    """Build a remark, or raise `AnswerError` if it is not usable.

    `direction` has `dimension` numbers in the space of the pool's raw features; its length does not
    matter.
    """
    if not isinstance(text, str):
        raise AnswerError(f"a remark must be a text, got {type(text).__name__}")
    if not is_finite(weight) or not 0.0 < weight <= 100.0:
        raise AnswerError(f"a remark's weight must be above 0 and at most 100, got {weight!r:.60}")
    try:
        row = np.asarray(direction, dtype=np.float64)
    except (TypeError, ValueError):
        row = np.zeros(0)
    if row.shape != (dimension,) or not np.isfinite(row).all() or not row.any():
        raise AnswerError(
            f"a remark's direction must be {dimension} finite numbers, one a feature of the pool "
            f"and not all zero; got {direction!r:.60}"
        )
    numbers = tuple(row.tolist())
    return Answer(kind="remark", text=text, direction=numbers, weight=float(weight))


def final(winner: int, others: Iterable[int]) -> Answer:
    """Build the answer that the person takes a candidate in the end, of those shown with it."""
    first, second, *rest = (*dict.fromkeys((winner, *others)), -1, -1)
    return Answer(first, second, winner, "final", tuple(k for k in rest if k >= 0))


def wish(text: str, judgement: WishJudgement, judged: int) -> Answer:
    """Build a wish from what it says of so many candidates."""
    return Answer(kind="wish", text=text, judged=judged, **judgement._asdict())


def winner_of(comparison: Comparison, winner: object) -> int:
    """Return the winner's index in the pool.

    It is the candidate as the pool has it or as it was before, or its index; raises `AnswerError`
    if it is none of the comparison's.
    """
    for candidate in comparison.candidates:
        if isinstance(winner, Candidate):
            same = winner == candidate or replace(winner, index=candidate.index) == candidate
            if same and winner.index in (candidate.index, -1):
                return candidate.index
        elif is_whole(winner) and winner == candidate.index:
            return candidate.index
    number = _NUMBERS[len(comparison.candidates)]
    raise AnswerError(
        f"the winner must be one of the {number} candidates asked about, {_indices(comparison)} "
        f"(or the Candidate itself); got {_short(winner)}"
    )


def order_of(comparison: Comparison, order: object) -> tuple[int, ...]:
    """Return a ranking, best first, as indices in the pool.

    Raises `AnswerError` if a candidate of the comparison is missing or there twice, or another is.
    """
    if isinstance(order, str) or not isinstance(order, Iterable):
        raise AnswerError(f"a ranking must be a list, best first; got {_short(order)}")
    indices = tuple(winner_of(comparison, item) for item in order)
    if len(indices) != len(comparison.candidates) or len(set(indices)) != len(indices):
        raise AnswerError(
            f"a ranking must have each of the candidates asked about once, {_indices(comparison)}, "
            f"best first; got {list(indices)}"
        )
    return indices


def losers_to(winner: int, answers: Sequence[Answer]) -> list[int]:
    """Return the candidates that one was preferred to, each once, the latest first."""
    wins = [pair for answer in reversed(answers) for pair in answer.wins]
    return list(dict.fromkeys(worse for better, worse in wins if better == winner))


def _indices(comparison: Comparison) -> str:
    *most, last = (str(candidate.index) for candidate in comparison.candidates)
    return f"{', '.join(most)} or {last}"


def _short(value: object) -> str:
    if isinstance(value, Candidate):
        return f"candidate {value.index} ({value.text[:40]!r})"
    return repr(value)[:60]


def read_indices(data: Any, count: int) -> tuple[int, ...]:
    """Parse the indices of a comparison of `count` candidates; none, or two or more.

    Raises `FileFormatError` if it is something else.
    """
    try:
        indices = tuple(data)
        inside = all(is_whole(k) and 0 <= k < count for k in indices)
        if inside and len(set(indices)) == len(indices) != 1:
            return indices
    except TypeError:
        pass
    raise FileFormatError(
        f"the session's data are damaged: {data!r:.60} is no comparison of {count} candidates"
    )


def read_answer(item: Any, count: int, dimension: int) -> Answer:
    """Parse an answer from its saved form, over `count` candidates with `dimension` features.

    Raises `FileFormatError` if it is something else.
    """
    try:
        if isinstance(item, Mapping):
            answer = _read_mapping(item, dimension)
        else:
            first, second, winner = item
            answer = Answer(first, second, winner)
        if answer.kind in _SAVED or _fits(answer, range(count)):
            return answer
    except (TypeError, ValueError, KeyError):
        pass
    raise FileFormatError(
        f"the session's data are damaged: {item!r:.200} is not an answer, such as [first, second, "
        f"winner], over {count} candidates"
    )


def _read_mapping(item: Mapping[str, Any], dimension: int) -> Answer:
    kind = item["kind"]
    if kind == "remark":
        return remark(item["text"], item["direction"], item["weight"], dimension)
    if kind in ("go_on", "prove"):
        return Answer(kind=kind, screens=whole("screens", item["screens"], least=0))
    if kind == "final":
        return final(item["winner"], item["shown"])
    if kind == "wish":
        return _read_wish(item, dimension)
    if kind == "withdraw":
        return Answer(kind=kind, text=tidy(item["text"]))
    first, second, *others = item["shown"]
    winner = item["winner"] if kind == "choice" else None
    order = tuple(item["order"]) if kind == "ranking" else ()
    return Answer(first, second, winner, kind, tuple(others), order)


def _read_wish(item: Mapping[str, Any], dimension: int) -> Answer:
    judged, row = item["judged"], item["direction"]
    hidden, favoured = tuple(item["hidden"]), tuple(item["favoured"])
    if not is_whole(judged) or not all(
        is_whole(k) and 0 <= k < judged for k in (*hidden, *favoured)
    ):
        raise ValueError("a wish is about candidates of the pool")
    if row:
        row = remark("", row, 1.0, dimension).direction  # the same checks
    return wish(tidy(item["text"]), WishJudgement(hidden, favoured, tuple(row)), judged)


def _fits(answer: Answer, indices: Sequence[int]) -> bool:
    """Whether an answer that was read has what its kind needs, of different candidates."""
    candidates = answer.candidates
    if answer.kind != "final" and len(candidates) < 2 + len(answer.others):
        return False
    inside = all(is_whole(k) and k in indices for k in (*candidates, *answer.order))
    if not inside or len(set(candidates)) < len(candidates) or answer.kind not in KINDS:
        return False
    if answer.kind in ("choice", "final"):
        return is_whole(answer.winner) and answer.winner in candidates
    return answer.kind != "ranking" or sorted(answer.order) == sorted(candidates)
