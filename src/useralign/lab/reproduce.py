"""The paper's evaluation from one call: `reproduce("all", "out")`.

out/runs/      what the plans' runs left; a second call goes on from there
out/tables/    every table as Markdown, CSV and JSON
out/figures/   every figure as PNG and SVG
out/report.html, report.md, verdicts.json

Each part runs what it needs and adds a section to the report.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import useralign
from useralign import domains
from useralign.checks import whole
from useralign.domains import near, synthetic
from useralign.errors import OptionError
from useralign.extras import require_extra
from useralign.files import write_atomically
from useralign.lab import claims, costs, figures, judging, paper, tables, theory, versionspace
from useralign.lab.cell import AXES, embedder_of, pool_of, with_dimension
from useralign.lab.dispatch import dispatcher_for
from useralign.lab.journal import select
from useralign.lab.plan import read_plan
from useralign.lab.report import Report, Section
from useralign.lab.runner import lock_folder, run_plan
from useralign.lab.wording import words
from useralign.models import generator_for
from useralign.pooling.dsp import LICENCE, write_answer_pools
from useralign.session import Session
from useralign.users import Consistent, RankedPersona, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from useralign.domains import Domain
    from useralign.lab.claims import Verdict
    from useralign.lab.dispatch import Dispatcher
    from useralign.lab.journal import Results
    from useralign.lab.plan import Plan
    from useralign.lab.tables import Table
    from useralign.models import Generator

    Progress = Callable[[str, int, int, float | None], None]

_STRIP = {"useralign_loss": (0, 1, 25, 50, 100), "useralign": (0, 1, 2, 3, 4)}
_METHODS: list[dict[str, Any]] = [  # on domains that do not come with the package
    {"name": "useralign", "modes": ["epsilon"], "options": {"reask": True}},
    {"name": "useralign_loss", "modes": ["epsilon"]},
    *({"name": name, "modes": ["budget"]} for name in ("iidbest", "random", "oracle")),
    {"name": "tournament", "modes": ["epsilon"]},
]
SLIPS = 0.05  # the share of answers that are turned round, where people slip
_SEED = 4  # of the pool and the user that Figure 2 shows


@dataclass(frozen=True, slots=True)
class Judges:
    """Users played by a language model, and on what."""

    model: str | Generator  # as `generator_for` takes it
    data: str | Path  # a folder of pools, see `useralign.domains.pools`, or the name of a domain
    embedder: str | None = None  # what the pools were made with, or the default, when not given
    questions: int | None = None  # how many, from the first
    max_cost: float | None = None  # US dollars for this call; needed when the model has a price
    # called with the estimate of the cost, before anything is asked
    report: Callable[[str], None] | None = None


@dataclass(slots=True)
class Reproduction:
    """A reproduction in the making: it runs plans and collects what is made of them."""

    out: Path
    engine: Dispatcher | str = "local"
    seeds: int = 5
    # called with a label, the number done, the total and the seconds left, if known
    progress: Progress | None = None
    report: Report = field(default_factory=lambda: Report("The paper's evaluation, reproduced"))
    written: list[Path] = field(default_factory=list)
    _runs: dict[str, Results] = field(default_factory=dict)
    _embedders: dict[str, dict[str, None]] = field(default_factory=dict)

    def run(self, name: str) -> Results:
        """Run a plan by its name or path, once."""
        if name not in self._runs:
            self._runs[name] = self.run_plan(read_plan(name))
        return self._runs[name]

    def run_plan(self, plan: Plan) -> Results:
        """Run a plan with this number of seeds, or take up its finished run."""
        plan = plan.replace(seeds=self.seeds)
        results = run_plan(
            plan,
            self.out / "runs" / f"{plan.name}-{self.seeds}",
            engine=self.engine,
            progress=lambda done, total, left: self.advance(plan.name, done, total, left),
        )
        for domain, embedder in results.embedders.items():
            self._embedders.setdefault(embedder, {})[domain] = None
        self.report.facts["features"] = "; ".join(
            f"{name} ({', '.join(names)})" for name, names in self._embedders.items()
        )
        return results

    def run_folder(self, title: str, domain: Domain, folder: Path, **changes: Any) -> Results:
        """Run the main plan on a domain that is a folder of pools."""
        plan = read_plan("main").replace(
            name=domain.name,
            title=title,
            domains=[{"name": domain.name}],
            methods=_METHODS,
            embedder=domain.questions[0].pool().embedder,
            data=str(folder),
            **changes,
        )
        return self.run_plan(plan)

    def advance(self, label: str, done: int, total: int, left: float | None = None) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(label, done, total, left)

    def section(self, name: str, **values: Any) -> None:
        """Begin a section of the report; tables and figures are put into the last one."""
        title, text = (words("sections", name, key, **values) for key in ("title", "text"))
        self.report.sections.append(Section(title, text))

    def table(self, table: Table) -> None:
        """Write a table and put it into the report."""
        rows = [
            tuple(with_dimension(value) if isinstance(value, str) else value for value in row)
            for row in table.rows
        ]
        table = replace(table, title=with_dimension(table.title), rows=rows)
        self.written += table.write(self.out / "tables")
        self.report.sections[-1].tables.append(table)

    def figure(self, figure: Figure, name: str, **values: Any) -> None:
        """Write a figure and put it into the report; the values are for its caption."""
        paths = figures.save(figure, self.out / "figures", name)
        self.written += paths
        self.report.sections[-1].pictures.append((paths[0], words("captions", name, **values)))

    def claim(self, verdicts: Iterable[Verdict]) -> None:
        """Add verdicts to the report."""
        self.report.verdicts += [replace(v, where=with_dimension(v.where)) for v in verdicts]


def reproduce(
    what: str = "all",
    out: str | Path = "reproduction",
    *,
    engine: str = "local",
    scheduler: str | None = None,
    jobs: int | None = None,
    seeds: int = 5,
    judges: Judges | None = None,
    data: str | Path | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Reproduce the paper's evaluation, or one of `TARGETS`, into a folder.

    Work that is finished there is not done again. With `judges` a language model plays the users,
    as in the paper: the main experiment alone then, whatever `what` is. `data` is the path of the
    public DSP file, for "dsp"; other parameters are those of `run_plan` and `Reproduction`.

    Raises OptionError if `what` is not known, and MissingExtraError if Jinja is not installed, or
    matplotlib is not and figures are asked for.
    """
    if what not in TARGETS:
        raise OptionError(f"cannot reproduce {what!r}; expected one of {', '.join(TARGETS)}")
    seeds = whole("seeds", seeds, least=1)
    # What cannot be used is refused before anything is made.
    dispatcher = dispatcher_for(engine, jobs, scheduler)
    require_extra(["jinja2"], "writing the report", "plots")
    work = Reproduction(Path(out), dispatcher, seeds, progress)
    work.report.facts["useralign"] = useralign.__version__
    work.report.facts["seeds"] = str(seeds)
    work.report.facts["standard errors"] = words("errors")
    if judges is not None:
        judged(work, judges)
    elif what == DSP:
        if data is None:
            raise OptionError(
                "the DSP file is needed: --data FILE, or --data fetch to download it. " + LICENCE
            )
        dsp_file(work, Path(data))
    else:
        for name in PARTS if what == "all" else (what,):
            PARTS[name](work)
    work.written += work.report.write(work.out)
    return work


def figure1(work: Reproduction) -> None:
    """Walk through an image example, and list the domains."""
    work.section("figure1")
    work.advance("figure 1", 0, 1)
    question = domains.load("visual512d").questions[0]
    persona = question.personas[0]
    session = Session(question.pool(), "useralign", budget=9, seed=1)
    pairs = [
        (
            str(session.pool[answer.first].image),
            str(session.pool[answer.second].image),
            answer.winner == answer.first,
        )
        for answer in simulate(session, RankedPersona(persona))
    ]
    figure = figures.walk_figure(pairs, str(session.best.image), f"“{question.text}”")
    work.figure(figure, "figure1", person=persona.name, description=persona.description)
    work.table(_overview())
    work.advance("figure 1", 1, 1)


def _overview() -> tables.Table:
    """Build the table of domains, ours beside the paper's."""
    rows = []
    for name, (theirs, count) in paper.load().domains.items():
        domain = domains.load(name)
        first, embedder = domain.questions[0], embedder_of(domain)
        dimension = pool_of(name, "mixed", first.id, embedder).dimension
        features = f"{dimension}d, {'two axes' if embedder == AXES else embedder}"
        counts = len(domain.questions), count, len(first.personas), len(first.select())
        rows.append((name, features, theirs, *counts, first.text))
    return tables.Table.worded("domains", rows)


def figure2(work: Reproduction) -> None:
    """Draw version spaces in synthetic2d, and how fast they shrink."""
    work.section("figure2")
    work.advance("figure 2", 0, 2)
    pool = synthetic.pool(_SEED)
    trails = {
        method: versionspace.trace(
            pool, Consistent(pool, seed=_SEED), method, budget=101, seed=_SEED, keep=times
        )
        for method, times in _STRIP.items()
    }
    truth = Consistent(pool, seed=_SEED).theta
    work.figure(figures.strip(trails, pool.features, _STRIP, truth), "figure2-sets")
    work.advance("figure 2", 1, 2)
    curves = versionspace.measure_curves()
    work.figure(figures.curves_figure(curves), "figure2-curves", runs=curves.runs)
    work.table(curves.table())
    work.claim(claims.shrinks_faster(curves))
    work.advance("figure 2", 2, 2)


def check_theory(work: Reproduction) -> None:
    """Check the proposition and the two theorems by simulation."""
    work.section("theory")
    work.advance("theory", 0, 2)
    coverages = [theory.measure_coverage(dimension) for dimension in theory.DIMENSIONS]
    work.advance("theory", 1, 2)
    endings = theory.measure_endings()
    work.figure(figures.theory_figure(coverages, endings), "theory")
    work.table(theory.coverage_table(coverages))
    work.table(theory.endings_table(endings))
    work.claim(claims.theory_holds(coverages, endings))
    work.advance("theory", 2, 2)


def figure3(work: Reproduction) -> None:
    """Draw food2d with users whose taste lies in the features."""
    work.section("figure3")
    cells = work.run("figure3").cells
    work.figure(figures.users_figure(cells, "food2d", ("btl", "consistent")), "figure3")
    for kind, name in (("btl", "BTL"), ("consistent", "Consistent")):
        ours = select(cells, domain="food2d", user_kind=kind)
        work.table(tables.trade_off(ours, "food2d", kind=kind))
        sort = "implied" if kind == "consistent" else "open"
        because = words("because", kind)
        work.claim(claims.better_at_equal_cost(f"food2d, {name}", ours, because, sort))


def figure4(work: Reproduction) -> None:
    """Draw the four domains with personas."""
    work.section("figure4")
    results = work.run("main")
    work.figure(figures.domains_figure(results.cells, _present(results)), "figure4")
    for domain in _present(results):
        ours = select(results.cells, domain=domain)
        work.claim(claims.better_at_equal_cost(domain, ours, sort="implied"))
        because = _because(_distances(results, domain))
        work.claim(claims.costs_like_the_papers(domain, ours, because))


def near_duplicates(work: Reproduction) -> None:
    """Draw Figure 4 again, with answers as alike as the paper's, and show what costs depend on."""
    work.section("near")
    results = work.run("near")
    work.figure(figures.domains_figure(results.cells, _present(results)), "figure4-near")
    runs = [work.run("main"), work.run("distances"), results]
    likeness = {domain: _distances(run, domain) for run in runs for domain in _present(run)}
    cells = [cell for run in runs for cell in run.cells]
    work.table(tables.likeness(cells, likeness))
    work.table(tables.beside(results.cells, _present(results), name="beside-near"))
    for domain in _present(results):
        work.table(tables.trade_off(results.cells, domain))
        ours = select(results.cells, domain=domain)
        because = _because(likeness[domain])
        work.claim(claims.costs_like_the_papers(domain, ours, because))
        work.claim(claims.better_early(domain, ours))


def judged(work: Reproduction, judges: Judges) -> None:
    """Run the paper's main experiment: a language model plays the users."""
    domain, model = judge_domain(work, judges)
    folder = work.out / "judged" / domain.name
    users = [{"kind": "judge", "count": min(len(q.personas) for q in domain.questions)}]
    cells = work.run_folder(f"Users played by {model}", domain, folder, users=users).cells
    work.section("judged", model=model, count=len(domain.questions), domain=domain.name)
    work.figure(figures.domains_figure(cells, [domain.name], kind="judge"), "judged")
    work.table(tables.trade_off(cells, domain.name, kind="judge"))
    work.table(tables.beside(cells, [domain.name], kind="judge"))
    seen = domain.kind == "image" and generator_for(judges.model).sees
    work.table(judging.table(folder, model, seen))
    for claim in (claims.above_iidbest, claims.better_early):
        work.claim(replace(verdict, sort="open") for verdict in claim(domain.name, cells))
    work.claim(claims.costs_like_the_papers(domain.name, cells))


def judge_domain(work: Reproduction, judges: Judges) -> tuple[Domain, str]:
    """Let a model judge what it has not judged yet; return the domain and the model's name."""
    path = Path(judges.data)
    source = domains.add(path) if path.is_dir() else domains.load(str(judges.data))
    folder = work.out / "judged" / f"{source.name}{near.JUDGED}"
    generator = generator_for(judges.model)
    with lock_folder(folder):
        _check_model(folder / "model.txt", generator)
        judging.prepare(source, folder, questions=judges.questions, embedder=judges.embedder)
        domain = domains.add(folder)
        price = judging.estimate(domain, generator.model, sees=generator.sees)
        if judges.report is not None:
            judges.report(str(price))
        if price.cost and judges.max_cost is None:
            raise OptionError(f"{price}; give --max-cost to let it spend that much at most")
        if price.pairs:
            judging.judge(
                domain,
                generator,
                folder,
                max_cost=judges.max_cost,
                progress=lambda done, total: work.advance("judging", done, total),
            )
    return domains.add(folder), generator.model


def _check_model(path: Path, generator: Generator) -> None:
    """Keep the verdicts of two models apart."""
    name = f"{generator.name}:{generator.model}"
    if path.exists() and (other := path.read_text(encoding="utf-8").strip()) != name:
        raise OptionError(f"{path.parent}: has verdicts of {other}, not {name}; give another --out")
    write_atomically(path, name + "\n")


def win_rates(work: Reproduction) -> None:
    """Show what stands beside the win-rates, users who slip, and the study with people."""
    work.section("win-rates")
    cells = [*work.run("main").cells, *work.run("beside").cells]
    slips = work.run("slips").cells
    work.table(tables.beside(cells))
    work.table(tables.beside(slips, kind=slips[0]["user_kind"]))
    work.table(tables.human_study(slips))
    work.claim(claims.check_slips(slips))
    work.claim(claims.better_with_people(slips))


def all_tables(work: Reproduction) -> None:
    """Fill the two large tables of the appendix."""
    results = work.run("main")
    distances = ", ".join(
        f"{_distances(results, domain)[1]:.2f} on {domain} ({results.embedders[domain]})"
        for domain in _present(results)
    )
    count = len({(c["domain"], c["question"]) for c in results.cells})
    work.section("tables", count=count, distances=distances)
    for domain in _present(results):
        work.table(tables.trade_off(results.cells, domain))
    work.claim(claims.check(results.cells))


def head_to_head(work: Reproduction) -> None:
    """Set UserAlign against iidBest, one to one."""
    work.section("head-to-head")
    results = work.run("main")
    table = tables.head_to_heads(results, _present(results))
    work.table(table)
    work.claim(claims.wins_head_to_head(table))


def large_pool(work: Reproduction) -> None:
    """Run the pool of N = 1,000 answers."""
    _large(work, "large-pool", "food64d, N = 1,000")


def large_pools(work: Reproduction) -> None:
    """Run ten questions of N = 1,000 answers with people whose taste is not linear."""
    _large(work, "large-pools", "ten questions, N = 1,000")


def _large(work: Reproduction, name: str, where: str) -> None:
    work.section(name)
    cells = work.run(name).cells
    work.table(tables.large_pool(cells, name))
    if select(cells, method="oracle"):
        names = sorted({cell["domain"] for cell in cells})
        work.table(tables.beside(cells, names, name=f"beside-{name}"))
    work.claim(claims.scales_to_large_pools(cells, where))


def dsp_file(work: Reproduction, path: Path) -> None:
    """Run 100 questions of the public DSP file: its answers as candidates, its domains as users."""
    folder = work.out / "dsp-file"
    work.advance("DSP pools", 0, 1)
    share = write_answer_pools(path, folder)
    work.advance("DSP pools", 1, 1)
    domain = domains.add(folder)
    pools = [question.pool() for question in domain.questions]
    users = [{"kind": "persona", "count": 5}, {"kind": "persona", "count": 5, "slips": SLIPS}]
    results = work.run_folder("The public DSP file", domain, folder, users=users, budget=50)
    cells = results.cells
    work.section(
        "dsp",
        count=len(pools),
        words=np.mean([len(c.text.split()) for pool in pools for c in pool]),
        apart=np.mean([_mean_distance(pool.features) for pool in pools]),
        share=100 * share,
        licence=LICENCE,
    )
    work.figure(figures.domains_figure(cells, [domain.name]), "dsp-file")
    work.table(tables.beside(cells, [domain.name]))
    work.table(tables.beside(cells, [domain.name], kind=f"persona+{SLIPS:g}"))
    work.table(tables.trade_off(cells, domain.name))
    work.table(tables.head_to_heads(results, [domain.name]))
    # Of five answers the favourite is known after about four questions.
    early = claims.better_early("the DSP file", select(cells, user_kind="persona"))
    work.claim(replace(verdict, sort="implied") for verdict in early)
    work.claim(claims.check_slips(select(cells, user_kind=f"persona+{SLIPS:g}")))


def wall_clocks(work: Reproduction) -> None:
    """Measure seconds per step."""
    work.section("wall-clock")
    work.advance("wall-clock", 0, 1)
    table = costs.wall_clock()
    work.table(table)
    work.claim(claims.under_a_second(table))
    work.advance("wall-clock", 1, 1)


def what_it_costs(work: Reproduction) -> None:
    """Estimate dollars, measure seconds."""
    work.advance("costs", 0, 1)
    work.section("costs")
    work.table(costs.costs())
    work.advance("costs", 1, 1)


def food2d(work: Reproduction) -> None:
    """Show the worked example with its version spaces, and food2d with personas."""
    work.section("food2d")
    pool = domains.load("food2d").questions[0].pool()
    truth = 3.0 * np.array([-1.0, 1.0]) / np.sqrt(2.0)
    trail = versionspace.trace(pool, Consistent(pool, truth), seed=2)
    work.figure(figures.example_figure(trail, pool, truth), "food2d-example")
    cells = work.run("food2d-personas").cells
    work.figure(figures.users_figure(cells, "food2d", ("persona",)), "food2d-personas")
    ours = select(cells, domain="food2d", user_kind="persona")
    work.table(tables.trade_off(ours, "food2d", kind="persona"))
    work.claim(claims.better_at_equal_cost("food2d, personas", ours))


def unbiased(work: Reproduction) -> None:
    """Draw and tabulate pools of answers written for no interest in particular."""
    work.section("unbiased")
    results = work.run("unbiased")
    figure = figures.domains_figure(results.cells, _present(results), "unbiased")
    work.figure(figure, "unbiased")
    beside = {"style": "unbiased", "name": "beside-unbiased"}
    work.table(tables.beside(results.cells, _present(results), **beside))
    for domain in _present(results):
        work.table(tables.trade_off(results.cells, domain, "unbiased"))
        ours = select(results.cells, domain=domain)
        work.claim(claims.better_early(f"{domain}, unbiased pools", ours))
        work.claim(claims.better_at_equal_cost(f"{domain}, unbiased pools", ours, sort="implied"))


PARTS: dict[str, Callable[[Reproduction], None]] = {
    "figure1": figure1,
    "figure2": figure2,
    "theory": check_theory,
    "figure3": figure3,
    "figure4": figure4,
    "near": near_duplicates,
    "tables": all_tables,
    "win-rates": win_rates,
    "head-to-head": head_to_head,
    "large-pool": large_pool,
    "large-pools": large_pools,
    "wall-clock": wall_clocks,
    "costs": what_it_costs,
    "food2d": food2d,
    "unbiased": unbiased,
}
DSP = "dsp"  # needs the file, so that it is no part of all
TARGETS = ("all", *PARTS, DSP)


def _present(results: Results) -> list[str]:
    """Return the paper's domains, or variants of them, that were run, in its order."""
    present = sorted({cell["domain"] for cell in results.cells})
    return [name for domain in paper.DOMAINS for name in present if near.base_of(name) == domain]


def _distances(results: Results, domain: str) -> tuple[float, float]:
    """Return the mean distance between two unbiased answers to one question, and between any."""
    questions = sorted({c["question"] for c in results.select(domain=domain)})
    pools = [pool_of(domain, "mixed", q, results.embedders[domain]) for q in questions]
    half = np.mean([_mean_distance(pool.features[:10]) for pool in pools])
    return float(half), float(np.mean([_mean_distance(pool.features) for pool in pools]))


def _because(likeness: tuple[float, float]) -> str:
    """Return what was measured about distances, as the reason of a cost."""
    return words("because", "distances", half=likeness[0], whole=likeness[1])


def _mean_distance(features: NDArray[np.float64]) -> float:
    gaps = np.linalg.norm(features[:, None, :] - features[None, :, :], axis=2)
    return float(gaps.sum() / (len(gaps) * (len(gaps) - 1)))
