"""A session: ask which of two, be told, until the answer that fits is known.

    while (pair := session.ask()) is not None:
        session.tell(pair.first)
    session.best

A session is the list of what it was told. Everything else is computed from that, the pool, the
method and the seed; so saving is writing the list, and resuming, or undoing, is replaying it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, SupportsIndex

from useralign.answers import Answer, Comparison, read_answer, winner_of
from useralign.checks import is_finite, whole
from useralign.errors import FileFormatError, OptionError, SessionStateError
from useralign.files import read_json, write_json
from useralign.geometry import ZERO
from useralign.methods import Decision, Method, method_for
from useralign.pool import Pool

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from useralign.pool import Candidate

FORMAT = "useralign-session/1"
LIMIT = 199  # the paper's cap on steps, for pools of up to a quarter of that many candidates


class Session:
    """An interaction with one person over one pool.

    Parameters
    ----------
    pool : Pool
    method : str or Method
        A registered name (`useralign.methods()` lists them) or an object.
    epsilon : float or None
        Stop when the bound is at most this, between 0 and S. None runs for the whole budget,
        while there is a pair left to ask.
    budget : int, optional
        Stop after this many answers.
    seed : int or None
        All randomness comes from it. None draws one; `session.seed` tells which.
    limit : int, optional
        Stop after this many answers in any case; when not given 199, four times the pool, or the
        budget, whichever is most.
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
        **options: Any,
    ) -> None:
        if not isinstance(pool, Pool):
            raise OptionError(f"pool must be a useralign.Pool, got {type(pool).__name__}")
        self.pool = pool
        self.method = method_for(method, **options)
        self.epsilon = _checked_epsilon(epsilon, self.method.norm_bound)
        self.budget = None if budget is None else whole("budget", budget, least=0)
        usual = max(LIMIT, 4 * len(pool), self.budget or 0)
        self.limit = usual if limit is None else whole("limit", limit, least=1)
        if self.method.asks and self.budget is None and (epsilon is None or not self.method.stops):
            raise OptionError(
                f"method {self.method.name!r} with epsilon={epsilon} has nothing to stop it; "
                "give budget=, the number of questions"
            )
        self.seed = secrets.randbits(32) if seed is None else whole("seed", seed, least=0)
        self._answers: list[Answer] = []
        self._asked: Comparison | None = None
        self._decision: Decision | None = None
        self._stopped = False
        self._restart()

    def __repr__(self) -> str:
        state = self.stop_reason or "asking"
        return f"Session({self.method!r}, {self.pool!r}, {self.cost} answers, {state})"

    def ask(self) -> Comparison | None:
        """Return the next comparison, or None when the session is over.

        Calling it again without telling returns the same comparison.
        """
        if self._asked is None and self.stop_reason is None:
            first, second, bound = self._decide()
            if second is not None:
                self._asked = Comparison(
                    self.pool[first], self.pool[second], len(self._answers), bound
                )
        return None if self._stopped else self._asked

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
        asked = self._pending("tell")
        index = winner_of(asked, winner)
        self._run.add(asked.first.index, asked.second.index, index)
        self._record(Answer(asked.first.index, asked.second.index, index))

    def skip(self) -> None:
        """Leave the comparison that `ask` returned unanswered; its pair is not asked again."""
        asked = self._pending("skip")
        self._run.skip(asked.first.index, asked.second.index)
        self._record(Answer(asked.first.index, asked.second.index, None))

    def stop(self) -> None:
        """End here: good enough. `undo` takes it back."""
        self._stopped = True

    def undo(self) -> Answer | None:
        """Take back the last thing told: an answer, a skip, or a stop (which returns None).

        Raises
        ------
        SessionStateError
            If nothing was told yet.
        """
        if self._stopped:
            self._stopped = False
            return None
        if not self._answers:
            raise SessionStateError("nothing to undo: no comparison was answered yet")
        taken = self._answers.pop()
        self._restart()
        return taken

    @property
    def best(self) -> Candidate:
        """The candidate to recommend on what is known now."""
        self._decide()
        return self.pool[self._run.best()]

    @property
    def bound(self) -> float:
        """B(t): how much better, at most, any other candidate can be than `best`."""
        return self._decide().bound

    @property
    def cost(self) -> int:
        """How many comparisons the person has answered."""
        return self._cost

    @property
    def answers(self) -> tuple[Answer, ...]:
        """What was told so far, skips included, in order."""
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

        `"stopped"` by the person, `"bound"` at most epsilon, `"budget"` used up, `"limit"`
        reached, or `"exhausted"`: nothing is left that is worth asking.
        """
        if self._stopped:
            return "stopped"
        decision = self._decide()
        certified = decision.bound <= (self.epsilon or 0.0) + ZERO * self.method.norm_bound
        if self.epsilon is not None and certified:
            return "bound"
        if self.budget is not None and self._cost >= self.budget:
            return "budget"
        if decision.second is None:
            return "exhausted"
        return "limit" if self._cost >= self.limit else None

    def to_dict(self) -> dict[str, Any]:
        """Return the session as plain data, to be kept beside its pool."""
        return {
            "format": FORMAT,
            "pool": {"fingerprint": self.pool.fingerprint, "question": self.pool.question},
            "method": self.method.name,
            "options": self.method.options(),
            "epsilon": self.epsilon,
            "budget": self.budget,
            "limit": self.limit,
            "seed": self.seed,
            "answers": [[answer.first, answer.second, answer.winner] for answer in self._answers],
            "stopped": self._stopped,
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
            What `to_dict` returned.
        method : Method, optional
            The method object, for one that is not registered by name.

        Raises
        ------
        FileFormatError
            If the state is damaged or belongs to another pool.
        """
        _check_state(pool, state)
        chosen = method or method_for(state["method"], **state["options"])
        keys = ("epsilon", "budget", "seed", "limit")
        session = cls(pool, chosen, **{key: state[key] for key in keys})
        session._answers = [read_answer(item, len(pool)) for item in state["answers"]]
        session._stopped = state.get("stopped") is True
        session._restart()
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
        """Replay everything told so far into a new run of the method."""
        self._run = self.method.start(
            self.pool.features, self.seed, fixed_budget=self.epsilon is None
        )
        for answer in self._answers:
            if answer.winner is None:
                self._run.skip(answer.first, answer.second)
            else:
                self._run.add(answer.first, answer.second, answer.winner)
        self._cost = sum(answer.winner is not None for answer in self._answers)
        self._decision = self._asked = None

    def _decide(self) -> Decision:
        if self._decision is None:
            self._decision = self._run.decide()
        return self._decision

    def _pending(self, call: str) -> Comparison:
        if self._asked is None or self._stopped:
            over = self.stop_reason
            why = f"the session is over ({over})" if over else f"call ask() before {call}()"
            raise SessionStateError(f"{call}() has no comparison to answer: {why}")
        return self._asked

    def _record(self, answer: Answer) -> None:
        self._answers.append(answer)
        self._cost += answer.winner is not None
        self._decision = self._asked = None


def _checked_epsilon(epsilon: float | None, norm_bound: float) -> float | None:
    if epsilon is None:
        return None
    if not is_finite(epsilon) or not 0.0 <= epsilon <= norm_bound:
        raise OptionError(
            f"epsilon must be a number between 0 and S = {norm_bound:g}, or None to run for the "
            f"whole budget; got {epsilon!r}"
        )
    return float(epsilon)


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
