from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from useralign import OptionError
from useralign.lab.journal import at, select
from useralign.lab.metrics import at_budget, at_threshold, clustered, head_to_head, mean_sem
from useralign.lab.plan import parse_plan

from .plans import SMALL


def cell(*steps: tuple[int, float, str, float], until: int, **names: Any) -> dict[str, Any]:
    kept = [dict(zip(("t", "bound", "best", "win"), step, strict=True)) for step in steps]
    base = {"key": "k", "domain": "d", "style": "s", "question": "q", "user": "u", "seed": 0}
    return {**base, "steps": kept, "stopped_at": until, **names}


ONE = cell((0, 3.0, "a", 0.0), (1, 2.0, "a", 0.0), (4, 0.5, "b", 1.0), (9, 0.0, "b", 1.0), until=9)
MODES = ("epsilon", "budget")
TWO = cell((0, 3.0, "c", 1.0), (2, 0.0, "c", 1.0), until=2)


def test_by_hand() -> None:
    cells = [{**one, "method": "m", "mode": mode} for one in (ONE, TWO) for mode in MODES]
    wins = {t: at_budget(cells, "m", t) for t in (3, 4)}
    assert wins == {3: (50.0, pytest.approx(100 * 0.5 / math.sqrt(2))), 4: (100.0, 0.0)}
    thresholds = {epsilon: at_threshold(cells, "m", epsilon) for epsilon in (3.0, 2.5, 1.0, 0.0)}
    costs = {epsilon: found[1].mean for epsilon, found in thresholds.items() if found}
    assert costs == {3.0: 0.0, 2.5: 1.5, 1.0: 3.0, 0.0: 5.5}
    assert thresholds[2.5] is not None
    assert thresholds[2.5][0].mean == 50.0
    assert [at(one, 1).bound for one in (ONE, TWO)] == [2.0, 3.0]
    assert at_budget(cells, "other", 3) is None
    assert at_threshold(cells, "other", 0.0) is None


def test_the_standard_error_is_the_papers() -> None:
    mean, sem = mean_sem([1.0] * 81 + [0.0] * 69)
    assert (round(100 * mean, 2), round(100 * sem, 2)) == (54.00, 4.07)
    assert all(math.isnan(value) for value in mean_sem([]))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_a_mean_lies_between(values: list[float]) -> None:
    mean, sem = mean_sem(values)
    assert min(values) - 1e-6 <= mean <= max(values) + 1e-6
    assert sem >= 0


def test_head_to_head_asks_the_user() -> None:
    cells = [spec.run() for spec in parse_plan(SMALL).cells()]
    for kind in ("persona", "btl"):
        mine = select(cells, user_kind=kind)
        oracle = select(mine, method="oracle")
        ours = select(mine, method="useralign", mode="epsilon")
        iid = select(mine, method="iidbest")
        axes = {"food2d": "axes"}
        assert head_to_head(oracle, ours, 199, axes).mean >= 0.5
        assert head_to_head(iid, iid, 199, axes) == (0.5, 0.0)
        one = head_to_head(iid, oracle, 199, axes).mean
        assert one + head_to_head(oracle, iid, 199, axes).mean == pytest.approx(1.0)
        assert 0.0 <= head_to_head(ours, iid, 5, axes).mean <= 1.0


def test_head_to_head_wants_pairs() -> None:
    with pytest.raises(OptionError, match="no counterpart"):
        head_to_head([ONE], [cell((0, 3.0, "a", 0.0), until=0, seed=7)], 5, {})
    with pytest.raises(OptionError, match="two cells of one interaction"):
        head_to_head([ONE], [ONE, TWO], 5, {})


def test_errors_are_clustered_by_question() -> None:
    cells = [
        cell((0, 3.0, "a", win), until=0, question=f"q{q}", user=f"p{q}", seed=s)
        for q, win in enumerate((0.0, 1.0, 1.0))
        for s in range(4)
    ]
    got = clustered(cells, (c["steps"][0]["win"] for c in cells))
    # The seeds of a question are alike, so that there are three numbers, not twelve.
    assert got.mean == pytest.approx(2 / 3)
    assert got.sem == pytest.approx(np.std([0.0, 1.0, 1.0], ddof=1) / np.sqrt(3))


def test_with_one_question_users_are_the_clusters() -> None:
    cells = [
        cell((0, 3.0, "a", win), until=0, user=f"p{number}", seed=seed)
        for number, win in enumerate((0.0, 1.0))
        for seed in range(5)
    ]
    assert clustered(cells, (c["steps"][0]["win"] for c in cells)).sem == pytest.approx(0.5)
    assert np.isnan(clustered(cells[:5], [0.0] * 5).sem)
    assert np.isnan(clustered([], []).mean)
