"""The results of the small plan, computed once for all tests that compare with them."""

from __future__ import annotations

import pytest

from useralign.lab.plan import parse_plan
from useralign.lab.runner import run_plan

from .plans import SMALL, Here


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the bytes of `results.json` as this process computes it."""
    folder = tmp_path_factory.mktemp("whole")
    run_plan(parse_plan(SMALL), folder, engine=Here())
    return (folder / "results.json").read_bytes()
