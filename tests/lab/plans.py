"""Plans for tests, and a process of its own that runs one, for a test to end."""

from __future__ import annotations

import sys

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

SLOW = SMALL.replace("seeds = 2", "seeds = 8").replace("30", "70").replace("20", "60")

if __name__ == "__main__":
    from useralign.lab.plan import parse_plan
    from useralign.lab.runner import run_plan

    run_plan(parse_plan(SLOW), sys.argv[1], jobs=2)
