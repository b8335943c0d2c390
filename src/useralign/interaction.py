"""What a session is made of: a pool, a method, a seed, and the list of what was told.

Everything else, from the next pair to the reason for stopping, is computed from those four.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from useralign.checks import is_finite, whole
from useralign.errors import OptionError
from useralign.geometry import ZERO
from useralign.methods import Confidence, Decision, Method, method_for
from useralign.methods.feedback import teach
from useralign.pool import Pool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from useralign.answers import Answer, Comparison
    from useralign.pool import Candidate

LIMIT = 199  # the paper's cap on steps, for pools of up to a quarter of that many candidates
MOST_SHOWN = 4


class Interaction:
    """How things stand with one person over one pool; `Session` adds asking and telling.

    Parameters are those of `Session`.
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
        shown: int = 2,
        **options: Any,
    ) -> None:
        if not isinstance(pool, Pool):
            raise OptionError(f"pool must be a useralign.Pool, got {type(pool).__name__}")
        self.pool = pool
        self.method = method_for(method, **options)
        self.epsilon = _checked_epsilon(epsilon, self.method.norm_bound)
        self.budget = None if budget is None else whole("budget", budget, least=0)
        self.limit = self._usual_limit() if limit is None else whole("limit", limit, least=1)
        self.shown = whole("shown", shown, least=2)
        if self.shown > MOST_SHOWN:
            raise OptionError(f"shown must be 2, 3 or {MOST_SHOWN}, got {shown}")
        if self.method.asks and self.budget is None and (epsilon is None or not self.method.stops):
            raise OptionError(
                f"method {self.method.name!r} with epsilon={epsilon} has nothing to stop it; "
                "give budget=, the number of questions"
            )
        self.seed = secrets.randbits(32) if seed is None else whole("seed", seed, least=0)
        self._answers: list[Answer] = []
        self._asked: Comparison | None = None
        self._held: tuple[int, ...] = ()  # what a resumed session had asked
        self._decision: Decision | None = None
        self._stopped = False
        self._restart()

    def __repr__(self) -> str:
        state = self.stop_reason or "asking"
        return f"Session({self.method!r}, {self.pool!r}, {self.cost} answers, {state})"

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
    def confidence(self) -> Confidence | None:
        """How likely `best` is among the best few; None if the method keeps no such account."""
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
        """What was told so far, skips and remarks included, in order."""
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

    def _restart(self) -> None:
        """Replay everything told so far into a new run of the method."""
        self._run = self.method.start(
            self.pool.features, self.seed, fixed_budget=self.epsilon is None
        )
        for answer in self._answers:
            teach(self._run, answer)
        self._cost = sum(answer.counts for answer in self._answers)
        self._decision = self._asked = None
        self._held = ()

    def _decide(self) -> Decision:
        if self._decision is None:
            self._decision = self._run.decide()
        return self._decision

    def _take(self, answer: Answer) -> None:
        teach(self._run, answer)
        self._answers.append(answer)
        self._cost += answer.counts
        self._decision = self._asked = None
        self._held = ()

    def _usual_limit(self) -> int:
        return max(LIMIT, 4 * len(self.pool), self.budget or 0)


def _checked_epsilon(epsilon: float | None, norm_bound: float) -> float | None:
    if epsilon is None:
        return None
    if not is_finite(epsilon) or not 0.0 <= epsilon <= norm_bound:
        raise OptionError(
            f"epsilon must be a number between 0 and S = {norm_bound:g}, or None to run for the "
            f"whole budget; got {epsilon!r}"
        )
    return float(epsilon)
