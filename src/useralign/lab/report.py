"""The report of a reproduction: verdicts first, then every table and figure.

One HTML file that needs nothing else and asks nothing of the network, and the same as Markdown.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from useralign.extras import import_extra
from useralign.files import write_atomically, write_json
from useralign.lab.claims import SORTS
from useralign.lab.wording import DATA

if TYPE_CHECKING:
    from pathlib import Path

    from useralign.lab.claims import Verdict
    from useralign.lab.tables import Table

LONGEST = 20  # rows of a table beside a figure that is shown unfolded


@dataclass(slots=True)
class Section:
    """A part of the report."""

    title: str
    text: str = ""
    tables: list[Table] = field(default_factory=list)
    pictures: list[tuple[Path, str]] = field(default_factory=list)  # of PNG files, with captions


@dataclass(slots=True)
class Report:
    """All that a reproduction found."""

    title: str
    # how it was made: version, seeds, embedders
    facts: dict[str, str] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)

    def summary(self) -> str:
        """Return how many of the checks that could fail hold, and how many are not counted."""
        if not self.verdicts:
            return "No claim was checked by this run."
        open_ = [verdict.holds for verdict in self.verdicts if verdict.sort == "open"]
        good, rest = sum(open_), len(self.verdicts) - len(open_)
        text = (
            f"{good} of {len(open_)} checks of the paper's claims that could fail hold on our data"
        )
        if good < len(open_):
            text += f"; {len(open_) - good} do not, with the reasons below"
        broken = sum(not verdict.holds for verdict in self.verdicts if verdict.sort != "open")
        trouble = f", of which {broken} fail all the same" if broken else ""
        more = f" {rest} more are true by definition or implied by others{trouble}."
        return f"{text}.{more if rest else ''}"

    def by_claim(self, sort: str | None = None) -> dict[str, list[Verdict]]:
        """Return the verdicts of a sort, or all, by claim; those with a failure first."""
        groups: dict[str, list[Verdict]] = {}
        for verdict in self.verdicts:
            if sort in (None, verdict.sort):
                groups.setdefault(verdict.claim, []).append(verdict)
        return dict(sorted(groups.items(), key=lambda item: all(v.holds for v in item[1])))

    def to_markdown(self, folder: Path) -> str:
        """Return the report as Markdown; pictures are linked relative to `folder`."""
        return self._render("report.md", folder=folder)

    def to_html(self) -> str:
        """Return the report as one self-contained page."""
        return self._render("report.html", longest=LONGEST)

    def _render(self, template: str, **values: Any) -> str:
        """Fill in a template; raises MissingExtraError if Jinja is not installed."""
        jinja = import_extra("jinja2", "writing the report", "plots")
        pages = jinja.Environment(
            loader=jinja.FileSystemLoader(DATA),
            autoescape=template.endswith(".html"),
            undefined=jinja.StrictUndefined,
            trim_blocks=True,
            keep_trailing_newline=template.endswith(".md"),
        )
        pages.filters["data_uri"] = _data_uri
        page: str = pages.get_template(template).render(report=self, sorts=SORTS, **values)
        return page

    def write(self, folder: Path) -> list[Path]:
        """Write report.html, report.md and verdicts.json; return their paths."""
        return [
            write_atomically(folder / "report.html", self.to_html()),
            write_atomically(folder / "report.md", self.to_markdown(folder)),
            write_json(folder / "verdicts.json", [v.to_dict() for v in self.verdicts]),
        ]


def _data_uri(path: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
