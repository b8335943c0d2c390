"""Tables and verdicts from small synthetic results."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from useralign.lab import claims, paper, tables
from useralign.lab.paper import Mean
from useralign.lab.tables import Table

Cell = dict[str, Any]


def cell(method: str, mode: str, steps: list[tuple[int, float, str, float]], **fields: Any) -> Cell:
    """A cell of the results format; steps are (t, bound, best, win)."""
    named = {
        "domain": "food64d",
        "style": "mixed",
        "question": "food-01",
        "user": "someone",
        "user_kind": "persona",
        "seed": 0,
        "pool_size": 20,
        **fields,
    }
    keys = ("t", "bound", "best", "win")
    return {
        "key": "/".join(map(str, [*named.values(), method, mode])),
        **named,
        "method": method,
        "mode": mode,
        "steps": [dict(zip(keys, step, strict=True)) for step in steps],
        "stopped_at": steps[-1][0],
        "stop_reason": "bound",
    }


def results(domain: str = "food64d", seeds: int = 4, **fields: Any) -> list[Cell]:
    """What the paper says would look like this."""
    cells = []
    for seed in range(seeds):
        where = {"domain": domain, "seed": seed, **fields}
        first = (0, 3.0, "u01", float(seed % 2))
        cells += [
            cell(
                "useralign",
                "epsilon",
                [first, (1, 1.5, "u02", 1.0), (20, 0.0, "u09", 1.0)],
                **where,
            ),
            cell(
                "useralign",
                "budget",
                [first, (1, 1.5, "u02", 1.0), (199, 0.0, "u09", 1.0)],
                **where,
            ),
            cell(
                "useralign_loss",
                "epsilon",
                [first, (1, 1.9, "u02", 0.0), (199, 1.9, "u02", 0.0)],
                **where,
            ),
            cell(
                "iidbest", "budget", [first, (5, 3.0, "u03", 0.0), (199, 3.0, "u03", 0.0)], **where
            ),
            cell("random", "budget", [first], **where),
            cell("oracle", "budget", [(0, 0.0, "u09", 1.0)], **where),
        ]
    return cells


@pytest.fixture
def table() -> Table:
    rows: list[tuple[Any, ...]] = [("a", 1, Mean(98.667, 0.94), None), ("b|c", 20, None, 2.5)]
    return Table("name", "Title", ("x", "t", "win", "other"), rows, "A note.", frozenset({1}))


def test_markdown(table: Table) -> None:
    text = table.to_markdown()
    assert "| a | 1 | 98.67 (0.94) | - |" in text
    assert "**20**" in text
    assert text.endswith("A note.\n")


def test_csv_has_standard_errors_apart(table: Table) -> None:
    rows = list(csv.reader(io.StringIO(table.to_csv())))
    assert rows[0] == ["x", "t", "win", "win sem", "other"]
    assert rows[1] == ["a", "1", "98.667", "0.94", ""]
    assert rows[2] == ["b|c", "20", "", "", "2.5"]


def test_json_and_files(table: Table, tmp_path: Path) -> None:
    paths = table.write(tmp_path)
    assert sorted(path.suffix for path in paths) == [".csv", ".json", ".md"]
    read = json.loads((tmp_path / "name.json").read_text())
    assert read["rows"][0]["win"] == {"mean": 98.667, "sem": 0.94}


def test_trade_off_has_the_papers_rows_and_numbers() -> None:
    built = tables.trade_off(results(), "food64d")
    assert len(built.rows) == 31
    rows = {row[0]: row for row in built.rows}
    assert rows["UserAlign (ε = 0.0)"][1:] == (
        Mean(100.0, 0.0),
        Mean(98.67, 0.94),
        Mean(20.0, 0.0),
        Mean(19.13, 0.24),
    )
    assert rows["iidBest (t = 5)"][1] == Mean(0.0, 0.0)
    assert rows["Random"][1] == Mean(50.0, 25.0)
    assert {built.rows[place][0] for place in built.marked} >= {"UserAlign (ε = 0.0)"}
    assert "4 interactions" in built.note


def test_trade_off_without_cells_shows_the_paper_alone() -> None:
    built = tables.trade_off([], "travel64d")
    assert built.rows[0][1:3] == (None, Mean(58.67, 4.02))
    assert built.note == "Not run."


def test_the_paper_has_no_numbers_for_unbiased_pools() -> None:
    built = tables.trade_off(results(style="unbiased"), "food64d", "unbiased")
    assert built.name == "trade-off-food64d-unbiased"
    assert all(row[2] is None and row[4] is None for row in built.rows)


def test_large_pool_table() -> None:
    built = tables.large_pool(results(pool_size=1000))
    assert len(built.rows) == 12
    assert built.rows[-1] == ("UserAlign", 20, (100, 0), (96.67, 1.47))


def test_claims_hold_on_results_like_the_papers() -> None:
    verdicts = claims.check(results())
    assert len(verdicts) == 9
    assert [v.claim for v in verdicts if not v.holds] == []


def _verdicts(cells: list[Cell]) -> dict[str, claims.Verdict]:
    return {v.claim: v for v in claims.check(cells)}


def test_a_claim_that_fails_says_so_with_figures() -> None:
    cells = results()
    for one in cells:
        if one["method"] == "iidbest":
            one["steps"][-2]["win"] = one["steps"][-1]["win"] = 1.0
    verdict = _verdicts(cells)[
        "UserAlign at ε = 0 has a higher win-rate than iidBest at t = 20, 25 and 50"
    ]
    assert not verdict.holds
    assert "100.00 (t = 50)" in verdict.ours
    assert "+0.0 points; one user alone gives no standard error" in verdict.why
    assert "iidBest in 0% at t = 50" in verdict.why


def test_loss_that_stops_is_noticed() -> None:
    cells = results()
    for one in cells:
        if one["method"] == "useralign_loss":
            one["steps"][-1] |= {"t": 60, "bound": 0.0}
            one["stopped_at"] = 60
    verdict = _verdicts(cells)["UserAlign_loss does not stop within 199 questions"]
    assert not verdict.holds
    assert "cost 60.00" in verdict.ours


def test_different_starts_are_noticed() -> None:
    cells = results()
    cells[0]["steps"][0]["best"] = "u17"
    verdict = _verdicts(cells)["All four methods are equal at t = 0"]
    assert not verdict.holds
    assert "1 of 4" in verdict.why


def test_a_late_bound_is_explained() -> None:
    cells = results()
    for one in cells:
        if one["method"] == "useralign_loss":
            one["steps"][1]["bound"] = 2.4
    verdict = _verdicts(cells)["UserAlign_loss at ε = 2 has a cost of 1.00"]
    assert not verdict.holds
    assert "4 of 4" in verdict.why


def test_cost_claim_is_for_twenty_candidates() -> None:
    cells = results("visual512d", pool_size=40)
    assert not any("19 to 22" in claim for claim in _verdicts(cells))


def test_claims_are_sorted_by_whether_they_can_fail() -> None:
    sorts = {v.claim: v.sort for v in claims.check(results())}
    assert sorts["All four methods are equal at t = 0"] == "definition"
    assert sorts["UserAlign at ε = 3 has a cost of 0.00"] == "definition"
    assert sorts["UserAlign_loss does not stop within 199 questions"] == "definition"
    assert sorts["UserAlign_loss at ε = 2 has a cost of 1.00"] == "open"
    above = "UserAlign at ε = 0 has a higher win-rate than iidBest at t = 20, 25 and 50"
    assert sorts[above] == "implied"
    slips = claims.check_slips(results(user_kind="persona+0.05"))
    assert {v.claim for v in slips} >= {above}
    assert {(v.sort, v.where) for v in slips} == {("open", "food64d, users who slip")}


def test_early_budgets() -> None:
    (verdict,) = claims.better_early("food64d", results())
    assert verdict.holds
    assert "t = 5: 100.0, ahead by +100.0 of UserAlign_loss, +100.0 of iidBest" in verdict.ours
    cells = results()
    for one in cells:
        if one["method"] == "iidbest":
            one["steps"][1]["win"] = 1.0
    (verdict,) = claims.better_early("food64d", cells)
    assert not verdict.holds
    assert "over iidBest at t = 5, is +0.0 points" in verdict.why


def test_costs_are_compared_with_the_papers() -> None:
    found = list(claims.costs_like_the_papers("food64d", results(), "Measured."))
    assert [v.holds for v in found] == [False, True, True]  # 20 against 2.19, 11.39 and 15.49
    assert found[0].why == "9.13 times the paper's. Measured."
    assert "Too high it could not be: at ε = 0 it is 20.00," in found[1].why
    assert not list(claims.costs_like_the_papers("food2d", results("food2d")))


def test_beside_the_win_rates() -> None:
    cells = results()
    cells += [
        cell("tournament", "epsilon", [(0, 3.0, "u01", 0.0), (19, 0.0, "u09", 1.0)], seed=s)
        for s in range(4)
    ]
    built = tables.beside(cells)
    rows: dict[Any, tuple[Any, ...]] = {row[1]: row for row in built.rows}
    assert set(rows) == {"UserAlign", "knock-out", "iidBest", "Random", "Oracle"}
    win5, win10, end, theirs, hit5, hit10, hit, cost = rows["UserAlign"][2:]
    assert (win5.mean, win10.mean, end.mean, theirs) == (100.0, 100.0, 100.0, Mean(98.67, 0.94))
    assert (hit5.mean, hit10.mean, hit.mean, cost.mean) == (0.0, 0.0, 100.0, 20.0)
    assert (rows["knock-out"][2].mean, rows["knock-out"][4].mean) == (0.0, 100.0)
    assert "never contradict themselves" in built.note
    slips = tables.beside(results(user_kind="persona+0.05"), kind="persona+0.05")
    assert slips.name == "beside-slips"
    assert "slip in 5% of answers" in slips.title
    assert "never contradict" not in slips.note


def test_costs_by_likeness() -> None:
    cells = results("food64d-near-xy")
    built = tables.likeness(cells, {"food64d-near-xy": (0.31, 0.38)})
    rows: list[tuple[Any, ...]] = [row for row in built.rows if row[0] == "food64d"]
    assert rows[0][:5] == ("food64d", "near-duplicates", "with the question", 0.31, 0.38)
    assert [cost.mean for cost in rows[0][5:]] == [20.0, 20.0, 20.0]
    assert rows[1][1:5] == ("those that the paper prints", "alone", 0.37, 0.45)
    assert [cost.mean for cost in rows[-1][5:]] == [2.19, 11.39, 15.49]
    assert rows[-1][1] == "the paper's"


def test_a_variant_has_the_papers_numbers_of_its_domain() -> None:
    built = tables.trade_off(results("food64d-near-xy"), "food64d-near-xy")
    assert built.rows[8][2] == Mean(98.67, 0.94)
    assert paper.row("food64d-large", "random") is None


def test_human_study_is_marked_as_simulated() -> None:
    cells = results(user_kind="persona+0.05")
    built = tables.human_study(cells)
    rows: dict[Any, tuple[Any, ...]] = {row[:3]: row[3:] for row in built.rows}
    ours, persona, own = rows["food64d", "UserAlign", 10]
    assert (ours.mean, persona.mean, own.mean) == (100.0, 89.2, 85.8)
    assert rows["visual512d", "UserAlign", 20][0] is None
    assert "not run here, simulated" in built.title
    (verdict,) = claims.better_with_people(cells)
    assert verdict.holds
    assert verdict.where == "food64d, simulated people"
    assert verdict.sort == "implied"  # by users who slip: the same cells at t = 5 and 10
    assert verdict.paper == "82.5 against 71.7 (t = 5), 89.2 against 78.3 (t = 10)"


def test_equal_cost_claim() -> None:
    (verdict,) = claims.better_at_equal_cost("food2d, BTL", results("food2d"))
    assert verdict.holds
    assert "at t = 20" in verdict.ours
    assert list(claims.better_at_equal_cost("nowhere", [])) == []


def test_large_pool_claim() -> None:
    (verdict,) = claims.scales_to_large_pools(results(), "food64d, N = 1,000")
    assert verdict.holds
    assert "86.7 against 72.0 (t = 5)" in verdict.paper


def test_head_to_head_claim_reads_its_table() -> None:
    printed = paper.load().head_to_head["food64d", 20]
    rows: list[tuple[Any, ...]] = [
        ("food64d", 20, Mean(85.0, 2.0), printed),
        ("food64d", 25, Mean(45.0, 2.0), None),
        ("dsp64d", 20, None, None),
    ]
    table = Table("head-to-head", "", ("Domain", "t", "ours", "paper"), rows)
    (verdict,) = claims.wins_head_to_head(table)
    assert not verdict.holds
    assert verdict.ours == "85.00 (t = 20), 45.00 (t = 25)"
    assert verdict.paper == "96.67 (t = 20)"
