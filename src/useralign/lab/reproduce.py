"""The paper's evaluation from one call: `reproduce("all", "out")`.

out/runs/      what the plans' runs left; a second call goes on from there
out/tables/    every table as Markdown, CSV and JSON
out/figures/   every figure as PNG and SVG
out/report.html, report.md, verdicts.json

Each part runs what it needs and adds a section to the report.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import useralign
from useralign import domains
from useralign.checks import whole
from useralign.domains import synthetic
from useralign.errors import OptionError
from useralign.lab import claims, costs, figures, paper, tables, versionspace
from useralign.lab.cell import embedder_of, pool_of
from useralign.lab.journal import select
from useralign.lab.plan import read_plan
from useralign.lab.report import Picture, Report, Section
from useralign.lab.runner import run_plan
from useralign.users import Consistent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from useralign.lab.claims import Verdict
    from useralign.lab.journal import Results
    from useralign.lab.tables import Table

    Progress = Callable[[str, int, int, float | None], None]

_STRIP = {"useralign_loss": (0, 1, 25, 50, 100), "useralign": (0, 1, 2, 3, 4)}
_BECAUSE = {
    "btl": "BTL users answer at random around their taste, more so the closer two answers are, "
    "while UserAlign takes every answer as certain: a wrong one can rule out the best.",
    "consistent": "",
}
_SEED = 4  # of the pool and the user that Figure 2 shows


@dataclass(slots=True)
class Reproduction:
    """A reproduction in the making: it runs plans and collects what is made of them.

    Parameters
    ----------
    out : Path
    engine : {"local", "dask"}
    scheduler : str, optional
    jobs : int, optional
    seeds : int
    progress : callable, optional
        Called with a label, the number done, the total and the seconds left, if known.
    """

    out: Path
    engine: str = "local"
    scheduler: str | None = None
    jobs: int | None = None
    seeds: int = 5
    progress: Progress | None = None
    report: Report = field(default_factory=lambda: Report("The paper's evaluation, reproduced"))
    written: list[Path] = field(default_factory=list)
    _runs: dict[str, Results] = field(default_factory=dict)

    def run(self, name: str) -> Results:
        """Run a plan with this number of seeds, or take up its finished run.

        Parameters
        ----------
        name : str
            Of a shipped plan, or the path of one.
        """
        if name not in self._runs:
            plan = read_plan(name).replace(seeds=self.seeds)
            self._runs[name] = run_plan(
                plan,
                self.out / "runs" / f"{plan.name}-{self.seeds}",
                engine=self.engine,
                jobs=self.jobs,
                scheduler=self.scheduler,
                progress=lambda done, total, left: self.advance(plan.name, done, total, left),
            )
            self.report.facts["features"] = self._features()
        return self._runs[name]

    def _features(self) -> str:
        """Return what made the features of each domain, as a sentence."""
        domains_of: dict[str, list[str]] = {}
        for results in self._runs.values():
            for domain, embedder in results.embedders.items():
                if domain not in domains_of.setdefault(embedder, []):
                    domains_of[embedder].append(domain)
        return "; ".join(f"{name} ({', '.join(names)})" for name, names in domains_of.items())

    def advance(self, label: str, done: int, total: int, left: float | None = None) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(label, done, total, left)

    def section(self, title: str, text: str = "") -> Section:
        """Begin a section of the report."""
        part = Section(title, text)
        self.report.sections.append(part)
        return part

    def table(self, part: Section, table: Table) -> None:
        """Write a table and put it into a section."""
        self.written += table.write(self.out / "tables")
        part.tables.append(table)

    def figure(self, part: Section, figure: Figure, name: str, caption: str) -> None:
        """Write a figure and put it into a section."""
        paths = figures.save(figure, self.out / "figures", name)
        self.written += paths
        part.pictures.append(Picture(paths[0], caption))

    def claim(self, verdicts: Iterable[Verdict]) -> None:
        """Add verdicts to the report."""
        self.report.verdicts += verdicts

    def finish(self) -> Report:
        """Write the report."""
        self.written += self.report.write(self.out)
        return self.report


def reproduce(
    what: str = "all",
    out: str | Path = "reproduction",
    *,
    engine: str = "local",
    scheduler: str | None = None,
    jobs: int | None = None,
    seeds: int = 5,
    progress: Progress | None = None,
) -> Reproduction:
    """Reproduce the paper's evaluation, or a part of it, into a folder.

    Parameters
    ----------
    what : str
        One of `TARGETS`.
    out : str or Path
        Made when it is not there. Work that is finished there is not done again.
    engine, scheduler, jobs
        As for `run_plan`.
    seeds : int
        The paper has 5.
    progress : callable, optional
        Called with a label, the number done, the total and the seconds left, if known.

    Returns
    -------
    Reproduction
        With the `report`, and `written`, the paths of all files.

    Raises
    ------
    OptionError
        If `what` is not known.
    MissingExtraError
        If figures are asked for and matplotlib is not installed.
    """
    if what not in TARGETS:
        raise OptionError(f"cannot reproduce {what!r}; expected one of {', '.join(TARGETS)}")
    seeds = whole("seeds", seeds, least=1)
    work = Reproduction(Path(out), engine, scheduler, jobs, seeds, progress)
    work.report.facts["useralign"] = useralign.__version__
    work.report.facts["seeds"] = str(seeds)
    for name in PARTS if what == "all" else (what,):
        PARTS[name](work)
    work.finish()
    return work


def figure2(work: Reproduction) -> None:
    """Draw version spaces in synthetic2d, and how fast they shrink."""
    part = work.section(
        "Figure 2: geometric convergence in two dimensions",
        "Candidates are points of the ball of radius 0.5, stretched here to the disc of radius "
        "3 in which the preference vector lies.",
    )
    work.advance("figure 2", 0, 2)
    pool = synthetic.pool(_SEED)
    trails = {
        method: versionspace.trace(
            pool, Consistent(pool, seed=_SEED), method, budget=101, seed=_SEED, keep=times
        )
        for method, times in _STRIP.items()
    }
    truth = Consistent(pool, seed=_SEED).theta
    work.figure(
        part,
        figures.strip(trails, pool.features, _STRIP, truth),
        "figure2-sets",
        "The loss-based set shrinks slowly; the practical set by a half-plane an answer. "
        "Dashed: the borders of the half-planes.",
    )
    work.advance("figure 2", 1, 2)
    curves = versionspace.measure_curves()
    work.figure(
        part,
        figures.curves_figure(curves),
        "figure2-curves",
        f"Area of the confidence set as a part of the disc, viable candidates and the bound, "
        f"mean and standard error over {curves.runs} runs.",
    )
    work.table(part, curves.table())
    work.claim(claims.shrinks_faster(curves))
    work.advance("figure 2", 2, 2)


def figure3(work: Reproduction) -> None:
    """Draw food2d with users whose taste lies in the features."""
    part = work.section("Figure 3: food2d, users modelled in two dimensions")
    cells = work.run("figure3").cells
    work.figure(
        part,
        figures.users_figure(cells, "food2d", ("btl", "consistent")),
        "figure3",
        "Win-rate against cost (top) and after a fixed number of steps (bottom).",
    )
    for kind, name in (("btl", "BTL"), ("consistent", "Consistent")):
        ours = select(cells, domain="food2d", user_kind=kind)
        work.table(part, tables.trade_off(ours, "food2d", kind=kind))
        work.claim(claims.better_at_equal_cost(f"food2d, {name}", ours, _BECAUSE[kind]))


def figure4(work: Reproduction) -> None:
    """Draw the four domains with personas."""
    part = work.section("Figure 4: arbitrary preference spaces")
    results = work.run("main")
    work.figure(
        part,
        figures.domains_figure(results.cells, _present(results)),
        "figure4",
        "Win-rate against cost; a point for each ε or budget.",
    )
    for domain in _present(results):
        ours = select(results.cells, domain=domain)
        work.claim(claims.better_at_equal_cost(domain, ours))


def all_tables(work: Reproduction) -> None:
    """Fill the two large tables of the appendix."""
    part = work.section("Results in tabular form", _note_on_data(work.run("main")))
    results = work.run("main")
    for domain in _present(results):
        work.table(part, tables.trade_off(results.cells, domain))
    work.claim(claims.check(results.cells))


def head_to_head(work: Reproduction) -> None:
    """Set UserAlign against iidBest, one to one."""
    part = work.section("Head to head")
    results = work.run("main")
    table = tables.head_to_heads(results, _present(results))
    work.table(part, table)
    work.claim(claims.wins_head_to_head(table))


def large_pool(work: Reproduction) -> None:
    """Run the pool of N = 1,000 answers."""
    part = work.section(
        "A large pool",
        "One question with 1,000 answers and 30 people: those of food64d and 700 composed for "
        "this table.",
    )
    cells = work.run("large-pool").cells
    work.table(part, tables.large_pool(cells))
    work.claim(claims.scales_to_large_pools(cells))


def wall_clocks(work: Reproduction) -> None:
    """Measure seconds a step."""
    part = work.section("Wall-clock")
    work.advance("wall-clock", 0, 1)
    table = costs.wall_clock()
    work.table(part, table)
    work.claim(claims.under_a_second(table))
    work.advance("wall-clock", 1, 1)


def what_it_costs(work: Reproduction) -> None:
    """Estimate dollars, measure seconds."""
    work.advance("costs", 0, 1)
    work.table(work.section("Costs"), costs.costs())
    work.advance("costs", 1, 1)


def food2d(work: Reproduction) -> None:
    """Show the worked example with its version spaces, and food2d with personas."""
    part = work.section(
        "food2d: a worked example, and personas",
        "A person who eats plants and avoids all heat: spiciness -1, veginess 1.",
    )
    pool = domains.load("food2d").questions[0].pool()
    truth = 3.0 * np.array([-1.0, 1.0]) / np.sqrt(2.0)
    trail = versionspace.trace(pool, Consistent(pool, truth), seed=2)
    work.figure(
        part,
        figures.example_figure(trail, pool, truth),
        "food2d-example",
        "Each answer cuts a half-plane from what is possible; a green frame marks the preferred.",
    )
    for step in trail:
        picture = figures.step_figure(step, pool.features, truth)
        work.written += figures.save(picture, work.out / "figures", f"food2d-step-{step.t:02d}")
    cells = work.run("food2d-personas").cells
    work.figure(
        part,
        figures.users_figure(cells, "food2d", ("persona",)),
        "food2d-personas",
        "food2d with personas, whose taste need not lie in the two features.",
    )
    ours = select(cells, domain="food2d", user_kind="persona")
    work.table(part, tables.trade_off(ours, "food2d", kind="persona"))
    work.claim(claims.better_at_equal_cost("food2d, personas", ours))


def unbiased(work: Reproduction) -> None:
    """Draw and tabulate pools of answers written for no interest in particular."""
    part = work.section("Unbiased pools")
    results = work.run("unbiased")
    work.figure(
        part,
        figures.domains_figure(results.cells, _present(results), "unbiased"),
        "unbiased",
        "Win-rate against cost with pools of unbiased answers alone.",
    )
    for domain in _present(results):
        work.table(part, tables.trade_off(results.cells, domain, "unbiased"))
        ours = select(results.cells, domain=domain)
        work.claim(claims.better_at_equal_cost(f"{domain}, unbiased pools", ours))


PARTS: dict[str, Callable[[Reproduction], None]] = {
    "figure2": figure2,
    "figure3": figure3,
    "figure4": figure4,
    "tables": all_tables,
    "head-to-head": head_to_head,
    "large-pool": large_pool,
    "wall-clock": wall_clocks,
    "costs": what_it_costs,
    "food2d": food2d,
    "unbiased": unbiased,
}
TARGETS = ("all", *PARTS)


def _present(results: Results) -> list[str]:
    """Return the paper's domains that were run, in its order."""
    present = {cell["domain"] for cell in results.cells}
    return [domain for domain in paper.DOMAINS if domain in present]


def _note_on_data(results: Results) -> str:
    count = len({(c["domain"], c["question"]) for c in results.cells})
    text = (
        f"{count} questions. The answers and the people are our own writing, and the people rank "
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
    """Return how far apart two answers to one question are on average, in each domain."""
    parts = []
    for domain in _present(results):
        embedder = results.embedders.get(domain) or embedder_of(domains.load(domain))
        questions = sorted({c["question"] for c in results.select(domain=domain)})
        means = [_mean_distance(pool_of(domain, "mixed", q, embedder).features) for q in questions]
        parts.append(f"{np.mean(means):.2f} on {domain} ({embedder})")
    return ", ".join(parts)


def _mean_distance(features: NDArray[np.float64]) -> float:
    gaps = np.linalg.norm(features[:, None, :] - features[None, :, :], axis=2)
    return float(gaps.sum() / (len(gaps) * (len(gaps) - 1)))
