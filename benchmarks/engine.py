"""Speed of a step: our engine against the paper's solver, on identical data, in one run.

    make bench        # or: python -m benchmarks.engine [--quick]

Each case runs in a process of its own, with one thread for the linear algebra, so that its peak
memory is its own. Prints tables, writes benchmarks/results/engine.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
RESULTS = Path(__file__).parent / "results"
# dimension, candidates, interactions with ours, interactions with the reference, most steps
AGAINST = [(2, 20, 100, 3, 60), (64, 20, 50, 2, 60), (512, 40, 20, 1, 80)]
ALONE = [(64, 1_000, 5, 20), (64, 100_000, 2, 20), (64, 1_000_000, 1, 20)]
GROWTH = {
    "t": [(64, 20, t) for t in (5, 10, 20, 40, 80, 160)],
    "d": [(d, 20, 20) for d in (2, 16, 64, 256, 1024)],
    "K": [(64, k, 20) for k in (10, 100, 1_000, 10_000)],
}


def interaction(
    *, dimension: int, count: int, seed: int, backend: str, steps: int, fixed: bool
) -> dict[str, Any]:
    """Run one interaction with a consistent user; time each part of each step."""
    import numpy as np

    from useralign.methods.paper import BACKENDS

    rng = np.random.default_rng([dimension, count, seed])
    features = rng.normal(size=(count, dimension))
    norms = np.linalg.norm(features, axis=1)
    features /= 2.0 * (norms.max() if dimension == 2 else norms[:, None])
    taste = features @ rng.normal(size=dimension)
    engine = BACKENDS[backend](features, 3.0, 0.05, True)
    incumbent = int(rng.integers(count))
    parts: dict[str, list[float]] = {"mle": [], "y1": [], "y2": []}
    for step in range(steps):
        start = time.perf_counter()
        theta = engine.estimate()
        fitted = time.perf_counter()
        if step:
            scores = features @ theta
            incumbent = int((scores >= scores.max() - 3e-9).argmax())
        scored = time.perf_counter()
        challenger, _ = engine.challenge(incumbent)
        end = time.perf_counter()
        adding = 0.0
        if challenger is None and fixed:
            challenger = (incumbent + 1 + int(rng.integers(count - 1))) % count
        if challenger is not None:
            pair = (incumbent, challenger)
            winner, loser = pair if taste[incumbent] >= taste[challenger] else pair[::-1]
            before = time.perf_counter()
            engine.add(winner, loser)
            adding = time.perf_counter() - before
        for part, seconds in (("mle", fitted - start), ("y1", scored - fitted)):
            parts[part].append(seconds)
        parts["y2"].append(end - scored + adding)
        if challenger is None:
            break
    best = bool(taste[incumbent] == taste.max())
    return {"steps": len(parts["mle"]), "found_best": best, **parts}


def case(arguments: dict[str, Any]) -> dict[str, Any]:
    """Run several interactions and sum up: seconds per step, in parts, and peak memory."""
    repeats = arguments.pop("repeats")
    backend = arguments["backend"]
    # Imports and first calls are not a step's business.
    interaction(dimension=8, count=5, seed=0, backend=backend, steps=3, fixed=True)
    runs = [interaction(seed=seed, **arguments) for seed in range(repeats)]
    steps = sum(run["steps"] for run in runs)
    means = {part: sum(sum(run[part]) for run in runs) / steps for part in ("mle", "y1", "y2")}
    last = [sum(run[part][-1] for part in ("mle", "y1", "y2")) for run in runs]
    slowest = max(max(map(sum, zip(*(run[p] for p in means), strict=True))) for run in runs)
    return {
        "steps": steps / len(runs),
        "seconds": sum(means.values()),
        **means,
        "last_step": sum(last) / len(last),
        "slowest_step": slowest,
        "found_best": sum(run["found_best"] for run in runs) / len(runs),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def in_process(**arguments: Any) -> dict[str, Any]:
    """Run `case` in a new process, single-threaded."""
    environment = os.environ | dict.fromkeys(THREADS, "1")
    command = [sys.executable, "-m", "benchmarks.engine", "--case", json.dumps(arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def against_reference(quick: bool) -> list[dict[str, Any]]:
    """Measure both backends on the same pools and users."""
    rows = []
    for dimension, count, ours, theirs, steps in AGAINST[: 2 if quick else None]:
        print(f"  {dimension}-d, {count} candidates: both backends ...", file=sys.stderr)
        shape = {"dimension": dimension, "count": count, "steps": steps, "fixed": False}
        exact = in_process(**shape, backend="exact", repeats=ours)
        reference = in_process(**shape, backend="reference", repeats=1 if quick else theirs)
        ratio = reference["seconds"] / exact["seconds"]
        rows.append({**shape, "exact": exact, "reference": reference, "ratio": ratio})
    return rows


def alone(quick: bool) -> list[dict[str, Any]]:
    """Measure our engine on pools that the reference cannot take."""
    rows = []
    for dimension, count, repeats, steps in ALONE[: 2 if quick else None]:
        print(f"  {dimension}-d, {count:,} candidates: ours ...", file=sys.stderr)
        shape = {"dimension": dimension, "count": count, "steps": steps + 1, "fixed": True}
        rows.append({**shape, "exact": in_process(**shape, backend="exact", repeats=repeats)})
    return rows


def growth() -> dict[str, list[dict[str, Any]]]:
    """Measure the last step of interactions of growing t, d and K."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for axis, points in GROWTH.items():
        print(f"  growth with {axis} ...", file=sys.stderr)
        tables[axis] = [
            {"d": d, "K": k, "t": t}
            | in_process(dimension=d, count=k, steps=t + 1, fixed=True, backend="exact", repeats=10)
            for d, k, t in points
        ]
    return tables


def show(results: dict[str, Any]) -> None:
    """Print the tables."""
    print("\nWhole interactions, eps = 0, consistent user; milliseconds per step\n")
    print("| pool | backend | steps | step | MLE | y1 | y2 | peak MB | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in results["against_reference"]:
        name = f"{row['dimension']}-d, {row['count']}"
        for backend in ("reference", "exact"):
            ratio = f"{row['ratio']:,.0f}x" if backend == "exact" else ""
            print(f"| {name} | {backend} | {_figures(row[backend])} | {ratio} |")
    for row in results["alone"]:
        name = f"{row['dimension']}-d, {row['count']:,}"
        print(f"| {name} | exact | {_figures(row['exact'])} | |")
    for axis, rows in results["growth"].items():
        print(f"\nGrowth with {axis}: milliseconds of the last step\n")
        print("| " + " | ".join([axis, *(f"{r[axis]:,}" for r in rows)]) + " |")
        print("|---" * (len(rows) + 1) + "|")
        print("| " + " | ".join(["ms", *(f"{1e3 * r['last_step']:.3f}" for r in rows)]) + " |")


def _figures(measured: dict[str, Any]) -> str:
    parts = [f"{1e3 * measured[key]:,.3f}" for key in ("seconds", "mle", "y1", "y2")]
    return " | ".join([f"{measured['steps']:.1f}", *parts, f"{measured['peak_mb']:,.0f}"])


def main() -> None:
    """Measure everything, or one case when called by `in_process`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave the slowest cases out")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(case(json.loads(options.case))))
        return
    from useralign.geometry import kernel

    results = {
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "kernel": kernel.name(),
        "against_reference": against_reference(options.quick),
        "alone": alone(options.quick),
        "growth": growth(),
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "engine.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    show(results)


if __name__ == "__main__":
    main()
