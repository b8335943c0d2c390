"""How many screens pairs, the best of four and rankings of four take: docs/feedback.md's table.

python -m benchmarks.feedback [--runs N] [METHOD ...]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

import useralign as ua
from benchmarks.course import course
from useralign.domains import load
from useralign.users import Consistent, RankedPersona, User

WAYS = {"pairs": (2, False), "best of 3": (3, False), "best of 4": (4, False), "rank 4": (4, True)}
MARKS = (2, 4, 6, 8, 12)
MOST = 40  # screens after which anybody would have left


def synthetic(runs: int) -> Iterator[tuple[ua.Pool, User]]:
    """Draw pools of 20 directions in 64-d, each with a consistent user."""
    for seed in range(runs):
        features = np.random.default_rng([64, 20, seed]).normal(size=(20, 64))
        pool = ua.Pool.from_features(features, normalise="unit")
        yield pool, Consistent(pool, seed=seed)


def personas() -> Iterator[tuple[ua.Pool, User]]:
    """Yield every question of food64d with every persona that it has."""
    for question in load("food64d").questions:
        pool = question.pool()
        for persona in question.personas:
            yield pool, RankedPersona(persona)


def table(name: str, people: list[tuple[ua.Pool, User]], methods: list[str]) -> None:
    """Print one table: screens to the stop, and how good the answer is on the way."""
    print(f"\n{name}, {len(people)} runs: chance that the best is recommended after n screens\n")
    print("| method | answers | screens to the stop | " + " | ".join(map(str, MARKS)) + " | end |")
    print("|---|---|---|" + "---|" * (len(MARKS) + 1))
    for method in methods:
        for way, (per_screen, rank) in WAYS.items():
            costs, runs = [], []
            for seed, (pool, user) in enumerate(people):
                session = ua.Session(pool, method, seed=seed, per_screen=per_screen, budget=MOST)
                runs.append([share == 1.0 for share in course(session, user, rank=rank)])
                costs.append(session.cost)
            mean = f"{np.mean(costs):.1f} ({np.std(costs) / np.sqrt(len(costs)):.1f})"
            at = [np.mean([run[min(mark, len(run) - 1)] for run in runs]) for mark in MARKS]
            end = np.mean([run[-1] for run in runs])
            cells = " | ".join(f"{x:.2f}" for x in [*at, end])
            print(f"| {method} | {way} | {mean} | {cells} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("methods", nargs="*", default=["useralign"])
    parser.add_argument("--runs", type=int, default=200)
    options = parser.parse_args()
    table("Synthetic 64-d/20, consistent users", list(synthetic(options.runs)), options.methods)
    table("food64d, personas", list(personas()), options.methods)


if __name__ == "__main__":
    main()
