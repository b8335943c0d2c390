"""The paper's evaluation from one call: `reproduce("all", "out")`.

out/runs/      what the plans' runs left; a second call goes on from there
out/tables/    every table as Markdown, CSV and JSON
out/figures/   every figure as PNG and SVG
out/report.html, report.md, verdicts.json
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import useralign
from useralign.checks import whole
from useralign.errors import OptionError
from useralign.lab.report import Picture, Report, Section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from matplotlib.figure import Figure

    from useralign.lab.claims import Verdict
    from useralign.lab.results import Results
    from useralign.lab.tables import Table

    Progress = Callable[[str, int, int, float | None], None]

TARGETS = (
    "all",
    "figure2",
    "figure3",
    "figure4",
    "tables",
    "head-to-head",
    "large-pool",
    "wall-clock",
    "costs",
    "food2d",
    "unbiased",
)
_DATA = Path(__file__).parent / "data"
_SEEDS = re.compile(r"^seeds\s*=.*$", re.MULTILINE)


@dataclass(slots=True)
class Bench:
    """Where a reproduction is put together: it runs plans and collects what is made of them.

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
            Of a shipped plan or of one that belongs to a figure, or the path of a plan.
        """
        from useralign.lab.plan import parse_plan, read_plan  # noqa: PLC0415 - the runner
        from useralign.lab.runner import run_plan  # noqa: PLC0415

        if name not in self._runs:
            own = _DATA / f"{name}.toml"
            text = read_plan(own if own.exists() else name).text
            plan = parse_plan(_SEEDS.sub(f"seeds = {self.seeds}", text), where=name)
            self._runs[name] = run_plan(
                plan,
                self.out / "runs" / f"{plan.name}-{self.seeds}",
                engine=self.engine,
                jobs=self.jobs,
                scheduler=self.scheduler,
                progress=lambda done, total, left: self.tell(plan.name, done, total, left),
            )
            self.report.facts["features"] = self._features()
        return self._runs[name]

    def _features(self) -> str:
        """Say what made the features of each domain."""
        made: dict[str, list[str]] = {}
        for results in self._runs.values():
            for domain, embedder in results.embedders.items():
                if domain not in made.setdefault(embedder, []):
                    made[embedder].append(domain)
        return "; ".join(f"{name} ({', '.join(there)})" for name, there in made.items())

    def tell(self, label: str, done: int, total: int, left: float | None = None) -> None:
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
        from useralign.lab.figures import save  # noqa: PLC0415 - draws

        paths = save(figure, self.out / "figures", name)
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
) -> Bench:
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
    Bench
        With the `report`, and `written`, the paths of all files.

    Raises
    ------
    OptionError
        If `what` is not known.
    MissingExtraError
        If figures are asked for and matplotlib is not installed.
    """
    from useralign.lab.reproduce_parts import PARTS  # noqa: PLC0415 - imports all else

    if what not in TARGETS:
        raise OptionError(f"cannot reproduce {what!r}; expected one of {', '.join(TARGETS)}")
    bench = Bench(Path(out), engine, scheduler, jobs, whole("seeds", seeds, least=1), progress)
    bench.report.facts["useralign"] = useralign.__version__
    bench.report.facts["seeds"] = str(bench.seeds)
    chosen = TARGETS[1:] if what == "all" else (what,)
    for name in chosen:
        PARTS[name](bench)
    bench.finish()
    return bench
