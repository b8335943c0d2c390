"""The contract of a method as a check that the author of a plug-in can run."""

from __future__ import annotations

import json
import math
from itertools import combinations, cycle, islice
from typing import TYPE_CHECKING

import numpy as np

from useralign.checks import promise
from useralign.errors import FeedbackError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from useralign.methods.base import Method, Run

    Feedback = tuple[str, tuple[int, ...]]  # its kind, and the candidates it is about


def check_method(method: Method, *, steps: int = 12, seed: int = 5) -> None:
    """Raise AssertionError with the promise that is broken, if a method breaks its contract.

    Parameters
    ----------
    method : Method
    steps : int
        How many answers to give.
    seed : int
    """
    count = getattr(method, "utilities", np.zeros(9)).shape[0]
    features = np.random.default_rng(seed).normal(size=(count, 4))
    features /= 2.0 * np.linalg.norm(features, axis=1).max()
    promise(0 <= method.start(features, seed).best() < count, "best() is an index of the pool")
    for kinds in (["add"], ["add", "equal", "exclude", "add", "skip", "lean", "dislike"]):
        _check_dialogue(method, features, islice(cycle(kinds), steps), seed)
    json.dumps(method.options())
    again = type(method)(**method.options()).start(features, seed)
    promise(again.best() == method.start(features, seed).best(), "options() rebuild the method")


def _check_dialogue(
    method: Method, features: NDArray[np.float64], kinds: Iterable[str], seed: int
) -> None:
    """Check every step of a run that is given answers of these kinds in turn."""
    worth = features @ np.random.default_rng(seed + 1).normal(size=features.shape[1])
    run, history = method.start(features, seed), list[tuple[str, tuple[int, ...]]]()
    for kind in kinds:
        decision = run.decide()
        promise(decision == run.decide(), "decide() twice gives the same decision")
        _check_state(run)
        if decision.second is None:
            promise(not run.several(3), "several() is empty when there is nothing to ask")
            break
        promise(method.asks, "a method that does not ask returns no second candidate")
        _check_screens(run, (decision.first, decision.second))
        pair = (decision.first, decision.second)
        better = max(pair, key=lambda k: worth[k])
        indices = {"add": (*pair, better), "lean": (), "dislike": pair[1:], "exclude": pair[1:]}
        feedback = (kind, indices.get(kind, pair))
        if _give(run, feedback):
            history.append(feedback)
        else:
            promise(run.decide() == decision, f"refusing to {kind} changes nothing")
        _check_replay(method, run, features, history, seed)
    promise(run.scores().shape == (len(features),), "scores() has one number per candidate")


def _give(run: Run, feedback: Feedback) -> bool:
    """Give feedback to a run; False if it has no use for it, as `takes` must say beforehand."""
    kind, indices = feedback
    needed = {"dislike": "neither", "lean": "remark", "exclude": "wish"}.get(kind)
    takes = needed is None or needed in run.takes
    if kind == "exclude":
        run.exclude(indices if takes else ())
        return takes
    try:
        if kind == "lean":
            run.lean(np.eye(run.features.shape[1])[0], 1.0)
        else:
            getattr(run, kind)(*indices)
    except FeedbackError:
        promise(not takes, f"takes() tells whether {kind}() is refused")
        return False
    promise(takes, f"takes() tells whether {kind}() is refused")
    return True


def _check_state(run: Run) -> None:
    promise(bool(run.possible()[run.best()]), "best() is possible")
    promise(
        run.best() not in run.out,
        "what is out of the running is not recommended while others remain",
    )
    sure = run.confidence()
    if sure is not None:
        right = 0.0 <= sure.probability <= 1.0 and 1 <= sure.top <= len(run.features)
        promise(right, "confidence() is a probability and a number of candidates")
    promise(run.satisfied() in (True, False), "satisfied() is True or False")


def _check_screens(run: Run, pair: tuple[int, int]) -> None:
    promise(pair[0] != pair[1], "the two candidates differ")
    for count in (2, 3, 4, 9):
        screen = run.several(count)
        promise(screen == run.several(count), "several() twice gives the same candidates")
        promise(count > 2 or screen == pair, "several(2) is the pair of decide()")
        promise(len(screen) > 1, "several() has a pair where decide() has one")
        promise(len(set(screen)) == len(screen) <= count, "several() gives no more, each once")
        promise(set(screen) <= set(range(len(run.features))), "several() gives indices of the pool")
        promise(
            not run.out & set(screen), "what is out of the running is not shown while others remain"
        )
        pairs = {frozenset(two) for two in combinations(screen, 2)}
        promise(not run.barred & pairs, "a pair that was skipped is not shown")


def _check_replay(
    method: Method, run: Run, features: NDArray[np.float64], history: list[Feedback], seed: int
) -> None:
    replay = method.start(features, seed)
    for feedback in history:
        _give(replay, feedback)
    ours, theirs = run.decide(), replay.decide()
    # A cache may cost the last digits of a bound, never a decision.
    alike = ours[:2] == theirs[:2] and math.isclose(ours.bound, theirs.bound, abs_tol=1e-9)
    promise(alike, "a replay of the answers decides alike")
    promise(replay.best() == run.best(), "a replay of the answers recommends alike")
