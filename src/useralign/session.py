"""A session: ask which of two is better, take the answer, until the best one is known.

    while (pair := session.ask()) is not None:
        session.tell(pair.first)
    session.best

A session is a pool, a method, a seed and the list of answers. Everything else, from the next pair
to the reason for stopping, is computed from those four; so saving is writing the list, and
resuming, undoing, or going on with a larger pool is replaying it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self, SupportsIndex

import numpy as np

from useralign.answers import (
    Answer,
    Comparison,
    answer_to,
    order_of,
    read_answer,
    read_indices,
    remark,
    winner_of,
)
from useralign.checks import is_finite, whole
from useralign.errors import FeedbackError, FileFormatError, OptionError, SessionStateError
from useralign.files import read_json, write_json
from useralign.geometry import ZERO
from useralign.methods import Confidence, Decision, Method, Run, method_for
from useralign.pool import Pool
from useralign.presets import few

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from useralign.models import Generator
    from useralign.pool import Candidate

FORMAT = "useralign-session/1"
LIMIT = 199  # the paper's cap on steps, for pools of up to a quarter of that many candidates
MOST_PER_SCREEN = 9


class Session:
    """An interaction with one person over one pool.

    Parameters
    ----------
    pool : Pool
    method : str or Method
        A registered name (`useralign.list_methods()` lists them) or an object.
    epsilon : float or None
        Stop when the bound is at most this, between 0 and S. None runs for the whole budget,
        while there is a pair left to ask.
    budget : int, optional
        Stop after this many answers.
    seed : int or None
        All randomness comes from it. None draws one, which `session.seed` has.
    limit : int, optional
        Stop after this many answers in any case; when not given 199, four times the pool, or the
        budget, whichever is most.
    per_screen : int
        How many candidates a comparison has: 2 to 9, while so many are worth asking about.
    **options
        For the method, when it is given by name: `reask=`, `norm_bound=`, `delta=`, `utilities=`.

    Examples
    --------
    >>> import useralign as ua
    >>> pool = ua.Pool("Which?", ["plain", "hot", "sweet"], [[0, 0], [1, 0], [0, 1]])
    >>> session = ua.Session(pool)
    >>> while (pair := session.ask()) is not None:
    ...     session.tell(pair.first if pair.first.text == "hot" else pair.second)
    >>> session.best.text
    'hot'
    """

    def __init__(
        self,
        pool: Pool,
        method: str | Method = "useralign",
        epsilon: float | None = 0.0,
        budget: int | None = None,
        seed: int | None = 0,
        *,
        limit: int | None = None,
        per_screen: int = 2,
        **options: Any,
    ) -> None:
        self._answers: list[Answer] = options.pop("answers", [])  # those that `resume` replays
        if "shown" in options:  # the name that per_screen had before
            per_screen = _checked_count("shown", options.pop("shown"))
        if not isinstance(pool, Pool):
            raise OptionError(f"pool must be a useralign.Pool, got {type(pool).__name__}")
        self.pool = pool
        self.method = method_for(method, **options)
        self.epsilon, self.budget, self.per_screen = check_options(
            self.method,
            epsilon=epsilon,
            budget=budget,
            seed=seed,
            limit=limit,
            per_screen=per_screen,
        )
        self.limit = self._usual_limit() if limit is None else int(limit)
        self.seed = secrets.randbits(32) if seed is None else int(seed)
        self._comparison: Comparison | None = None  # the one that waits for its answer
        self._resumed: tuple[int, ...] = ()  # the one that a saved session waited with
        self._decision: Decision | None = None
        self._stopped = False
        self._restart()

    @classmethod
    def few(cls, pool: Pool, seed: int | None = 0, **overrides: Any) -> Self:
        """Start a session for a person in a hurry: a few screens of a few candidates each.

        The method `frugal` asks until it is sure enough that its favourite is among the best
        three, or of less than 15 candidates the best fifth, and at most 5 screens; `go_on` asks
        more. A screen has 4 short texts, 3 longer ones, 2 long ones or 9 pictures, by what the pool
        has (`useralign.presets`).

        Parameters
        ----------
        pool : Pool
        seed : int or None
        **overrides
            Options of `Session` and of the method, in place of the preset's: `per_screen=6`.

        Examples
        --------
        >>> import useralign as ua
        >>> pool = ua.Pool("Which?", ["plain", "hot", "sweet"], [[0, 0], [1, 0], [0, 1]])
        >>> session = ua.Session.few(pool)
        >>> session.tell(session.ask().candidates[0])
        >>> session.cost
        1
        """
        return cls(pool, seed=seed, **{**few(pool), **overrides})

    def __repr__(self) -> str:
        state = self.stop_reason or "asking"
        return f"Session({self.method!r}, {self.pool!r}, {self.cost} answers, {state})"

    def ask(self) -> Comparison | None:
        """Return the next comparison, or None when the session is over.

        Calling it again without telling returns the same comparison.
        """
        if self._comparison is None and self.stop_reason is None:
            first, second, bound = self._decide()
            if second is not None:
                more = () if self.per_screen == 2 else self._run.several(self.per_screen)[2:]
                indices = (first, second, *more)
                if self._resumed and set(self._resumed) != set(indices):
                    indices = self._resumed
                one, other, *others = (self.pool[k] for k in indices)
                self._comparison = Comparison(one, other, len(self._answers), bound, tuple(others))
        return None if self._stopped else self._comparison

    def tell(self, winner: Candidate | SupportsIndex) -> None:
        """Answer the comparison that `ask` returned.

        Parameters
        ----------
        winner : Candidate or int
            The better of the two, or its index in the pool.

        Raises
        ------
        SessionStateError
            If nothing was asked. Nothing has changed.
        AnswerError
            If the winner is not one of the two. Nothing has changed.
        """
        comparison = self._pending("tell")
        self._take(answer_to(comparison, "choice", winner=winner_of(comparison, winner)))

    def rank(self, order: Iterable[Candidate | SupportsIndex]) -> None:
        """Answer with a ranking of all candidates of the comparison.

        Parameters
        ----------
        order : iterable of Candidate or int
            Each of them once, best first. Raises as `tell` does.
        """
        comparison = self._pending("rank")
        self._take(answer_to(comparison, "ranking", order=order_of(comparison, order)))

    def equal(self) -> None:
        """Answer that all are equally good; they are not asked about again."""
        self._take(answer_to(self._pending("equal"), "equal"))

    def neither(self) -> None:
        """Answer that none of the candidates will do.

        They count as worse than the pool's average, and are neither asked about nor recommended
        again while others remain.

        Raises
        ------
        FeedbackError
            If the method has no use for it, see `takes`. Nothing has changed.
        """
        self._take(answer_to(self._pending("neither"), "neither"))

    def skip(self) -> None:
        """Leave the comparison that `ask` returned unanswered; its pairs are not asked again."""
        self._take(answer_to(self._pending("skip"), "skip"))

    def remark(
        self,
        text: str,
        direction: ArrayLike | None = None,
        weight: float = 1.0,
        *,
        model: Generator | None = None,
    ) -> None:
        """Take in something the person said, at any time; it answers no comparison.

        A comparison that waits for its answer may be another after it.

        Parameters
        ----------
        text : str
            What was said, such as "less spicy".
        direction : array_like, shape (d,), optional
            Where it points in the space of `pool.raw_features`. Only the way counts, not its
            length, so that it is the same way in the normalised features. When not given, it is
            read from the text (`useralign.remarks`).
        weight : float
            How much it counts; 1 is as much as two clear answers.
        model : Generator, optional
            A language model that reads the text; without one, a rule for English does.

        Raises
        ------
        AnswerError
            If it is not usable, or (`FeedbackError`) the method has no use for remarks. Nothing
            has changed.
        ModelError
            If the text cannot be embedded, or the model gave nothing usable.
        """
        _check_use(self._run, "remark")
        if direction is None:
            from useralign.remarks import direction_of  # noqa: PLC0415 - the way up to the models

            direction = direction_of(text, self.pool, generator=model)
        self._take(remark(text, direction, weight, self.pool.dimension))

    def extend(
        self, candidates: Sequence[Candidate | str] | None, features: ArrayLike | None = None
    ) -> tuple[Candidate, ...]:
        """Add candidates to the session; the answers stay, and are replayed.

        Parameters
        ----------
        candidates : sequence of Candidate or str, or None
            As for `Pool`. One whose text and image the pool has already is left out.
        features : array_like, shape (n, d), optional
            One row per candidate, in the space of `pool.raw_features`; when not given, the pool's
            embedder makes them.

        Returns
        -------
        tuple of Candidate
            Those that were added, as the pool has them now.

        Raises
        ------
        PoolError
            If they do not fit the pool. Nothing has changed.
        """
        if features is None:
            features = self.pool.embed(candidates or [])
        before = self.pool, self.limit
        usual = self.limit == self._usual_limit()
        self.pool = self.pool.extended(candidates, features)
        self.limit = self._usual_limit() if usual else self.limit
        try:
            self._restart()
        except Exception:
            self.pool, self.limit = before
            self._restart()
            raise
        return tuple(self.pool[k] for k in range(len(before[0]), len(self.pool)))

    def stop(self) -> None:
        """End here: good enough. `undo` takes it back."""
        self._stopped = True

    def go_on(self, screens: int = 2) -> None:
        """Ask so many more comparisons from here, however sure the method is already.

        It takes back a stop. From now on only the number of answers, or nothing left that is worth
        asking, ends the session; it is saved and resumed like that.

        Parameters
        ----------
        screens : int
            At least 1.
        """
        more = whole("screens", screens, least=1)
        self._stopped = False
        self.epsilon, self.budget = None, self._cost + more
        self.limit = max(self.limit, self.budget)
        self._restart()

    def undo(self) -> Answer | None:
        """Take back the last answer, skip or remark, or a stop (returns None).

        Raises
        ------
        SessionStateError
            If there is nothing to take back.
        """
        if self._stopped:
            self._stopped = False
            return None
        if not self._answers:
            raise SessionStateError("nothing to undo: nothing was told yet")
        answer = self._answers.pop()
        self._restart()
        return answer

    @property
    def best(self) -> Candidate:
        """The candidate to recommend after the answers so far."""
        self._decide()
        return self.pool[self._run.best()]

    @property
    def bound(self) -> float:
        """B(t): how much better, at most, any other candidate can be than `best`."""
        return self._decide().bound

    @property
    def confidence(self) -> Confidence | None:
        """How likely `best` is among the best few; None if the method does not estimate it."""
        self._decide()
        return self._run.confidence()

    @property
    def takes(self) -> frozenset[str]:
        """The kinds of answer that the method can use, out of `useralign.answers.KINDS`."""
        return self._run.takes

    @property
    def cost(self) -> int:
        """How many comparisons the person has answered; skips and remarks do not count."""
        return self._cost

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers so far, skips and remarks included, in order."""
        return tuple(self._answers)

    @property
    def scores(self) -> NDArray[np.float64]:
        """The estimated utility of every candidate, shape (K,)."""
        self._decide()
        return self._run.scores()

    @property
    def viable(self) -> tuple[Candidate, ...]:
        """The candidates that may still be the best, `best` among them."""
        self._decide()
        return tuple(self.pool[int(k)] for k in self._run.possible().nonzero()[0])

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to ask."""
        return self.stop_reason is not None

    @property
    def stop_reason(self) -> str | None:
        """Why the session is over, or None while it is not.

        `"stopped"` by the person, `"bound"` at most epsilon, `"confident"` enough by the
        method's own rule, `"budget"` used up, `"limit"` reached, or `"exhausted"`: nothing is
        left that is worth asking.
        """
        if self._stopped:
            return "stopped"
        decision = self._decide()
        certified = decision.bound <= (self.epsilon or 0.0) + ZERO * self.method.norm_bound
        if self.epsilon is not None and certified:
            return "bound"
        if self.epsilon is not None and self._run.satisfied():
            return "confident"
        if self.budget is not None and self._cost >= self.budget:
            return "budget"
        if decision.second is None:
            return "exhausted"
        return "limit" if self._cost >= self.limit else None

    def to_dict(self) -> dict[str, Any]:
        """Return the session as plain data, to be kept beside its pool."""
        waiting = self._comparison
        return {
            "format": FORMAT,
            "pool": {"fingerprint": self.pool.fingerprint, "question": self.pool.question},
            "method": self.method.name,
            "options": self.method.options(),
            "epsilon": self.epsilon,
            "budget": self.budget,
            "limit": self.limit,
            "seed": self.seed,
            "answers": [answer.to_data() for answer in self._answers],
            "stopped": self._stopped,
            **({} if self.per_screen == 2 else {"shown": self.per_screen}),
            **({"asked": [c.index for c in waiting.candidates]} if waiting else {}),
        }

    @classmethod
    def from_dict(
        cls, pool: Pool, state: Mapping[str, Any], *, method: Method | None = None
    ) -> Session:
        """Rebuild a session by replaying its answers.

        Parameters
        ----------
        pool : Pool
            The pool it was held over.
        state : mapping
            What `to_dict` returned. A comparison that waited for its answer is asked again as it
            was, even by a version of the method that would ask something else.
        method : Method, optional
            The method object, for one that is not registered by name.

        Raises
        ------
        FileFormatError
            If the state is damaged or belongs to another pool.
        """
        _check_state(pool, state)
        return cls.resume(pool, state, method=method)

    @classmethod
    def resume(
        cls, pool: Pool, state: Mapping[str, Any], *, method: Method | None = None
    ) -> Session:
        """Rebuild a session as `from_dict` does, from a state whose pool is known to be this one.

        What tells a file's format and pool (`"format"`, `"pool"`) is not needed.
        """
        method = method or method_for(state["method"], **state["options"])
        options = {key: state[key] for key in ("epsilon", "budget", "seed", "limit")}
        answers = [read_answer(item, *pool.features.shape) for item in state["answers"]]
        session = cls(pool, method, **options, per_screen=state.get("shown", 2), answers=answers)
        session._stopped = state.get("stopped") is True
        session._resumed = read_indices(state.get("asked", []), len(pool))
        return session

    def save(self, path: str | Path) -> Path:
        """Write the session to a JSON file and return its path; never leaves half a file."""
        return write_json(path, self.to_dict())

    @classmethod
    def load(cls, path: str | Path, pool: Pool) -> Session:
        """Read a session that `save` wrote."""
        try:
            return cls.from_dict(pool, read_json(path))
        except FileFormatError as error:
            raise FileFormatError(f"{path}: {error}") from error

    def _restart(self) -> None:
        """Replay the answers so far into a new run of the method."""
        self._run = self.method.start(
            self.pool.features, self.seed, fixed_budget=self.epsilon is None
        )
        for answer in self._answers:
            _teach(self._run, answer)
        self._cost = sum(answer.counts for answer in self._answers)
        self._decision = self._comparison = None
        self._resumed = ()

    def _decide(self) -> Decision:
        if self._decision is None:
            self._decision = self._run.decide()
        return self._decision

    def _take(self, answer: Answer) -> None:
        _teach(self._run, answer)
        self._answers.append(answer)
        self._cost += answer.counts
        self._decision = self._comparison = None
        self._resumed = ()

    def _usual_limit(self) -> int:
        return max(LIMIT, 4 * len(self.pool), self.budget or 0)

    def _pending(self, call: str) -> Comparison:
        if self._comparison is None or self._stopped:
            over = self.stop_reason
            why = f"the session is over ({over})" if over else f"call ask() before {call}()"
            raise SessionStateError(f"{call}() has no comparison to answer: {why}")
        return self._comparison


def _check_state(pool: Pool, state: Mapping[str, Any]) -> None:
    if not isinstance(state, Mapping) or state.get("format") != FORMAT:
        got = state.get("format") if isinstance(state, Mapping) else type(state).__name__
        raise FileFormatError(f"not a session of this version: expected {FORMAT!r}, got {got!r}")
    needed = ("pool", "method", "options", "epsilon", "budget", "limit", "seed", "answers")
    if missing := [key for key in needed if key not in state]:
        raise FileFormatError(f"the session's data are damaged: {missing[0]!r} is missing")
    kinds = {"pool": Mapping, "options": Mapping, "answers": list, "method": str}
    for key, kind in kinds.items():
        if not isinstance(state[key], kind):
            raise FileFormatError(f"the session's data are damaged: {key!r} is {state[key]!r:.60}")
    if state["pool"].get("fingerprint") != pool.fingerprint:
        raise FileFormatError(
            f"the session was held over another pool (question {state['pool'].get('question')!r}); "
            "load it with the pool that was saved beside it"
        )


def check_options(
    method: Method,
    *,
    epsilon: float | None = 0.0,
    budget: int | None = None,
    seed: int | None = 0,
    limit: int | None = None,
    per_screen: int = 2,
) -> tuple[float | None, int | None, int]:
    """Check what a session is to be started with, before there is a pool.

    Parameters are those of `Session`.

    Returns
    -------
    epsilon : float or None
    budget : int or None
    per_screen : int

    Raises
    ------
    OptionError
        If one is out of its range, or nothing would stop the session.
    """
    threshold = _checked_epsilon(epsilon, method.norm_bound)
    most = None if budget is None else whole("budget", budget, least=0)
    if limit is not None:
        whole("limit", limit, least=1)
    if seed is not None:
        whole("seed", seed, least=0)
    count = _checked_count("per_screen", per_screen)
    if method.asks and most is None and (epsilon is None or not method.stops):
        raise OptionError(
            f"method {method.name!r} with epsilon={epsilon} has nothing to stop it; "
            "give budget=, the number of questions"
        )
    return threshold, most, count


def _checked_count(name: str, value: object) -> int:
    count = whole(name, value, least=2)
    if count > MOST_PER_SCREEN:
        raise OptionError(f"{name} must be 2 to {MOST_PER_SCREEN}, got {value}")
    return count


def _checked_epsilon(epsilon: float | None, norm_bound: float) -> float | None:
    if epsilon is None:
        return None
    if not is_finite(epsilon) or not 0.0 <= epsilon <= norm_bound:
        raise OptionError(
            f"epsilon must be a number between 0 and S = {norm_bound:g}, or None to run for the "
            f"whole budget; got {epsilon!r}"
        )
    return float(epsilon)


def _teach(run: Run, answer: Answer) -> None:
    """Pass an answer to a run of a method; a replay does the same.

    Choices and rankings add every pair that they decide (`add_all`): the best over each other,
    or each over the next. What is said of a whole screen is said of every pair on it; what will
    not do is said of every candidate, and its pairs are not asked again even if all return.

    Raises
    ------
    FeedbackError
        If the run has no use for it. Nothing has changed.
    """
    run.add_all(
        [
            (winner, loser, winner) if answer.first != loser else (loser, winner, winner)
            for winner, loser in answer.wins
        ]
    )
    if answer.kind not in ("choice", "ranking"):
        _teach_rest(run, answer)


def _teach_rest(run: Run, answer: Answer) -> None:
    """Pass on an answer that does not say which candidate is better."""
    _check_use(run, answer.kind)
    if answer.kind == "remark":
        run.lean(_unit(answer.direction), answer.weight)
        return
    take = run.equal if answer.kind == "equal" else run.skip
    for first, second in combinations(answer.candidates, 2):
        take(first, second)
    if answer.kind == "neither":
        for candidate in answer.candidates:
            run.dislike(candidate)


def _check_use(run: Run, kind: str) -> None:
    if kind not in run.takes:
        raise FeedbackError(
            f"this method has no use for {kind!r}; it takes {', '.join(sorted(run.takes))}"
        )


def _unit(direction: tuple[float, ...]) -> NDArray[np.float64]:
    """Return a direction of raw features as one of normalised features: itself, of length 1.

    Normalising multiplies features by a common factor, or each row by its own, so a direction
    stays what it is; how far it reaches is the weight's business, not its length's.
    """
    row = np.array(direction, dtype=np.float64)
    row /= np.abs(row).max()  # so that no square over- or underflows
    return np.asarray(row / np.linalg.norm(row))
