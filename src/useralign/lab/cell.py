"""One cell of an experiment: a whole interaction of one user with one method.

A cell's result is a function of its description alone. Its randomness follows from its key, except
that all methods share the seeds of a session with the same user, so that they begin with the same
candidate and with equal luck.

UserAlign and UserAlign_loss ask alike in both modes of a plan until the bound is 0, where mode
`epsilon` ends and footnote 2 of the paper goes on with challengers drawn at random. So mode
`budget` begins with the steps of mode `epsilon`, which a worker that has both computes once.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from useralign import domains
from useralign.answers import Comparison
from useralign.errors import OptionError, UseralignError
from useralign.methods.paper import UserAlignLoss
from useralign.models import default_embedder, embedder_for
from useralign.pool import Pool
from useralign.session import Session
from useralign.users import Erring, LinearUser, simulate, user_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from useralign.domains import Domain
    from useralign.pool import Candidate
    from useralign.users import User


AXES = "axes"  # in place of an embedder, where a domain has features of its own
DIGITS = 9  # numbers are rounded to these, well below what counts as zero


class Cell(ABC):
    """What a runner computes: one interaction that can be pickled and held anywhere."""

    __slots__ = ()
    names: ClassVar[tuple[str, ...]]  # the attributes that stand in the result

    @property
    @abstractmethod
    def key(self) -> str:
        """The cell's name, which no other cell of a run has."""

    @abstractmethod
    def run(self) -> dict[str, Any]:
        """Run the interaction and return its result, a function of the cell alone.

        Only a key `seconds` may differ from run to run. It is taken out of the result and stored
        with the timings, in place of the time that the whole cell took.
        """

    def named(self) -> dict[str, Any]:
        """Return the cell's names as they stand in its result."""
        return {name: getattr(self, name) for name in self.names}

    def result(self, session: Session, steps: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the result of a session that is over, in the form of `journal`."""
        return {
            **self.named(),
            "pool_size": len(session.pool),
            "steps": steps,
            "stopped_at": session.cost,
            "stop_reason": session.stop_reason,
        }


def trajectory(
    session: Session,
    user: User,
    measure: Callable[[Session], dict[str, Any]],
    changes: Iterable[str],
    before: Sequence[dict[str, Any]] = (),
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Let the user answer to the end; return the steps of the interaction that matter.

    Pairs that the user knows nothing about are skipped, which costs nothing.

    A step is what `measure` returns, where one of the keys `changes` has a new value, with the
    number of answers as `t`; `before` are the steps so far of a session that goes on. Returns the
    steps, and the session as it is at its end, which is among them if something was new then.
    """
    steps, step = list(before), {}
    for _ in chain([None], simulate(session, user)):
        step = {"t": session.cost, **measure(session)}
        if steps and steps[-1]["t"] == step["t"]:  # a pair was skipped
            steps.pop()
        if not steps or any(steps[-1][key] != step[key] for key in changes):
            steps.append(step)
    return steps, step


@dataclass(frozen=True, slots=True)
class PlanCell(Cell):
    """A cell of a plan."""

    names: ClassVar = (
        "key", "domain", "style", "question", "user", "user_kind", "method", "mode", "seed",
    )  # fmt: skip

    domain: str
    style: str
    question: str
    user: str
    user_kind: str
    method: str  # what the method is called in results
    mode: str  # one of "epsilon", "budget"
    seed: int
    method_name: str  # what it is registered as
    options: tuple[tuple[str, bool | int | float | str], ...]  # for the method
    cap: int  # how many answers at most in mode `epsilon`; how many in mode `budget`
    embedder: str
    # whether to write down every step, and not only those in which something is new
    every_step: bool = False
    data: str | None = None  # the folder of the domain, where it does not come with the package

    @property
    def key(self) -> str:
        """The cell's name, which no other cell of a plan has."""
        names = (self.domain, self.style, self.question, self.user, self.method, self.mode)
        return "/".join((*names, str(self.seed)))

    @property
    def session_seed(self) -> int:
        """The seed of the session: the same for all methods."""
        return seed_of("session", self.domain, self.style, self.question, self.user, self.seed)

    def run(self) -> dict[str, Any]:
        """Run the interaction and return its result; see `Cell.run`."""
        if self.data is not None and self.domain not in domains.names():
            domains.add(self.data)
        session, steps = _to_epsilon(self) if self.mode == "epsilon" else self._for_budget()
        return self.result(session, steps)

    def pool(self) -> Pool:
        """Return the pool, built once per process."""
        return pool_of(self.domain, self.style, self.question, self.embedder)

    def begin(self) -> tuple[Session, User]:
        """Return the session and the user as they are before any answer."""
        pool, user = self.pool(), user_of(self.named(), self.embedder)
        options = dict[str, Any](self.options, seed=self.session_seed, limit=self.cap)
        if self.method_name == "oracle":
            options["utilities"] = user.worth(pool)
        epsilon, budget = (None, self.cap) if self.mode == "budget" else (0.0, None)
        return Session(pool, self.method_name, epsilon, budget, **options), user

    def trajectory(
        self, session: Session, user: User, before: Sequence[dict[str, Any]] = ()
    ) -> tuple[Session, list[dict[str, Any]]]:
        """Let the user answer to the end; return the session and its steps with the last one."""
        baseline = baseline_of(session.pool)

        @cache
        def win(index: int) -> float:
            return round(user.win_rate(session.pool[index], baseline), DIGITS)

        def measure(session: Session) -> dict[str, Any]:
            best, bound = session.best, round(session.bound, DIGITS)
            return {"bound": bound, "best": best.label, "win": win(best.index)}

        changes = ("t",) if self.every_step else ("bound", "best")
        steps, last = trajectory(session, user, measure, changes, before)
        return session, steps if steps[-1]["t"] == last["t"] else [*steps, last]

    def _for_budget(self) -> tuple[Session, list[dict[str, Any]]]:
        """Run for the whole budget (footnote 2)."""
        session, user = self.begin()
        if not isinstance(session.method, UserAlignLoss):
            return self.trajectory(session, user)
        earlier, steps = _to_epsilon(replace(self, mode="epsilon"))
        answers = [answer.to_data() for answer in earlier.answers]
        session = Session.from_dict(session.pool, {**session.to_dict(), "answers": answers})
        for step, answer in enumerate(earlier.answers):  # brings the user to where they were
            if answer.winner is not None:
                pair = session.pool[answer.first], session.pool[answer.second]
                user.choose(Comparison(*pair, step, 0.0))
        # The last step may be there only because it is the last.
        return self.trajectory(session, user, steps[:-1])


@lru_cache(maxsize=8)
def _to_epsilon(cell: PlanCell) -> tuple[Session, list[dict[str, Any]]]:
    """Run to epsilon = 0, or to the cap."""
    return cell.trajectory(*cell.begin())


def baseline_of(pool: Pool) -> Candidate:
    """Return the candidate that win-rates are measured against."""
    if pool.baseline is None:
        raise OptionError(f"{pool.question!r} has no baseline to measure win-rates against")
    return pool.baseline


@lru_cache(maxsize=256)
def pool_of(domain: str, style: str, question: str, embedder: str) -> Pool:
    """Build a question's pool, once per process."""
    model = None if embedder == AXES else embedder
    return domains.load(domain).question(question).pool(style, model)


def user_of(cell: Mapping[str, Any], embedder: str) -> User:
    """Build the user of a cell (its result, or its names) as it was when the cell began."""
    domain, style, question = cell["domain"], cell["style"], cell["question"]
    name, _, slips = cell["user_kind"].partition("+")
    kind = user_kind(name)
    pool = pool_of(domain, style, question, embedder)
    if issubclass(kind, LinearUser):
        pool = _with_baseline(pool)
    seed = seed_of("answers", domain, style, question, cell["user"], cell["seed"])
    user = kind.enlist(
        domains.load(domain).question(question),
        pool,
        cell["user"].partition("+")[0],
        taste=seed_of("taste", domain, question),
        seed=seed,
    )
    return Erring(user, float(slips), seed=seed) if slips else user


def embedder_of(domain: Domain, text: str | None = None, image: str | None = None) -> str:
    """Return the name of what makes a domain's features: the one given, or the default."""
    if all(question.axes for question in domain.questions):
        return AXES
    return (image if domain.kind == "image" else text) or default_embedder(domain.kind)


def with_dimension(text: str) -> str:
    """Return a text in which domains whose features are not as many as their name says have both.

    The paper's visual512d has 512 features; those that come with the package have 384.
    """
    return re.sub(r"\b[a-z]+\d+d\b", lambda match: _with_dimension(match[0]), text)


@lru_cache(maxsize=64)
def _with_dimension(domain: str) -> str:
    try:
        loaded = domains.load(domain)
        pool = pool_of(domain, "mixed", loaded.questions[0].id, embedder_of(loaded))
    except UseralignError:  # not ours, or no embedder for it on this machine
        return domain
    named = int("".join(filter(str.isdigit, domain)))
    return domain if pool.dimension == named else f"{domain} ({pool.dimension} features here)"


def seed_of(*parts: str | int) -> int:
    """Return a seed that follows from names, on every machine alike."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4], "big")


@lru_cache(maxsize=256)
def _with_baseline(pool: Pool) -> Pool:
    """Add the baseline's features, which users with a taste in the features need."""
    if pool.baseline_features is not None or pool.baseline is None:
        return pool
    row = embedder_for(pool.embedder).embed_texts([pool.baseline.text])[0]
    return Pool.from_dict({**pool.to_dict(), "baseline_features": row})
