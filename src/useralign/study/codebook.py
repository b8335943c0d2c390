"""What every column of an export means."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from useralign.study.studies import Study


class Column(NamedTuple):
    """A column of an export.

    Parameters
    ----------
    name : str
    kind : {"text", "whole", "number", "truth"}
    meaning : str
    """

    name: str
    kind: str
    meaning: str


_WRITTEN = tomllib.loads((Path(__file__).parent / "data/codebook.toml").read_text("utf-8"))
COLUMNS = {
    dataset: [Column(name, *about) for name, about in columns.items()]
    for dataset, columns in _WRITTEN.items()
}
_FORMULAS = (
    "In CSV files a text that a spreadsheet would take for a formula (it begins with `=`, `+`, "
    "`-`, `@`, a tab or a line break) or that begins with an apostrophe has one more apostrophe "
    "in front. "
    "`useralign.study.export.read_rows` takes it away."
)
SHARED = ("answers", "participants")  # what an export has when nothing else is asked for


def codebook(study: Study, datasets: tuple[str, ...] = SHARED) -> str:
    """Return the codebook of a study's export, as Markdown."""
    design = study.design
    lines = [
        f"# {design.title}: codebook",
        "",
        f"Study `{study.slug}`. Empty fields are unknown.",
        "",
    ]
    for entry in design.domains:
        steps = " and ".join(map(str, entry.checkpoints))
        lines.append(
            f"- {entry.name}: {entry.budget} comparisons, selections evaluated after {steps}."
        )
    lines += ["", _FORMULAS]
    for name in datasets:
        lines += ["", f"## {name}", "", "| column | kind | meaning |", "|---|---|---|"]
        lines += [f"| {c.name} | {c.kind} | {c.meaning} |" for c in COLUMNS[name]]
    return "\n".join(lines) + "\n"
