"""Plans and an engine for tests, and a process of its own that runs one, for a test to end."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from useralign.lab.cell import Cell
from useralign.lab.dispatch import CellOutcome, Dispatcher, run_batch

METHODS = """
[[methods]]
name = "useralign"
modes = ["epsilon", "budget"]
options = { reask = true }

[[methods]]
name = "useralign_loss"
modes = ["epsilon", "budget"]

[[methods]]
name = "iidbest"
modes = ["budget"]

[[methods]]
name = "random"
modes = ["budget"]

[[methods]]
name = "oracle"
modes = ["budget"]
"""

SMALL = f"""
name = "small"
seeds = 2
limit = 30
budget = 20

[[domains]]
name = "food2d"
questions = ["food-01", "food-02"]

[[users]]
kind = "persona"
count = 1

[[users]]
kind = "btl"
count = 1
{METHODS}
"""

SLOW = SMALL.replace("seeds = 2", "seeds = 3").replace("30", "70").replace("20", "60")


class Here(Dispatcher):
    """Computes in this process, backwards."""

    jobs = 1

    def __init__(self, stop_after: int = 10**6) -> None:
        self.left = stop_after

    def run(self, batches: Sequence[Sequence[Cell]]) -> Iterator[list[CellOutcome]]:
        for batch in reversed(batches):
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            yield run_batch(batch)


if __name__ == "__main__":
    from useralign.lab.plan import parse_plan
    from useralign.lab.runner import run_plan

    run_plan(parse_plan(SLOW), sys.argv[1], jobs=2)
