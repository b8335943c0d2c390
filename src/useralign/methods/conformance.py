"""The contract of a method as a check that the author of a plug-in can run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from useralign.methods.base import Method


def check_method(method: Method, *, steps: int = 12, seed: int = 5) -> None:
    """Raise AssertionError, saying which promise is broken, if a method breaks its contract.

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
    taste = np.random.default_rng(seed + 1).normal(size=4)
    answers: list[tuple[int, int, int]] = []
    run = method.start(features, seed)
    _promise(0 <= run.best() < len(features), "best() is a place in the pool")
    for _ in range(steps):
        decision = run.decide()
        _promise(decision == run.decide(), "decide() twice gives the same decision")
        if decision.second is None:
            break
        _promise(method.asks, "a method that does not ask returns no second candidate")
        _promise(decision.first != decision.second, "the two candidates differ")
        first, second = decision.first, decision.second
        gain = (features[first] - features[second]) @ taste
        answers.append((first, second, first if gain >= 0 else second))
        run.add(*answers[-1])
        replay = method.start(features, seed)
        for answer in answers:
            replay.add(*answer)
        _promise(replay.decide() == run.decide(), "a replay of the answers decides alike")
        _promise(replay.best() == run.best(), "a replay of the answers recommends alike")
    _promise(run.scores().shape == (len(features),), "scores() has one number a candidate")
    _promise(bool(run.possible()[run.best()]), "best() is possible")
    json.dumps(method.options())
    again = type(method)(**method.options()).start(features, seed)
    _promise(again.best() == method.start(features, seed).best(), "options() rebuild the method")


def _promise(kept: bool, what: str) -> None:
    if not kept:
        raise AssertionError(f"broken promise: {what}")
