"""The estimate, the bound and the choice of pair on kept cases; see make_cases.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from useralign.geometry import Exact, kernel

CASES = json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("which", ["compiled", "numpy"])
@pytest.mark.parametrize(
    "case", CASES, ids=lambda c: f"{len(c['features'][0])}d-{len(c['answers'])}"
)
def test_kept_cases(case: dict[str, Any], which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if which == "numpy":
        monkeypatch.setattr(kernel, "compiled", None)
    engine = Exact(np.array(case["features"]), 3.0, 0.05, case["cone"])
    for winner, loser in case["answers"]:
        engine.add(winner, loser)
    np.testing.assert_allclose(engine.scores(), case["scores"], atol=1e-3)
    challenger, bound = engine.challenge(case["incumbent"])
    assert bound == pytest.approx(case["bound"], abs=1e-6)
    assert challenger == (case["challenger"] if case["bound"] > 1e-6 else None)
