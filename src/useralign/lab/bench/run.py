"""Running the comparison into a folder, and going on where an earlier run ended.

bench.json     what decides the results beside the cells: version, seed, embedders, records
cells.jsonl    finished cells, in the order they were finished
timings.jsonl  how long the method took in each
results.json   all cells that were asked for, sorted
tables/        every table as Markdown, CSV and JSON
figures/       a figure a pool, as PNG and SVG, where the extra `plots` is installed

A folder may be used again with other methods, pools or numbers of runs: what is there is kept.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from useralign import domains
from useralign.errors import FileFormatError, ModelUnavailableError
from useralign.files import read_json, write_atomically, write_json
from useralign.lab.bench.cases import DOMAINS
from useralign.lab.bench.contest import FORMAT
from useralign.lab.cells import embedder_of
from useralign.lab.engines import engine_for
from useralign.lab.results import to_line
from useralign.lab.results_journal import read_timings
from useralign.lab.runner import alone_in, run_cells

if TYPE_CHECKING:
    from useralign.lab.bench.contest import Contest
    from useralign.lab.runner import Progress


def run_contest(
    asked: Contest,
    folder: str | Path,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """Compute the cells that are not finished yet, and write `results.json`.

    Parameters
    ----------
    asked : Contest
    folder : str or Path
        Made when it is not there.
    jobs : int, optional
        How many processes; as many as there are cores when not given.
    progress : callable, optional
        As for `run_plan`.

    Returns
    -------
    cells : list of dict
        Sorted by key; the same whatever the number of processes.
    milliseconds : dict of str to float
        What a step took on average, by key, as measured when the cell was computed.

    Raises
    ------
    FileFormatError
        If the folder holds a comparison under other conditions.
    EngineError
        If cells failed. All others are finished and kept.
    """
    folder = Path(folder)
    _refuse_trouble(asked)
    with alone_in(folder):
        _claim(folder, asked.conditions())
        cells = run_cells(asked.cells(), folder, engine_for("local", jobs), progress=progress)
        _write(folder, asked, cells)
        timings = read_timings(folder)
    spent = {
        cell["key"]: 1e3 * timings[cell["key"]]["seconds"] / max(cell["stopped_at"], 1)
        for cell in cells
        if cell["key"] in timings
    }
    return cells, spent


def _refuse_trouble(asked: Contest) -> None:
    """Say at once what would otherwise make every cell of a domain fail."""
    for pool in asked.pools:
        if pool in DOMAINS:
            domain = domains.load(pool)
            why = domain.trouble(embedder_of(domain))
            if why is not None:
                raise ModelUnavailableError(f"the features of {pool} cannot be made here: {why}")


def _claim(folder: Path, conditions: dict[str, Any]) -> None:
    """Make a folder this comparison's, or make sure that its conditions are the same."""
    path = folder / "bench.json"
    before: Any = read_json(path) if path.exists() else conditions
    if not isinstance(before, dict) or before.get("format") != FORMAT:
        raise FileFormatError(f"{path}: is not the record of a comparison; choose another folder")
    for key in ("version", "seed"):
        if before[key] != conditions[key]:
            raise FileFormatError(
                f"{folder}: was begun with {key} {before[key]!r}, now it is {conditions[key]!r}; "
                "choose another folder"
            )
    if before["people"] and conditions["people"] and before["people"] != conditions["people"]:
        raise FileFormatError(f"{folder}: was begun with other records of people; choose another")
    for pool, embedder in conditions["embedders"].items():
        if before["embedders"].get(pool, embedder) != embedder:
            raise FileFormatError(
                f"{folder}: features of {pool} were made by {before['embedders'][pool]!r}, now "
                f"they would be by {embedder!r}; choose another folder"
            )
    made = {**before["embedders"], **conditions["embedders"]}
    people = before["people"] or conditions["people"]
    write_json(path, {**before, "embedders": made, "people": people})


def _write(folder: Path, asked: Contest, cells: list[dict[str, Any]]) -> None:
    head = {**asked.conditions(), "methods": asked.methods, "runs": asked.runs}
    lines = ",\n".join(to_line(cell) for cell in cells)
    write_atomically(
        folder / "results.json", f'{json.dumps(head)[:-1]}, "cells": [\n{lines}\n]}}\n'
    )
