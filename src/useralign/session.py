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
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, Self, SupportsIndex

import numpy as np

from useralign.answers import (
    Answer,
    Comparison,
    answer_to,
    final,
    order_of,
    read_answer,
    read_indices,
    remark,
    winner_of,
    wish,
)
from useralign.checks import is_finite, is_whole, whole
from useralign.errors import (
    AnswerError,
    FeedbackError,
    FileFormatError,
    OptionError,
    SessionStateError,
)
from useralign.files import load_json, write_json
from useralign.geometry import ZERO
from useralign.methods import Confidence, Decision, Method, Run, method_for
from useralign.pool import Candidate, Pool
from useralign.presets import few
from useralign.wishes.judge import Wish, WishJudgement, by_words, describe, judge, phrases_of, tidy

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from useralign.models import Generator

FORMAT = "useralign-session/1"
LIMIT = 199  # the paper's cap on steps, for pools of up to a quarter of that many candidates
MOST_PER_SCREEN = 9
LEAD = 2  # screens on which what a wish favours comes first
SHORTLIST = 3
PROOF = "useralign"  # the method that proves
INDIFFERENT = 3  # screens that were all called equal, after which it is no use to ask on
MOST_INDIFFERENT = 5  # the same where some were pairs, or would not do
_STEERING = frozenset(("wish", "withdraw", "go_on", "prove"))  # they change what came before
PROVABLE = 200  # candidates up to which the price of a proof is found by trying
# Screens that most people need with `frugal`, by how many candidates a screen has (docs/few.md).
USUAL_SCREENS = {2: 5, 3: 4, 4: 3, 5: 3, 6: 3, 7: 3, 8: 2, 9: 2}


class _Rules(NamedTuple):
    """What a session goes by; asking more, or for a proof, changes it."""

    method: Method
    epsilon: float | None
    budget: int | None
    limit: int
    per_screen: int


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
        if "shown" in options:  # the name that per_screen had before
            per_screen = _checked_count("shown", options.pop("shown"))
        if not isinstance(pool, Pool):
            raise OptionError(f"pool must be a useralign.Pool, got {type(pool).__name__}")
        by = method_for(method, **options)
        rules = _rules_of(
            pool, by, epsilon=epsilon, budget=budget, seed=seed, limit=limit, per_screen=per_screen
        )
        self._begin(pool, rules, secrets.randbits(32) if seed is None else int(seed), [])

    def _begin(self, pool: Pool, rules: _Rules, seed: int, answers: list[Answer]) -> None:
        """Set the four things that a session is, and compute the rest from them."""
        self.pool = pool
        self.seed = seed
        self._first_rules = rules
        self._answers = answers
        self._comparison: Comparison | None = None  # the one that waits for its answer
        self._resumed: tuple[int, ...] = ()  # the one that a saved session waited with
        self._decision: Decision | None = None
        self._stopped = False
        self._restart()

    @classmethod
    def few(cls, pool: Pool, seed: int | None = 0, **overrides: Any) -> Self:
        """Start a session for a person in a hurry: a few screens of a few candidates each.

        The method `frugal` asks until it is sure enough that its favourite is among the best
        three, or of less than 20 candidates the same share, and at most 5 screens; `go_on` asks
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

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what a notebook shows: cards to click on, or a text; see `useralign.notebook`."""
        from useralign.notebook import bundle  # noqa: PLC0415 - the way up to the front end

        return bundle(self)

    def ask(self) -> Comparison | None:
        """Return the next comparison, or None when the session is over.

        Calling it again without telling returns the same comparison.
        """
        if self._comparison is None and self.stop_reason is None:
            first, second, bound = self._decide()
            if second is not None:
                several = self.per_screen > 2
                screen = self._run.several(self.per_screen) if several else (first, second)
                indices = self._favoured_first(screen)
                if self._resumed and set(self._resumed) != set(indices):
                    indices = self._resumed
                one, other, *others = (self.pool[k] for k in indices)
                self._comparison = Comparison(one, other, len(self._answers), bound, tuple(others))
        return None if self._stopped else self._comparison

    def tell(self, winner: Candidate | SupportsIndex) -> None:
        """Answer the comparison that `ask` returned; `choose` ends the session with a candidate.

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
            read from the text (`useralign.wishes`).
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
            from useralign.wishes import direction_of  # noqa: PLC0415 - loads models

            direction = direction_of(text, self.pool, generator=model)
        self._take(remark(text, direction, weight, self.pool.dimension))

    def wish(
        self, text: str, *, model: Generator | None = None, patience: float | None = None
    ) -> Wish:
        """Take in something that matters to the person, at any time; it answers no comparison.

        What must not be there ("no fish", "vegetarian") hides candidates: they are neither shown
        nor recommended while others remain. What is wanted ("spicy", "less sweet") puts candidates
        first on the next screens, and leans the estimate as a remark does. Candidates that join the
        pool later are judged as well, by words. The same wish again takes the place of the first.

        Parameters
        ----------
        text : str
            What was said; `useralign.wishes.chips` proposes some.
        model : Generator, optional
            A language model that judges the candidates beside the words; one call, cached.
        patience : float, optional
            Seconds to wait for the model; then words alone decide.

        Returns
        -------
        Wish
            What it hides and favours, and its effect in words.

        Raises
        ------
        AnswerError
            If there is nothing in it to go by, or (`FeedbackError`) the method cannot leave
            candidates out. Nothing has changed.
        """
        _check_use(self._run, "wish")
        line = tidy(text)
        judgement = judge(line, self.pool, model=model, patience=patience)
        again = line.casefold() in (own.text.casefold() for own in self.wishes)
        self._answers.append(wish(line, judgement, len(self.pool)))
        if again:
            self._restart()
        else:
            self._wishes = self._judge_wishes()
            self._teach_wish(len(self._answers) - 1)
            self._changed()
        return self.wishes[-1]

    def withdraw(self, text: str) -> None:
        """Take a wish back, whenever it was made; what it hid may be shown again.

        Parameters
        ----------
        text : str
            As it was made.

        Raises
        ------
        AnswerError
            If there is no such wish. Nothing has changed.
        """
        line = tidy(text)
        names = [own.text for own in self.wishes]
        if line.casefold() not in map(str.casefold, names):
            others = f"the wishes are {', '.join(map(repr, names))}" if names else "there is none"
            raise AnswerError(f"there is no wish {line!r:.80} to take back; {others}")
        self._answers.append(Answer(kind="withdraw", text=line))
        self._restart()

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
        before = self.pool, self._first_rules
        rules = self._first_rules
        self.pool = self.pool.extended(candidates, features)
        if rules.limit == _usual_limit(before[0], rules.budget):
            limit = _usual_limit(self.pool, rules.budget)
            self._first_rules = rules._replace(limit=limit)
        try:
            self._restart()
        except Exception:
            self.pool, self._first_rules = before
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
        self._steer(Answer(kind="go_on", screens=whole("screens", screens, least=1)))

    def prove(self) -> None:
        """Go on with the paper's method until the best is proven, from all answers so far.

        That is `useralign` with two candidates per screen and epsilon 0. It takes back a stop, and
        is saved and resumed like that; `undo` takes it back while nothing was answered since.
        """
        self._steer(Answer(kind="prove", screens=self.proof_price()))

    def proof_price(self) -> int:
        """Return about how many more questions `prove` would ask; 0 if the best is proven.

        They are counted by asking them of somebody whose taste is the present estimate. In large
        pools, those that may still be the best are counted instead.
        """
        if "price" not in self._derived:
            self._derived["price"] = self._count_proof()
        return int(self._derived["price"])

    def _count_proof(self) -> int:
        steering = ("go_on", "prove", "final")  # what only steers the session
        answers = [answer for answer in self._answers if answer.kind not in steering]
        answers.append(Answer(kind="prove"))
        trial = Session._replay(self.pool, self._first_rules, self.seed, answers)
        if len(self.pool) > PROVABLE:
            return len(trial.viable) - 1
        scores, before = self.scores, trial.cost
        while (pair := trial.ask()) is not None:
            trial.tell(max(pair.candidates, key=lambda candidate: scores[candidate.index]))
        return trial.cost - before

    def choose(self, candidate: Candidate | SupportsIndex) -> None:
        """End the session with a candidate: the person takes it, whatever the estimate says.

        It counts as preferred to the rest of the shortlist, and costs nothing; `undo` takes it
        back, `go_on` asks more.

        Parameters
        ----------
        candidate : Candidate or int
            Any of the pool, or its index.

        Raises
        ------
        AnswerError
            If it is none of the pool. Nothing has changed.
        """
        winner = _index_in(self.pool, candidate)
        if self.choice is not None:
            self._answers.pop()
            self._restart()
        self._take(final(winner, (c.index for c in self.shortlist)))

    def undo(self) -> Answer | None:
        """Take back the last answer or whatever else was said, or a stop (returns None).

        Raises
        ------
        SessionStateError
            If there is nothing to take back.
        """
        if self._stopped and self.choice is None:
            self._stopped = False
            return None
        if not self._answers:
            raise SessionStateError("nothing to undo: nothing was told yet")
        answer = self._answers.pop()
        self._restart()
        return answer

    @property
    def best(self) -> Candidate:
        """The candidate to recommend after the answers so far, or the one that was chosen."""
        self._decide()
        return self.choice or self.pool[self._run.best()]

    @property
    def choice(self) -> Candidate | None:
        """The candidate that the person took with `choose`; None while there is none."""
        last = self._answers[-1] if self._answers else None
        return None if last is None or last.kind != "final" else self.pool[int(last.winner or 0)]

    @property
    def ranking(self) -> tuple[Candidate, ...]:
        """All candidates in the person's order: `best`, then by score; what will not do, last."""
        best, out, scores = self.best.index, self._run.out, self.scores
        order = sorted(range(len(self.pool)), key=lambda k: (k != best, k in out, -scores[k]))
        return tuple(self.pool[k] for k in order)

    @property
    def shortlist(self) -> tuple[Candidate, ...]:
        """The first three of `ranking`, without what will not do."""
        out = self._run.out - {self.best.index}
        return tuple(c for c in self.ranking[:SHORTLIST] if c.index not in out)

    @property
    def expected_screens(self) -> int:
        """About how many screens the whole session takes; it may grow, and never falls.

        What was announced when the person asked for more; else what most people need, by the
        method and by how many candidates a screen has.
        """
        return max(self._announced, self._cost + (not self.finished))

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
        """How many comparisons the person has answered; skips, remarks and wishes are free."""
        return self._cost

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers so far, skips, remarks and wishes included, in order."""
        return tuple(self._answers)

    @property
    def wishes(self) -> tuple[Wish, ...]:
        """What matters to the person, in the order in which it was said, with its effect."""
        return tuple(
            Wish(
                self._answers[position].text,
                judgement.hidden,
                judgement.favoured,
                describe(self._answers[position].text, self.pool, judgement, blocked=blocked),
            )
            for position, (judgement, blocked) in self._wishes.items()
        )

    @property
    def hidden(self) -> frozenset[int]:
        """The indices of the candidates that wishes hide."""
        return frozenset(k for judgement, _ in self._wishes.values() for k in judgement.hidden)

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

        `"chosen"` or `"stopped"` by the person, `"indifferent"` if all they said is that
        candidates are equal or will not do, `"bound"` at most epsilon, `"confident"` enough by the
        method's own rule, `"budget"` used up, `"limit"` reached, or `"exhausted"`: nothing is
        left that is worth asking.
        """
        return self._ended_by_person() or self._ended_by_method()

    def _ended_by_person(self) -> str | None:
        if self.choice is not None:
            return "chosen"
        if self._stopped:
            return "stopped"
        return "indifferent" if self.epsilon is not None and _indifferent(self._answers) else None

    def _ended_by_method(self) -> str | None:
        decision = self._decide()
        certified = decision.bound <= (self.epsilon or 0.0) + ZERO * self.method.norm_bound
        if self.epsilon is not None and certified:
            return "bound"
        if self.epsilon is not None and self._run.satisfied() and not self._refused_all():
            return "confident"
        if self.budget is not None and self._cost >= self.budget:
            return "budget"
        if decision.second is None:
            return "exhausted"
        return "limit" if self._cost >= self.limit else None

    def _refused_all(self) -> bool:
        """Whether none of all that was shown would do: then more is shown, however few are left."""
        return {answer.kind for answer in self._answers if answer.counts} == {"neither"}

    def to_dict(self) -> dict[str, Any]:
        """Return the session as plain data, to be kept beside its pool."""
        waiting, first = self._comparison, self._first_rules
        return {
            "format": FORMAT,
            "pool": {"fingerprint": self.pool.fingerprint, "question": self.pool.question},
            "method": first.method.name,
            "options": first.method.options(),
            "epsilon": first.epsilon,
            "budget": first.budget,
            "limit": first.limit,
            "seed": self.seed,
            "answers": [answer.to_data() for answer in self._answers],
            "stopped": self._stopped,
            **({} if first.per_screen == 2 else {"shown": first.per_screen}),
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
        rules = _rules_of(pool, method, **options, per_screen=state.get("shown", 2))
        answers = [read_answer(item, *pool.features.shape) for item in state["answers"]]
        session = cls._replay(pool, rules, whole("seed", state["seed"], least=0), answers)
        session._stopped = state.get("stopped") is True
        session._resumed = read_indices(state.get("asked", []), len(pool))
        return session

    @classmethod
    def _replay(cls, pool: Pool, rules: _Rules, seed: int, answers: list[Answer]) -> Self:
        """Build a session that has these answers already; none is replayed twice."""
        session = cls.__new__(cls)
        session._begin(pool, rules, seed, answers)
        return session

    def save(self, path: str | Path) -> Path:
        """Write the session to a JSON file and return its path; never leaves half a file."""
        return write_json(path, self.to_dict())

    @classmethod
    def load(cls, path: str | Path, pool: Pool) -> Session:
        """Read a session that `save` wrote."""
        return load_json(path, partial(cls.from_dict, pool))

    def copy(self) -> Self:
        """Return a session that goes its own way from here; nothing is replayed."""
        twin = copy(self)
        twin._answers = list(self._answers)
        twin._run = self._run.copy()
        return twin

    def follow(self, answers: Iterable[Any], *, stopped: bool = False) -> None:
        """Take in answers as a saved session has them, after those so far.

        It is what `resume` does with all of them, for who has a session with the first ones.

        Parameters
        ----------
        answers : iterable
            As `to_dict` returns them.
        stopped : bool
            Whether the person ended the session after them.
        """
        more = [read_answer(item, *self.pool.features.shape) for item in answers]
        if _STEERING.isdisjoint(answer.kind for answer in more):
            for answer in more:
                self._take(answer)
        else:
            self._answers += more
            self._restart()
        self._stopped = stopped

    def _restart(self) -> None:
        """Replay the answers so far into a new run of the method."""
        self._set_rules()
        self._run = self.method.start(
            self.pool.features, self.seed, fixed_budget=self.epsilon is None
        )
        self._wishes = self._judge_wishes()
        for position, answer in enumerate(self._answers):
            if position in self._wishes:
                self._teach_wish(position)
            _teach(self._run, answer)
        self._cost = sum(answer.counts for answer in self._answers)
        self._changed()

    def _teach_wish(self, position: int) -> None:
        """Pass a wish to the run: what it hides, with what earlier ones hide, and its direction."""
        earlier = (judgement for at, (judgement, _) in self._wishes.items() if at <= position)
        self._run.exclude({k for judgement in earlier for k in judgement.hidden})
        direction = self._wishes[position][0].direction
        if direction and "remark" in self._run.takes:
            self._run.lean(_unit(direction), 1.0)

    def _changed(self) -> None:
        """Forget what was computed from the answers so far."""
        self._decision = self._comparison = None
        self._resumed = ()
        self._derived: dict[str, Any] = {}  # a new one: copies of this session share the old

    def _set_rules(self) -> None:
        """Set what the session goes by after its answers, and how many screens are announced."""
        rules, cost = self._first_rules, 0
        announced = _usual_screens(rules, len(self.pool))
        for answer in self._answers:
            cost += answer.counts
            if answer.kind == "prove":
                rules = _proof_rules(rules, self.pool)
            elif answer.kind == "go_on":
                budget = cost + answer.screens
                limit = max(rules.limit, budget)
                rules = rules._replace(epsilon=None, budget=budget, limit=limit)
            announced = max(announced, cost + answer.screens)
        self._announced = announced
        self.method, self.epsilon, self.budget, self.limit, self.per_screen = rules

    def _steer(self, answer: Answer) -> None:
        """Take in that the person wants to be asked more; for another method, replay."""
        self._stopped = False
        self._answers.append(answer)
        before = self.method, self.epsilon is None
        self._set_rules()
        if (self.method, self.epsilon is None) == before:
            self._changed()  # the same questions; only when to stop is another
        else:
            self._restart()

    def _judge_wishes(self) -> dict[int, tuple[WishJudgement, bool]]:
        """Return what each wish in force says, by its position among the answers.

        With it stands whether it is made to hide nothing, because it would leave none.
        """
        positions: dict[str, int] = {}
        for position, answer in enumerate(self._answers):
            if answer.kind in ("wish", "withdraw"):
                positions.pop(answer.text.casefold(), None)
                if answer.kind == "wish":
                    positions[answer.text.casefold()] = position
        hidden: set[int] = set()
        result = {}
        for position in positions.values():
            judgement = self._judgement(self._answers[position])
            if blocked := len(hidden.union(judgement.hidden)) == len(self.pool):
                judgement = judgement._replace(hidden=())
            hidden.update(judgement.hidden)
            result[position] = judgement, blocked
        return result

    def _judgement(self, answer: Answer) -> WishJudgement:
        """Return what a wish says of all candidates, also of those that joined since."""
        joined = range(answer.judged, len(self.pool))
        hidden, favoured = answer.hidden, answer.favoured
        if joined:
            more, first = by_words(phrases_of(answer.text, self.pool), self.pool.candidates, joined)
            hidden, favoured = (*hidden, *sorted(more)), (*favoured, *sorted(first))
        return WishJudgement(hidden, favoured, answer.direction)

    def _favoured_first(self, screen: tuple[int, ...]) -> tuple[int, ...]:
        """Return a screen with those candidates first that wishes favour and nobody saw yet.

        The best one so far stays, to be compared with them; what room is left is the method's.
        """
        if not self._wishes:
            return screen
        votes: Counter[int] = Counter()
        for position, (judgement, _) in self._wishes.items():
            if sum(answer.counts for answer in self._answers[position:]) < LEAD:
                votes.update(judgement.favoured)
        old = {k for answer in self._answers for k in answer.candidates} if votes else set()
        if not (votes := Counter({k: n for k, n in votes.items() if k not in old})):
            return screen
        scores, possible = self._run.scores(), self._run.possible()
        fresh = [k for k in votes if possible[k]]
        fresh.sort(key=lambda k: (-votes[k], k not in screen, -scores[k], k))
        result: list[int] = []
        for k in (*((self._run.best(),) if self._cost else ()), *fresh, *screen):
            if len(result) < self.per_screen and self._run.open(k, result):
                result.append(k)
        return tuple(result) if len(result) > 1 else screen

    def _decide(self) -> Decision:
        if self._decision is None:
            self._decision = self._run.decide()
        return self._decision

    def _take(self, answer: Answer) -> None:
        _teach(self._run, answer)
        self._answers.append(answer)
        self._cost += answer.counts
        self._changed()

    def _pending(self, call: str) -> Comparison:
        if self._comparison is None or self._stopped:
            over = self.stop_reason
            why = f"the session is over ({over})" if over else f"call ask() before {call}()"
            raise SessionStateError(f"{call}() has no comparison to answer: {why}")
        return self._comparison


def _rules_of(pool: Pool, method: Method, **options: Any) -> _Rules:
    """Check what a session is started with, as `check_options` does, and return its rules."""
    check_options(method, **options)
    epsilon, budget, limit = options["epsilon"], options["budget"], options["limit"]
    return _Rules(
        method,
        None if epsilon is None else float(epsilon),
        None if budget is None else int(budget),
        _usual_limit(pool, budget) if limit is None else int(limit),
        int(options["per_screen"]),
    )


def _usual_limit(pool: Pool, budget: int | None) -> int:
    return max(LIMIT, 4 * len(pool), budget or 0)


def _usual_screens(rules: _Rules, candidates: int) -> int:
    """Return how many screens most people need: a few, or one question per candidate but one."""
    knockout = -(-(candidates - 1) // (rules.per_screen - 1))
    stops = rules.epsilon is not None and rules.method.name == "frugal"
    usual = USUAL_SCREENS[rules.per_screen] if stops else LIMIT
    return max(min(usual, knockout, rules.limit if rules.budget is None else rules.budget), 1)


def _proof_rules(rules: _Rules, pool: Pool) -> _Rules:
    """Return the rules of the paper's method: pairs, until the bound is 0."""
    method = rules.method if rules.method.name == PROOF else method_for(PROOF)
    return _Rules(method, 0.0, None, max(rules.limit, _usual_limit(pool, None)), 2)


def _indifferent(answers: Sequence[Answer]) -> bool:
    """Whether all that was answered, often enough, is that candidates are equal or will not do."""
    if any(answer.kind in ("choice", "ranking", "go_on", "prove") for answer in answers):
        return False
    kinds = [answer.kind for answer in answers if answer.counts]
    screens = all(len(answer.candidates) > 2 for answer in answers if answer.counts)
    early = screens and "neither" not in kinds
    return len(kinds) >= (INDIFFERENT if early else MOST_INDIFFERENT)


def _index_in(pool: Pool, candidate: Candidate | SupportsIndex) -> int:
    """Return the index of a candidate of the pool, or raise `AnswerError`."""
    index: Any = candidate.index if isinstance(candidate, Candidate) else candidate
    if is_whole(index) and 0 <= index < len(pool) and candidate in (index, pool[int(index)]):
        return int(index)
    raise AnswerError(
        f"the choice must be a candidate of the pool, or its index, 0 to {len(pool) - 1}; "
        f"got {candidate!r:.60}"
    )


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
) -> None:
    """Check what a session is to be started with, before there is a pool.

    Raises `OptionError` if something is out of its range, or nothing would stop the session.
    """
    if epsilon is not None and not (is_finite(epsilon) and 0.0 <= epsilon <= method.norm_bound):
        raise OptionError(
            f"epsilon must be a number between 0 and S = {method.norm_bound:g}, or None to run for "
            f"the whole budget; got {epsilon!r}"
        )
    for name, value, least in (("budget", budget, 0), ("limit", limit, 1), ("seed", seed, 0)):
        if value is not None:
            whole(name, value, least)
    _checked_count("per_screen", per_screen)
    if method.asks and budget is None and (epsilon is None or not method.stops):
        raise OptionError(
            f"method {method.name!r} with epsilon={epsilon} has nothing to stop it; "
            "give budget=, the number of questions"
        )


def _checked_count(name: str, value: object) -> int:
    count = whole(name, value, least=2)
    if count > MOST_PER_SCREEN:
        raise OptionError(f"{name} must be 2 to {MOST_PER_SCREEN}, got {value}")
    return count


def _teach(run: Run, answer: Answer) -> None:
    """Pass an answer to a run of a method; a replay does the same.

    Choices and rankings add every pair that they decide (`add_all`): the best over each other, or
    each over the next. What is said of a whole screen is said of every pair on it; what will not do
    is said of every candidate, and its pairs are not asked again even if all return.
    """
    run.add_all(
        [
            (winner, loser, winner) if answer.first != loser else (loser, winner, winner)
            for winner, loser in answer.wins
        ]
    )
    if answer.kind in ("equal", "neither", "skip", "remark"):
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
