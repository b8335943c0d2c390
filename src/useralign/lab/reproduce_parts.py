"""The parts of a reproduction: each runs what it needs and adds a section to the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from useralign import domains
from useralign.domains import large, synthetic
from useralign.lab import (
    claims,
    claims_figures,
    figures_example,
    figures_space,
    paper,
    tables_build,
)
from useralign.lab import figures as draw
from useralign.lab import versionspace as space
from useralign.lab import versionspace_curves as shrinking
from useralign.lab.cells import embedder_of, pool_of
from useralign.lab.reproduce_clock import wall_clock
from useralign.lab.reproduce_costs import costs
from useralign.lab.reproduce_large import run_large
from useralign.lab.results import Results, select
from useralign.models.embedders import default_name
from useralign.users import Consistent

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from useralign.lab.reproduce import Bench
    from useralign.lab.tables_build import Cells

_STRIP = {"useralign_loss": (0, 1, 25, 50, 100), "useralign": (0, 1, 2, 3, 4)}
_BECAUSE = {
    "btl": "BTL users answer at random around their taste, more so the closer two answers are, "
    "while UserAlign takes every answer as certain: a wrong one can rule out the best.",
    "consistent": "",
}
_SEED = 4  # of the pool and the user that Figure 2 shows


def figure2(bench: Bench) -> None:
    """Draw version spaces in synthetic2d, and how fast they shrink."""
    part = bench.section(
        "Figure 2: geometric convergence in two dimensions",
        "Candidates are points of the ball of radius 0.5, stretched here to the disc of radius "
        "3 in which the preference vector lies.",
    )
    bench.tell("figure 2", 0, 2)
    pool = synthetic.pool(_SEED)
    trails = {
        method: space.trace(pool, Consistent(pool, seed=_SEED), method, budget=101, seed=_SEED)
        for method in _STRIP
    }
    truth = Consistent(pool, seed=_SEED).theta
    bench.figure(
        part,
        figures_space.strip(trails, pool.features, _STRIP, truth),
        "figure2-sets",
        "The loss-based set shrinks slowly; the practical set by a half-plane an answer. "
        "Dashed: the borders of the half-planes.",
    )
    bench.tell("figure 2", 1, 2)
    curves = shrinking.measure()
    bench.figure(
        part,
        figures_space.curves_figure(curves),
        "figure2-curves",
        f"Area of the confidence set as a part of the disc, viable candidates and the bound, "
        f"mean and standard error over {curves.runs} runs.",
    )
    bench.table(part, curves.table())
    bench.claim(claims_figures.shrinks_faster(curves))
    bench.tell("figure 2", 2, 2)


def figure3(bench: Bench) -> None:
    """Draw food2d with users whose taste lies in the features."""
    part = bench.section("Figure 3: food2d, users modelled in two dimensions")
    cells = bench.run("figure3").cells
    bench.figure(
        part,
        draw.users_figure(cells, "food2d", ("btl", "consistent")),
        "figure3",
        "Win-rate against cost (top) and after a fixed number of steps (bottom).",
    )
    for kind, name in (("btl", "BTL"), ("consistent", "Consistent")):
        mine = select(cells, domain="food2d", user_kind=kind)
        bench.table(part, tables_build.trade_off(mine, "food2d", kind=kind))
        bench.claim(claims_figures.better_at_equal_cost(f"food2d, {name}", mine, _BECAUSE[kind]))


def figure4(bench: Bench) -> None:
    """Draw the four domains with personas."""
    part = bench.section("Figure 4: arbitrary preference spaces")
    results = bench.run("main")
    bench.figure(
        part,
        draw.domains_figure(results.cells, _present(results)),
        "figure4",
        "Win-rate against cost; a point for each ε or budget.",
    )
    for domain in _present(results):
        mine = select(results.cells, domain=domain)
        bench.claim(claims_figures.better_at_equal_cost(domain, mine))


def tables(bench: Bench) -> None:
    """Fill the two large tables of the appendix."""
    part = bench.section("Results in tabular form", _note_on_data(bench.run("main")))
    results = bench.run("main")
    for domain in _present(results):
        bench.table(part, tables_build.trade_off(results.cells, domain))
    bench.claim(claims.check(results.cells))


def head_to_head(bench: Bench) -> None:
    """Set UserAlign against iidBest, one to one."""
    part = bench.section("Head to head")
    results = bench.run("main")
    table = tables_build.head_to_heads(results, _present(results))
    bench.table(part, table)
    bench.claim(claims_figures.wins_head_to_head(table))


def large_pool(bench: Bench) -> None:
    """Run the pool of N = 1,000 answers."""
    part = bench.section(
        "A large pool",
        "One question with 1,000 answers and 30 people: those of food64d and 700 composed for "
        "this table.",
    )
    cells = run_large(bench.seeds, lambda done, n, left: bench.tell("large pool", done, n, left))
    made = {large.NAME: default_name("text")}
    results = Results("large-pool", made, cells)
    bench.written.append(results.write(bench.out / "runs" / f"large-pool-{bench.seeds}"))
    bench.table(part, tables_build.large_pool(cells))
    bench.claim(claims_figures.scales_to_large_pools(cells))


def wall_clocks(bench: Bench) -> None:
    """Measure seconds a step."""
    part = bench.section("Wall-clock")
    bench.tell("wall-clock", 0, 1)
    table = wall_clock()
    bench.table(part, table)
    bench.claim(claims_figures.under_a_second(table))
    bench.tell("wall-clock", 1, 1)


def what_it_costs(bench: Bench) -> None:
    """Estimate dollars, measure seconds."""
    bench.tell("costs", 0, 1)
    bench.table(bench.section("Costs"), costs())
    bench.tell("costs", 1, 1)


def food2d(bench: Bench) -> None:
    """Show the worked example with its version spaces, and food2d with personas."""
    part = bench.section(
        "food2d: a worked example, and personas",
        "A person who eats plants and avoids all heat: spiciness -1, veginess 1.",
    )
    pool = domains.load("food2d").questions[0].pool()
    truth = 3.0 * np.array([-1.0, 1.0]) / np.sqrt(2.0)
    trail = space.trace(pool, Consistent(pool, truth), seed=2)
    bench.figure(
        part,
        figures_example.example_figure(trail, pool, truth),
        "food2d-example",
        "Each answer cuts a half-plane from what is possible; a green frame marks the preferred.",
    )
    for step in trail:
        picture = figures_space.step_figure(step, pool.features, truth)
        bench.written += draw.save(picture, bench.out / "figures", f"food2d-step-{step.t:02d}")
    cells = bench.run("food2d-personas").cells
    bench.figure(
        part,
        draw.users_figure(cells, "food2d", ("persona",)),
        "food2d-personas",
        "food2d with personas, whose taste need not lie in the two features.",
    )
    mine = select(cells, domain="food2d", user_kind="persona")
    bench.table(part, tables_build.trade_off(mine, "food2d", kind="persona"))
    bench.claim(claims_figures.better_at_equal_cost("food2d, personas", mine))


def unbiased(bench: Bench) -> None:
    """Draw and tabulate pools of answers written for no interest in particular."""
    part = bench.section("Unbiased pools")
    results = bench.run("unbiased")
    bench.figure(
        part,
        draw.domains_figure(results.cells, _present(results), "unbiased"),
        "unbiased",
        "Win-rate against cost with pools of unbiased answers alone.",
    )
    for domain in _present(results):
        bench.table(part, tables_build.trade_off(results.cells, domain, "unbiased"))
        mine = select(results.cells, domain=domain)
        bench.claim(claims_figures.better_at_equal_cost(f"{domain}, unbiased pools", mine))


PARTS: dict[str, Callable[[Bench], None]] = {
    "figure2": figure2,
    "figure3": figure3,
    "figure4": figure4,
    "tables": tables,
    "head-to-head": head_to_head,
    "large-pool": large_pool,
    "wall-clock": wall_clocks,
    "costs": what_it_costs,
    "food2d": food2d,
    "unbiased": unbiased,
}


def _present(results: Results) -> list[str]:
    """Return the paper's domains that were run, in its order."""
    there = {cell["domain"] for cell in results.cells}
    return [domain for domain in paper.DOMAINS if domain in there]


def _note_on_data(results: Results) -> str:
    cells: Cells = results.cells
    asked = len({(c["domain"], c["question"]) for c in cells})
    text = (
        f"{asked} questions. The answers and the people are our own writing, and the people rank "
        "all answers once and for all; the paper's were made and played by models. So the "
        "numbers can be near the paper's, not the same."
    )
    text += (
        " Thresholds are in units of 3 times a distance between features, so that costs at ε "
        "between 0.1 and 1 depend on how far apart an embedder puts the answers: here the mean "
        f"distance is {_distances(results)}, where 0.71 is that of unrelated directions."
    )
    if absent := [d for d in paper.DOMAINS if d not in _present(results)]:
        text += f" Not run here: {', '.join(absent)}."
    return text


def _distances(results: Results) -> str:
    """Say how far apart two answers to one question are on average, in each domain."""
    parts = []
    for domain in _present(results):
        embedder = results.embedders.get(domain) or embedder_of(domains.load(domain))
        asked = sorted({c["question"] for c in results.select(domain=domain)})
        means = [_mean_distance(pool_of(domain, "mixed", q, embedder).features) for q in asked]
        parts.append(f"{np.mean(means):.2f} on {domain} ({embedder})")
    return ", ".join(parts)


def _mean_distance(features: NDArray[np.float64]) -> float:
    gaps = np.linalg.norm(features[:, None, :] - features[None, :, :], axis=2)
    return float(gaps.sum() / (len(gaps) * (len(gaps) - 1)))
