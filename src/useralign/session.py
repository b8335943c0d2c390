"""A session: ask which of two, be told, until the answer that fits is known.

    while (pair := session.ask()) is not None:
        session.tell(pair.first)
    session.best

A session is the list of what it was told. Everything else is computed from that, the pool, the
method and the seed; so saving is writing the list, and resuming, undoing, or going on with a
larger pool is replaying it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from useralign.answers import (
    Answer,
    Comparison,
    answer_to,
    order_of,
    read_answer,
    read_places,
    remark,
    winner_of,
)
from useralign.errors import FileFormatError, SessionStateError
from useralign.files import read_json, write_json
from useralign.interaction import Interaction
from useralign.methods import method_for

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike

    from useralign.methods import Method
    from useralign.pool import Candidate, Pool

FORMAT = "useralign-session/1"


class Session(Interaction):
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
        All randomness comes from it. None draws one; `session.seed` tells which.
    limit : int, optional
        Stop after this many answers in any case; when not given 199, four times the pool, or the
        budget, whichever is most.
    shown : int
        How many candidates a comparison has: 2, 3 or 4, while so many are worth asking about.
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

    def ask(self) -> Comparison | None:
        """Return the next comparison, or None when the session is over.

        Calling it again without telling returns the same comparison.
        """
        if self._asked is None and self.stop_reason is None:
            first, second, bound = self._decide()
            if second is not None:
                more = () if self.shown == 2 else self._run.several(self.shown)[2:]
                places = (first, second, *more)
                if self._held and set(self._held) != set(places):
                    places = self._held
                one, other, *others = (self.pool[k] for k in places)
                self._asked = Comparison(one, other, len(self._answers), bound, tuple(others))
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
        self._take(answer_to(asked, "choice", winner=winner_of(asked, winner)))

    def rank(self, order: Iterable[Candidate | SupportsIndex]) -> None:
        """Answer with a ranking of all that are shown.

        Parameters
        ----------
        order : iterable of Candidate or int
            Each of them once, best first. Raises as `tell` does.
        """
        asked = self._pending("rank")
        self._take(answer_to(asked, "ranking", order=order_of(asked, order)))

    def equal(self) -> None:
        """Answer that those shown cannot be told apart; they are not asked about again."""
        self._take(answer_to(self._pending("equal"), "equal"))

    def neither(self) -> None:
        """Answer that none of those shown will do.

        They count as worse than the pool's average, and are neither asked about nor recommended
        again while others remain.

        Raises
        ------
        FeedbackError
            If the method has no use for it; `takes` tells. Nothing has changed.
        """
        self._take(answer_to(self._pending("neither"), "neither"))

    def skip(self) -> None:
        """Leave the comparison that `ask` returned unanswered; its pairs are not asked again."""
        self._take(answer_to(self._pending("skip"), "skip"))

    def remark(self, text: str, direction: ArrayLike, weight: float = 1.0) -> None:
        """Take in something the person said, at any time; it answers no comparison.

        A comparison that waits for its answer may be another after it. `useralign.remarks` finds
        the direction of a text.

        Parameters
        ----------
        text : str
            What was said, for the record.
        direction : array_like, shape (d,)
            Where it points in the space of `pool.raw_features`. Only the way counts, not its
            length, so that it is the same way in the normalised features.
        weight : float
            How much it counts; 1 is as much as two clear answers.

        Raises
        ------
        AnswerError
            If it is not usable, or (`FeedbackError`) the method has no use for remarks. Nothing
            has changed.
        """
        self._take(remark(text, direction, weight, self.pool.dimension))

    def extend(
        self, candidates: Sequence[Candidate | str] | None, features: ArrayLike
    ) -> tuple[Candidate, ...]:
        """Join new candidates to the session; what was told stays, and is replayed.

        Parameters
        ----------
        candidates : sequence of Candidate or str, or None
            As for `Pool`. One whose text and image the pool has already is left out.
        features : array_like, shape (n, d)
            One row each, in the space of `pool.raw_features`.

        Returns
        -------
        tuple of Candidate
            Those that joined, as the pool has them now.

        Raises
        ------
        PoolError
            If they do not fit the pool. Nothing has changed.
        """
        before = self.pool, self.limit
        usual = self.limit == self._usual_limit()
        self.pool = self.pool.joined(candidates, features)
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

    def undo(self) -> Answer | None:
        """Take back the last thing told: an answer, a skip, a remark, or a stop (returns None).

        Raises
        ------
        SessionStateError
            If nothing was told yet.
        """
        if self._stopped:
            self._stopped = False
            return None
        if not self._answers:
            raise SessionStateError("nothing to undo: nothing was told yet")
        taken = self._answers.pop()
        self._restart()
        return taken

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
            "answers": [answer.to_data() for answer in self._answers],
            "stopped": self._stopped,
            **({} if self.shown == 2 else {"shown": self.shown}),
            **({"asked": [c.index for c in self._asked.candidates]} if self._asked else {}),
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
        chosen = method or method_for(state["method"], **state["options"])
        keys = ("epsilon", "budget", "seed", "limit")
        session = cls(
            pool, chosen, **{key: state[key] for key in keys}, shown=state.get("shown", 2)
        )
        size = pool.features.shape
        session._answers = [read_answer(item, *size) for item in state["answers"]]
        session._stopped = state.get("stopped") is True
        session._restart()
        session._held = read_places(state.get("asked", []), len(pool))
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

    def _pending(self, call: str) -> Comparison:
        if self._asked is None or self._stopped:
            over = self.stop_reason
            why = f"the session is over ({over})" if over else f"call ask() before {call}()"
            raise SessionStateError(f"{call}() has no comparison to answer: {why}")
        return self._asked


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
