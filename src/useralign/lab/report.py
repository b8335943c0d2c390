"""The report of a reproduction: verdicts first, then every table and figure.

One HTML file that needs nothing else and asks nothing of the network, and the same as Markdown.
"""

from __future__ import annotations

import base64
import html
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING

from useralign.files import write_atomically, write_json
from useralign.lab.claims import SORTS

if TYPE_CHECKING:
    from pathlib import Path

    from useralign.lab.claims import Verdict
    from useralign.lab.tables import Table

HOLDS, FAILS = "holds", "does not hold"


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
        lines = [f"# {self.title}", "", self.summary(), ""]
        lines += [f"- {name}: {value}" for name, value in self.facts.items()]
        if self.verdicts:
            lines += ["", "## The paper's claims", ""]
        for sort, heading in SORTS.items():
            groups = self.by_claim(sort)
            lines += [f"### {heading.capitalize()}", ""] if groups else []
            for claim, verdicts in groups.items():
                lines += [f"**{claim}.**", ""]
                for v in verdicts:
                    state = HOLDS if v.holds else FAILS.upper()
                    lines.append(f"- {v.where}: {state}. Ours: {v.ours}. Paper: {v.paper}. {v.why}")
                lines.append("")
        for section in self.sections:
            lines += ["", f"## {section.title}", "", section.text, ""]
            for path, caption in section.pictures:
                link = path.relative_to(folder).as_posix()
                lines += [f"![{caption}]({link})", "", f"*{caption}*", ""]
            lines += [table.to_markdown() for table in section.tables]
        return "\n".join(lines) + "\n"

    def to_html(self) -> str:
        """Return the report as one self-contained page."""
        style = files("useralign.lab").joinpath("data/report.css").read_text("utf-8")
        facts = "".join(
            f"<div><dt>{_escape(name)}</dt><dd>{_escape(value)}</dd></div>"
            for name, value in self.facts.items()
        )
        links = "".join(
            f'<a href="#part-{index}">{_escape(section.title)}</a>'
            for index, section in enumerate(self.sections)
        )
        parts = "".join(_section(index, part) for index, part in enumerate(self.sections))
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            f"<title>{_escape(self.title)}</title><style>{style}</style></head><body>"
            f"<header><h1>{_escape(self.title)}</h1>"
            f'<p class="lead">{_escape(self.summary())}</p><dl>{facts}</dl>'
            f'<nav aria-label="Contents">{links}</nav></header><main>'
            f"{self._claims()}{parts}</main></body></html>\n"
        )

    def write(self, folder: Path) -> list[Path]:
        """Write report.html, report.md and verdicts.json; return their paths."""
        return [
            write_atomically(folder / "report.html", self.to_html()),
            write_atomically(folder / "report.md", self.to_markdown(folder)),
            write_json(folder / "verdicts.json", [v.to_dict() for v in self.verdicts]),
        ]

    def _claims(self) -> str:
        if not self.verdicts:
            return ""
        parts = []
        for sort, heading in SORTS.items():
            if groups := self.by_claim(sort):
                texts = "".join(_claim(claim, verdicts) for claim, verdicts in groups.items())
                parts.append(f"<h3>{_escape(heading.capitalize())}</h3>{texts}")
        return f"<section><h2>The paper's claims</h2>{''.join(parts)}</section>"


def _claim(claim: str, verdicts: list[Verdict]) -> str:
    good = all(verdict.holds for verdict in verdicts)
    chips = "".join(
        f'<span class="chip {"good" if v.holds else "bad"}">{"✓" if v.holds else "✗"} '
        f"{_escape(v.where)}</span>"
        for v in verdicts
    )
    rows = "".join(
        f'<div class="verdict"><h4>{_escape(v.where)}: {HOLDS if v.holds else FAILS}</h4>'
        f"<p><b>Ours</b> {_escape(v.ours)}</p><p><b>Paper</b> {_escape(v.paper)}</p>"
        f"<p>{_escape(v.why)}</p></div>"
        for v in verdicts
    )
    opened = "" if good else " open"
    return (
        f'<details class="claim"{opened}><summary><span>{_escape(claim)}</span>'
        f'<span class="chips">{chips}</span></summary>{rows}</details>'
    )


def _section(index: int, section: Section) -> str:
    pictures = "".join(
        f'<figure><img alt="{_escape(caption)}" src="{_data_uri(path)}">'
        f"<figcaption>{_escape(caption)}</figcaption></figure>"
        for path, caption in section.pictures
    )
    text = f"<p>{_escape(section.text)}</p>" if section.text else ""
    tables = "".join(_table(table) for table in section.tables)
    return (
        f'<section id="part-{index}"><h2>{_escape(section.title)}</h2>{text}{pictures}{tables}'
        "</section>"
    )


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{_escape(name)}</th>' for name in table.columns)
    rows = []
    for index, row in enumerate(table.texts()):
        cells = f'<th scope="row">{_escape(row[0])}</th>'
        cells += "".join(f"<td>{_escape(text)}</td>" for text in row[1:])
        rows.append(f"<tr{' class=main' if index in table.marked else ''}>{cells}</tr>")
    note = f'<p class="note">{_escape(table.note)}</p>' if table.note else ""
    return (
        f'<h3>{_escape(table.title)}</h3><div class="wide" tabindex="0"><table><thead><tr>{head}'
        f"</tr></thead><tbody>{''.join(rows)}</tbody></table></div>{note}"
    )


def _data_uri(path: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()


def _escape(text: str) -> str:
    return html.escape(text, quote=True)
