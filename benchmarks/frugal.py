"""How often the frugal method names the best after t answers, and what a step costs.

    python -m benchmarks.frugal [RUNS]

Consistent people, several kinds of pool: what can be learned from few answers depends on how much
candidates have in common. `even` features are independent directions, in which they have next to
nothing in common; `falling` ones have a variance of 1/k^2 in the k-th direction, as embeddings of
answers to one question tend to.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import useralign as ua
from benchmarks.course import course
from useralign.users import UtilityUser

TIMES = (3, 5, 10)
METHODS = ("useralign", "tournament", "frugal")
Features = NDArray[np.float64]


def even(rng: np.random.Generator, count: int, dimension: int) -> Features:
    """Return unit vectors in directions drawn independently."""
    drawn = rng.normal(size=(count, dimension))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1)[:, None])


def falling(rng: np.random.Generator, count: int, dimension: int) -> Features:
    """Return a cloud that is ever flatter in further directions."""
    return np.asarray(rng.normal(size=(count, dimension)) / np.arange(1, dimension + 1))


def cloud(rng: np.random.Generator, count: int, dimension: int) -> Features:
    """Return a round cloud."""
    return rng.normal(size=(count, dimension))


POOLS: tuple[tuple[str, Callable[..., Features], int, int], ...] = (
    ("64-d, 20, even", even, 20, 64),
    ("64-d, 20, falling", falling, 20, 64),
    ("512-d, 40, even", even, 40, 512),
    ("512-d, 40, falling", falling, 40, 512),
    ("2-d, 20, cloud", cloud, 20, 2),
)


def best_at(method: str, features: Features, worth: Features, seed: int) -> list[bool]:
    """Return for each of `TIMES` whether the recommended candidate is the best."""
    pool = ua.Pool.from_features(features, question="Which?", normalise="ball")
    session = ua.Session(pool, method, epsilon=None, budget=max(TIMES), seed=seed)
    user = UtilityUser(lambda candidate: float(worth[candidate.index]))
    right = [share == 1.0 for share in course(session, user)]
    return [right[min(step, len(right) - 1)] for step in TIMES]


def efficiency(runs: int) -> None:
    """Print how often the best was found."""
    print(f"\nshare of {runs} runs whose recommendation is the best, t = 3 / 5 / 10")
    print(f"{'pool':<20}" + "".join(f"{method:>22}" for method in METHODS))
    for name, draw, count, dimension in POOLS:
        hits = {method: np.zeros(len(TIMES)) for method in METHODS}
        for run in range(runs):
            rng = np.random.default_rng([77, run])
            features = draw(rng, count, dimension)
            worth = features @ rng.normal(size=dimension)
            for method in METHODS:
                hits[method] += best_at(method, features, worth, run)
        shares = ("/".join(f"{share:.2f}" for share in hits[m] / runs) for m in METHODS)
        print(f"{name:<20}" + "".join(f"{share:>22}" for share in shares), flush=True)


def speed(steps: int = 20) -> None:
    """Print what a step costs, beside UserAlign's in the same run; CPU time of one thread."""
    print("\nCPU milliseconds a step, mean (most)")
    for count, dimension in ((20, 64), (40, 512), (1000, 64)):
        rng = np.random.default_rng(5)
        pool = ua.Pool.from_features(even(rng, count, dimension), question="Which?")
        line = []
        for method in ("useralign", "frugal"):
            session = ua.Session(pool, method, epsilon=None, budget=steps)
            times = []
            for _ in range(steps):
                start = time.process_time()
                pair = session.ask()
                if pair is None:
                    break
                session.tell(pair.first if rng.random() < 0.7 else pair.second)
                times.append(1e3 * (time.process_time() - start))
            line.append(f"{method} {np.mean(times[1:]):.2f} ({max(times[1:]):.2f})")
        print(f"{count} candidates, {dimension}-d: " + ", ".join(line), flush=True)


def main() -> None:
    """Run both."""
    speed()
    efficiency(int(sys.argv[1]) if len(sys.argv) > 1 else 100)


if __name__ == "__main__":
    main()
