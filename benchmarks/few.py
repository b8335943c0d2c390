"""The preset for a person: stated confidence against the truth, and what a step costs.

    python -m benchmarks.few [RUNS]

Personas of the shipped text questions answer five screens each, without slips, and with 5 and 10%
of all clicks wrong. A click is wrong between two candidates: picking the best of four takes three.
A thousand people who toss a coin and a thousand who find all equal meet the preset as it is.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from itertools import cycle, islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

import useralign as ua
from useralign.lab.bench.contest import BenchCell, contest
from useralign.presets import SURE
from useralign.users import Erring, converse

if TYPE_CHECKING:
    from useralign.lab.bench.cases import Case

DOMAINS = ("food64d", "travel64d", "dsp64d")
BINS = (0.0, 0.4, 0.6, 0.8, 0.9, 1.01)
CROWD = 1000


def five_screens(case: Case, rate: float, seed: int) -> list[tuple[float, bool]]:
    """Return after each screen the stated probability, and whether it was right."""
    session = ua.Session.few(case.pool, seed, sure=1.0, gain=0.0)
    third = np.sort(case.worth)[-3]
    return [
        (session.confidence.probability, bool(case.worth[session.best.index] >= third))
        for _ in ua.simulate(session, Erring(case.user(), rate, seed=seed))
        if session.confidence is not None
    ]


def end_of(screens: list[tuple[float, bool]]) -> tuple[int, float, bool]:
    """Return where the preset stops: the number of screens, the probability, and the truth."""
    sure = (t for t, (stated, _) in enumerate(screens, start=1) if stated >= SURE)
    stop = next(sure, len(screens))
    return (stop, *screens[stop - 1])


def calibration(cells: list[BenchCell], rate: float) -> None:
    """Print what was stated and what was true."""
    people = [five_screens(cell.case(), rate, seed) for seed, cell in enumerate(cells)]
    ends = np.array([end_of(screens) for screens in people], dtype=float)
    screens, stated, true = ends.mean(axis=0)
    print(f"\n{rate:.0%} of clicks wrong, {len(people)} sessions, {screens:.2f} screens on average")
    print(f"at the end      stated {stated:.2f}  true {true:.2f}")
    rows = np.array([row for screens in people for row in screens], dtype=float)
    for low, high in pairwise(BINS):
        here = rows[(rows[:, 0] >= low) & (rows[:, 0] < high)]
        if len(here):
            stated, true = here.mean(axis=0)
            span = f"{low:.1f} to {min(high, 1):.1f} {len(here):5d}"
            print(f"{span}  stated {stated:.2f}  true {true:.2f}")


def indifferent(cells: list[BenchCell]) -> None:
    """Print how sessions end with somebody who finds all equal."""
    ends: Counter[str] = Counter()
    for seed, cell in enumerate(islice(cycle(cells), CROWD)):
        session = ua.Session.few(cell.case().pool, seed)
        while session.ask() is not None:
            session.equal()
        ends[f"{session.cost} screens, {session.stop_reason}"] += 1
    print("\nall equal:", dict(ends))


def coins(cells: list[BenchCell]) -> None:
    """Print how sessions end with somebody whose clicks mean nothing."""
    ends: Counter[str] = Counter()
    rows = []
    for seed, cell in enumerate(islice(cycle(cells), CROWD)):
        case = cell.case()
        session = converse(ua.Session.few(case.pool, seed), Erring(case.user(), 0.5, seed=seed))
        ends[f"{session.cost} screens, {session.stop_reason}"] += 1
        if (confidence := session.confidence) is not None:
            third = np.sort(case.worth)[-3]
            rows.append((confidence.probability, case.worth[session.best.index] >= third))
    stated, true = np.mean(rows, axis=0)
    print(f"\nby the toss of a coin: {dict(ends)}\nstated {stated:.2f}  true {true:.2f}")


def speed(domain: str, per_screen: int) -> None:
    """Print the CPU milliseconds of a step: taking an answer and deciding on the next screen."""
    spent = []
    for cell in contest(["frugal"], [domain], runs=1).cells()[::6]:
        case = cell.case()
        session, user = ua.Session.few(case.pool, per_screen=per_screen), case.user()
        while (comparison := session.ask()) is not None:
            began = time.process_time()
            session.tell(user.pick(comparison))
            session.ask()
            spent.append(1e3 * (time.process_time() - began))
    print(f"{domain}, {per_screen}: {np.median(spent):.0f} ms per step, at most {max(spent):.0f}")


def main() -> None:
    """Print all."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    for domain, per_screen in (("food64d", 4), ("visual512d", 9), ("visual512d", 6)):
        speed(domain, per_screen)
    cells = contest(["frugal"], DOMAINS, runs=runs).cells()
    for rate in (0.0, 0.05, 0.1):
        calibration(cells, rate)
    indifferent(cells)
    coins(cells)


if __name__ == "__main__":
    main()
