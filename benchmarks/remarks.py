"""Whether remarks point where they should, over ten pools of dishes: docs/feedback.md's table.

A hit is a pair of dishes that clearly differ (by more than 0.5 on a scale from -1 to 1), put in
the right order by the remark alone; a coin gets half of them.

python -m benchmarks.remarks
"""

from __future__ import annotations

import numpy as np

import useralign as ua
from benchmarks.course import course
from useralign.domains import load
from useralign.users import UtilityUser
from useralign.wishes import direction_of

# The first ten of each decided which embedder reads remarks; the others were written afterwards.
REMARKS = {
    "spiciness": [
        ("less spicy, please", -1), ("not so hot", -1), ("no chilli", -1), ("too spicy for me", -1),
        ("something mild", -1), ("more heat", 1), ("I want it spicier", 1),
        ("it isn't spicy enough", 1), ("more chilli please", 1), ("nothing fiery", -1),
        ("my mouth is burning, less hot please", -1), ("bring on the jalapenos", 1),
        ("without hot peppers", -1), ("I can't take spicy food", -1), ("add some kick", 1),
    ],
    "veginess": [
        ("more vegetables", 1), ("less meat", 1), ("no meat please", 1), ("vegetarian", 1),
        ("without chicken or beef", 1), ("I'd like more meat", -1), ("too many vegetables", -1),
        ("plant-based please", 1), ("not vegetarian", -1), ("something with fish or meat", -1),
        ("no animals", 1), ("I'm vegan", 1), ("a proper steak", -1), ("more greens and beans", 1),
        ("less tofu, more sausage", -1),
    ],
}  # fmt: skip
READERS = ("wordllama", "minilm")


def hits(scores: np.ndarray, truth: np.ndarray) -> float:
    """Return the share of clearly different pairs that the scores put in order."""
    i, j = np.triu_indices(len(truth), 1)
    clear = np.abs(truth[i] - truth[j]) > 0.5
    return float(np.mean((scores[i] > scores[j])[clear] == (truth[i] > truth[j])[clear]))


def after(pool: ua.Pool, worth: np.ndarray, remark: str | None, seed: int) -> list[float]:
    """Return what share of the pool the answer is as good as, after 0, 2, 4 and 8 pairs."""
    session = ua.Session(pool, seed=seed)
    if remark is not None:
        session.remark(remark, direction_of(remark, pool))
    user = UtilityUser(lambda candidate: float(worth[candidate.index]))
    shares = course(session, user, most=8)
    return [shares[min(pairs, len(shares) - 1)] for pairs in (0, 2, 4, 8)]


def main() -> None:
    """Print the tables."""
    questions = load("food2d").questions
    pools = [ua.Pool.from_texts(q.text, q.candidates) for q in questions]
    print("| axis | remarks | read by | pairs in order | pools turned the right way |")
    print("|---|---|---|---|---|")
    for axis, remarks in REMARKS.items():
        for name, part in (("first 10", remarks[:10]), ("later 5", remarks[10:])):
            for reader in READERS:
                shares = [
                    hits(
                        pool.features @ direction_of(text, pool, embedder=reader),
                        sign * np.array([c.meta[axis] for c in pool]),
                    )
                    for text, sign in part
                    for pool in pools
                ]
                right = np.mean(np.array(shares) > 0.5)
                print(f"| {axis} | {name} | {reader} | {np.mean(shares):.2f} | {right:.2f} |")
    print("\nUserAlign with pairs: the share of the pool that the answer is at least as good as\n")
    print("| person | remark at the start | 0 | 2 | 4 | 8 pairs |\n|---|---|---|---|---|---|")
    for axis, text, sign in (("spiciness", "less spicy", -1), ("veginess", "more vegetables", 1)):
        for remark in (None, text):
            rows = [
                after(pool, sign * np.array([c.meta[axis] for c in pool]), remark, seed)
                for seed in range(10)
                for pool in pools
            ]
            cells = " | ".join(f"{x:.2f}" for x in np.mean(rows, axis=0))
            print(f"| wants {text} | {remark or 'none'} | {cells} |")


if __name__ == "__main__":
    main()
