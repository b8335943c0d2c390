"""How often words hide what they should, and what a wish is worth: docs/feedback.md's tables.

Every text was read; `tests/wishes/labels.json` has those that break a wish, by name or because the
dish is made of it.

python -m benchmarks.wishes
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

import useralign as ua
from benchmarks.course import course
from useralign.domains import load
from useralign.users import UtilityUser
from useralign.wishes import judge

PEOPLE = (
    ("spiciness", 1, "spicy"),
    ("spiciness", -1, "less spicy"),
    ("veginess", 1, "more vegetables"),
    ("veginess", 1, "vegetarian"),
)
LABELS = Path(__file__).parents[1] / "tests" / "wishes" / "labels.json"


class Count(NamedTuple):
    """How often a wish was right."""

    hidden: int
    right: int
    wanted: int

    @property
    def precision(self) -> float:
        """The share of the hidden that break the wish."""
        return self.right / self.hidden

    @property
    def recall(self) -> float:
        """The share of those that break the wish which are hidden."""
        return self.right / self.wanted


def count(wish: str, breaking: set[str]) -> Count:
    """Return how a wish fares over the ten questions; candidates are named `01u05`."""
    hidden: set[str] = set()
    for question in load("food64d").questions:
        size = len(question.candidates)
        pool = ua.Pool(question.text, question.candidates, np.eye(size))
        number = question.id.rpartition("-")[2]
        hidden |= {f"{number}{pool[k].id}" for k in judge(wish, pool).hidden}
    return Count(len(hidden), len(hidden & breaking), len(breaking))


def after(pool: ua.Pool, worth: np.ndarray, wish: str | None, seed: int) -> list[float]:
    """Return what share of the pool the answer is as good as after 0 to 3 screens, and the cost."""
    session = ua.Session.few(pool, seed=seed)
    if wish is not None:
        session.wish(wish)
    user = UtilityUser(lambda candidate: float(worth[candidate.index]))
    shares = course(session, user, most=5)
    return [*(shares[min(screens, len(shares) - 1)] for screens in range(4)), session.cost]


def main() -> None:
    """Print the tables."""
    print("| wish | break it | hidden | precision | recall |\n|---|---|---|---|---|")
    for wish, breaking in json.loads(LABELS.read_text(encoding="utf-8")).items():
        row = count(wish, set(breaking))
        print(f"| {wish} | {row.wanted} | {row.hidden} | {row.precision:.2f} | {row.recall:.2f} |")
    print("\n| person | wish | 0 | 1 | 2 | 3 screens | at the end |\n|---|---|---|---|---|---|---|")
    truth = {question.id: question for question in load("food2d").questions}
    pools = {question.id: question.pool() for question in load("food64d").questions}
    for axis, sign, text in PEOPLE:
        for wish in (None, text):
            rows = []
            for name, pool in pools.items():
                meta = {candidate.id: candidate.meta for candidate in truth[name].candidates}
                worth = sign * np.array([meta[candidate.id][axis] for candidate in pool])
                rows += [after(pool, worth, wish, seed) for seed in range(4)]
            *cells, cost = np.mean(rows, axis=0)
            numbers = " | ".join(f"{share:.2f}" for share in cells)
            print(f"| {'most' if sign > 0 else 'least'} {axis} | {wish} | {numbers} | {cost:.1f} |")


if __name__ == "__main__":
    main()
