"""The paper's numbers are all there, and are the paper's."""

from __future__ import annotations

import pytest

from useralign.lab import paper


def test_every_domain_has_all_31_rows() -> None:
    tables = paper.load().trade_off
    assert tuple(tables) == paper.DOMAINS
    assert {len(rows) for rows in tables.values()} == {9 + 9 + 11 + 1 + 1}


@pytest.mark.parametrize("domain", paper.DOMAINS)
def test_rows_cover_all_thresholds_and_budgets(domain: str) -> None:
    rows = paper.load().trade_off[domain]
    for method in ("useralign", "useralign_loss"):
        assert tuple(r.epsilon for r in rows if r.method == method) == paper.EPSILONS
    assert tuple(r.t for r in rows if r.method == "iidbest") == paper.BUDGETS


@pytest.mark.parametrize(
    ("domain", "method", "at", "win", "cost"),
    [
        ("food64d", "useralign", {"epsilon": 0.0}, (98.67, 0.94), (19.13, 0.24)),
        ("travel64d", "useralign", {"epsilon": 1.0}, (76.00, 3.49), (1.95, 0.07)),
        ("visual512d", "useralign", {"epsilon": 0.0}, (94.67, 1.83), (49.31, 0.72)),
        ("dsp64d", "useralign_loss", {"epsilon": 1.0}, (71.20, 1.17), (164.82, 1.93)),
        ("travel64d", "iidbest", {"t": 199}, (90.67, 2.38), (199.0, 0.0)),
        ("dsp64d", "oracle", {}, (99.33, 0.21), (0.0, 0.0)),
    ],
)
def test_values(
    domain: str,
    method: str,
    at: dict[str, float],
    win: tuple[float, float],
    cost: tuple[float, float],
) -> None:
    row = paper.row(domain, method, **at)  # type: ignore[arg-type]
    assert row is not None
    assert row.win == win
    assert row.cost == cost


def test_all_methods_start_alike_in_the_paper() -> None:
    for rows in paper.load().trade_off.values():
        starts = {r.win for r in rows if r.epsilon == 3.0 or r.t == 0 or r.method == "random"}
        assert len(starts) == 1


def test_the_other_tables() -> None:
    numbers = paper.load()
    assert len(numbers.head_to_head) == 12
    assert numbers.head_to_head["visual512d", 50] == (87.33, 2.72)
    assert len(numbers.large_pool) == 12
    assert numbers.large_pool["useralign", 20] == (96.67, 1.47)
    assert [row.total for row in numbers.wall_clock] == [0.1287, 0.8719]
    assert [row.pool_usd for row in numbers.costs] == [0.01, 1.71]
    assert len(numbers.human_study) == 24
    assert paper.row("food64d", "useralign", epsilon=0.7) is None
