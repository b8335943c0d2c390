"""How many questions a consistent user is asked: the table in docs/engine.md.

python -m benchmarks.questions
"""

from __future__ import annotations

import numpy as np

import useralign as ua
from useralign.users import Consistent, converse

SIZES = [(2, 20, 200), (64, 20, 200), (512, 40, 100)]


def pool_of(dimension: int, count: int, seed: int) -> ua.Pool:
    """Draw a Gaussian pool: directions in many dimensions, a cloud in two."""
    features = np.random.default_rng([dimension, count, seed]).normal(size=(count, dimension))
    return ua.Pool.from_features(features, normalise="ball" if dimension == 2 else "unit")


def counts(dimension: int, count: int, runs: int, reask: bool) -> tuple[list[int], int]:
    """Return the questions of each run, and how many ended at the true best."""
    costs, right = [], 0
    for seed in range(runs):
        pool = pool_of(dimension, count, seed)
        user = Consistent(pool, seed=seed)
        session = converse(ua.Session(pool, seed=seed, reask=reask), user)
        costs.append(session.cost)
        right += session.best.index == user.utilities.argmax()
    return costs, right


def stall(dimension: int, runs: int = 5) -> list[float]:
    """Return UserAlign_loss's mean bound after 1, 20, 50, 100 and 199 answers."""
    marks = (1, 20, 50, 100, 199)
    rows = []
    for seed in range(runs):
        pool = pool_of(dimension, 20, seed)
        user, session = Consistent(pool, seed=seed), ua.Session(pool, "useralign_loss", seed=seed)
        bounds = [session.bound for _ in ua.simulate(session, user)]
        bounds += [bounds[-1]] * (199 - len(bounds))
        rows.append([bounds[mark - 1] for mark in marks])
    return [float(x) for x in np.mean(rows, axis=0)]


def main() -> None:
    """Print the tables."""
    print("| pool | runs | asks again | questions | least to most | true best |")
    print("|---|---|---|---|---|---|")
    for dimension, count, runs in SIZES:
        for reask in (True, False):
            costs, right = counts(dimension, count, runs, reask)
            mean = f"{np.mean(costs):.2f} ({np.std(costs) / np.sqrt(runs):.2f})"
            name = f"{dimension}-d, {count}"
            print(
                f"| {name} | {runs} | {'yes' if reask else 'no'} | {mean} "
                f"| {min(costs)} to {max(costs)} | {right} of {runs} |"
            )
    print("\nUserAlign_loss: the bound after t answers, mean of 5 runs, 20 candidates\n")
    print("| pool | t = 1 | 20 | 50 | 100 | 199 |\n|---|---|---|---|---|---|")
    for dimension in (2, 64):
        print(f"| {dimension}-d | " + " | ".join(f"{b:.3f}" for b in stall(dimension)) + " |")


if __name__ == "__main__":
    main()
