"""The notebooks run from top to bottom."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.study.conftest import Clock, Walker, small_design
from useralign.store import open_store
from useralign.study import ParticipantFlow
from useralign.study.export import export

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def opened(path: Path) -> Any:
    import nbformat  # takes seconds

    return nbformat.reads(path.read_text("utf-8"), as_version=4)  # type: ignore[no-untyped-call]


def write_export(folder: Path) -> None:
    """Write the export of a small study with simulated people."""
    rng = Random(8)
    with closing(open_store(f"sqlite:///{folder.parent / 'study.db'}")) as store:
        flow = ParticipantFlow(store, Clock(), Random(5))
        walker = Walker(flow, flow.studies.add(small_design(slug="my-study")))
        for _ in range(16):
            walker.finish(walker.enter(), lambda _: rng.randrange(2))
        export(store, walker.study, folder)


def test_there_are_some() -> None:
    assert len(NOTEBOOKS) >= 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")  # the kernel's machinery, not ours, warns
def test_it_runs(path: Path, tmp_path: Path) -> None:
    if path.stem == "study-analysis":
        write_export(tmp_path / "data")
    from nbclient import NotebookClient

    NotebookClient(
        opened(path), timeout=120, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_without_outputs(path: Path) -> None:
    assert not any(cell.get("outputs") for cell in opened(path).cells)
