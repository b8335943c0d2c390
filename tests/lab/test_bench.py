"""The comparison of methods: who is asked, what is measured, and that it can be gone on with."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.lab.plans import Here
from tests.users.population import population
from useralign import FileFormatError, OptionError
from useralign.errors import MissingExtraError
from useralign.lab.bench.cases import (
    SYNTHETIC,
    USERS,
    recorded_case,
    synthetic_case,
    usable_people,
)
from useralign.lab.bench.contest import (
    POOLS,
    BenchCell,
    contest,
    run_contest,
    state_at,
    usual_methods,
)
from useralign.lab.bench.summary import (
    Group,
    clock_table,
    metric_tables,
    overviews,
    screen_tables,
    short_tables,
    summarise,
)
from useralign.users.base import check_user

QUICK = ("useralign", "tournament", "random")


def cell(method: str, *, pool: str = "synthetic2d", users: str = "consistent") -> BenchCell:
    return BenchCell(pool, users, "3", 0, method, "", 0)


@pytest.mark.parametrize("name", SYNTHETIC)
@pytest.mark.parametrize("users", USERS)
def test_synthetic_people(name: str, users: str) -> None:
    case = synthetic_case(name, users, 2, 0)
    count, dimension = SYNTHETIC[name]
    assert case.pool.features.shape == (count, dimension)
    assert np.linalg.norm(case.pool.features, axis=1).max() <= 0.5 + 1e-9
    assert case.regret.min() == 0.0
    assert case.regret.max() == 1.0
    check_user(case.user(), case.pool)
    baseline = case.pool.baseline
    assert baseline is not None
    wins = [case.user().win_rate(candidate, baseline) for candidate in case.pool]
    np.testing.assert_allclose(case.wins, wins)


def test_kinds_share_pool_and_taste() -> None:
    cases = [synthetic_case("synthetic64d", users, 1, 0) for users in USERS]
    for case in cases[1:]:
        np.testing.assert_array_equal(case.pool.features, cases[0].pool.features)
    for case in cases[1:4]:
        np.testing.assert_array_equal(case.worth, cases[0].worth)
    assert abs(np.corrcoef(cases[0].worth, cases[4].worth)[0, 1]) < 0.9


def test_methods_meet_the_same_luck() -> None:
    first = {m: cell(m).run()["steps"][0] for m in (*QUICK, "thompson", "uncertainty", "iidbest")}
    assert len({json.dumps(step) for step in first.values()}) == 1


def test_a_cell_is_a_function_of_its_description() -> None:
    for users in USERS:
        runs = [cell("tournament", users=users).run() for _ in range(2)]
        for run in runs:
            assert run.pop("seconds") > 0
        assert runs[0] == runs[1]


def test_a_tournament_of_twenty_is_won_by_the_best() -> None:
    found = cell("tournament", pool="synthetic64d").run()
    assert found["stopped_at"] == 19
    assert state_at(found, 20)["top"] == 1.0
    assert state_at(found, 20)["regret"] == 0.0
    assert state_at(found, 0) == state_at({**found, "steps": found["steps"][:1]}, 20)


def test_the_chance_of_a_tournament_is_the_share_it_has_met() -> None:
    asked = contest(["tournament"], ["synthetic64d"], users=["ranking"], runs=120)
    hits = np.mean(
        [[state_at(c.run(), t)["top"] for t in (0, 9, 20)] for c in asked.cells()], axis=0
    )
    np.testing.assert_allclose(hits, [1 / 20, 10 / 20, 1.0], atol=0.15)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(population(items=14).write(tmp_path_factory.mktemp("records")))


def test_recorded_people_are_judged_by_their_ratings(records: str) -> None:
    made = population(items=14)
    assert usable_people(records) == [f"p{j}" for j in range(6)]
    for j in range(6):
        case = recorded_case(records, f"p{j}", 0)
        rated = [r["rating"] for r in made.records["ratings"] if r["person"] == f"p{j}"]
        np.testing.assert_allclose(case.regret, (5.0 - np.array(rated)) / 4.0)
        others = np.delete(np.arange(6), j)
        scaled = np.array([recorded_case(records, f"p{i}", 0).regret for i in others])
        popular = int(scaled.mean(axis=0).argmin())
        assert case.wins[popular] == 0.5
        assert case.wins[case.worth.argmax()] in (0.5, 1.0)
        check_user(case.user(), case.pool)


def test_what_was_never_recorded_is_left_out(tmp_path: Path) -> None:
    made = population(items=14, pairs=12)
    del made.records["ratings"]
    folder = str(made.write(tmp_path / "answers"))
    said = {(a["person"], frozenset((a["first"], a["second"]))) for a in made.records["answers"]}
    for name in usable_people(folder):
        found = BenchCell("people", "recorded", name, 0, "iidbest", folder, 0).run()
        case = recorded_case(folder, name, 0)
        assert found["pool_size"] == len(case.pool)
        assert sum(person == name for person, _ in said) == 12
        known = sum(
            case.user().knows(one, other)
            for one in case.pool
            for other in case.pool
            if one.index < other.index
        )
        assert known == 12


def test_nobody_to_ask(tmp_path: Path) -> None:
    made = population(people=1, items=3)
    made.records["ratings"] = [{**r, "rating": 2} for r in made.records["ratings"]]
    del made.records["answers"]
    with pytest.raises(OptionError, match="nobody there prefers one item"):
        usable_people(str(made.write(tmp_path / "flat")))


def test_one_or_two_processes_give_the_same_bytes(tmp_path: Path, records: str) -> None:
    asked = contest(QUICK, ["synthetic2d"], users=["btl", "flip10"], runs=2, people=records)
    for jobs in (1, 2):
        run_contest(asked, tmp_path / str(jobs), jobs=jobs)
    both = [(tmp_path / str(jobs) / "results.json").read_bytes() for jobs in (1, 2)]
    assert both[0] == both[1]
    assert b"seconds" not in both[0]


def test_more_can_be_added_to_a_folder(tmp_path: Path) -> None:
    done: list[int] = []

    def note(count: int, *_: object) -> None:
        done.append(count)

    small = contest(["tournament"], ["synthetic2d"], users=["btl"], runs=2)
    run_contest(small, tmp_path, engine=Here(), progress=note)
    before = (tmp_path / "results.json").read_bytes()
    more = contest(["tournament", "random"], ["synthetic2d"], users=["btl"], runs=3)
    done.clear()
    cells, spent = run_contest(more, tmp_path, engine=Here(), progress=note)
    assert done[0] == 2  # those of the smaller one were not computed again
    assert len(cells) == len(spent) == 6
    run_contest(small, tmp_path, engine=Here())
    assert (tmp_path / "results.json").read_bytes() == before


def test_conditions_are_not_mixed(tmp_path: Path, records: str) -> None:
    one = ["random"], ["synthetic2d"]
    run_contest(contest(*one, users=["btl"], runs=1), tmp_path, engine=Here())
    with pytest.raises(FileFormatError, match="was begun with seed 0, this is 1"):
        run_contest(contest(*one, users=["btl"], runs=1, seed=1), tmp_path, engine=Here())
    run_contest(contest(["random"], runs=1, people=records), tmp_path, engine=Here())
    other = str(population(seed=5).write(tmp_path / "others"))
    with pytest.raises(FileFormatError, match="other records of people"):
        run_contest(contest(["random"], runs=1, people=other), tmp_path, engine=Here())
    (tmp_path / "bench.json").write_text("[]")
    with pytest.raises(FileFormatError, match="not the record of a comparison"):
        run_contest(contest(*one, runs=1), tmp_path, engine=Here())


def test_tables_say_what_the_cells_say(tmp_path: Path) -> None:
    asked = contest(QUICK, ["synthetic2d"], users=["ranking", "consistent"], runs=4)
    cells, spent = run_contest(asked, tmp_path, engine=Here())
    groups = summarise(cells, spent, asked)
    assert [group.users for group in groups] == ["ranking", "consistent"]
    line = groups[1].lines[0]
    mine = [c for c in cells if c["users"] == "consistent" and c["method"] == "useralign"]
    assert line.method == "useralign"
    assert line.count == 4
    for t in (0, 3, 20):
        assert line.means["regret"][t].mean == np.mean([state_at(c, t)["regret"] for c in mine])
    wins = [np.mean([state_at(c, t)["win"] for c in mine]) for t in range(21)]
    assert line.to_level == next((t for t, win in enumerate(wins) if win >= 0.9), None)
    assert groups[0].lines[2].milliseconds is None  # random asks nothing
    assert len(metric_tables(groups)) == 6
    assert "| useralign |" in short_tables(groups)[0].to_markdown()
    best = overviews(groups)[1]
    assert best.columns == ("On", *QUICK)
    assert best.rows[1][1] == f"{line.means['top'][5].mean:.2f} / {line.means['top'][10].mean:.2f}"
    assert clock_table(groups).columns == ("Method", "synthetic2d")


def test_screens_of_several_are_measured(tmp_path: Path) -> None:
    asked = contest(["few", "useralign"], ["synthetic2d"], users=["consistent"], runs=2, show=4)
    cells, spent = run_contest(asked, tmp_path, engine=Here())
    assert {c["show"] for c in cells} == {4}
    assert all(c["key"].endswith("/4") for c in cells)
    few = next(c for c in cells if c["method"] == "few")
    assert few["stopped_at"] <= 5
    assert few["read"][:2] == [0.0, 0.2]  # four of twenty, which have no words
    assert len(few["read"]) == few["stopped_at"] + 1
    assert state_at(few, 20)["words"] == few["read"][-1]
    assert max(c["stopped_at"] for c in cells if c["method"] == "useralign") <= 10
    groups = summarise(cells, spent, asked)
    end = groups[0].lines[0].end
    assert end is not None
    mine = [c for c in cells if c["method"] == "few"]
    assert end.screens == np.median([c["stopped_at"] for c in mine])
    assert end.top3.mean == np.mean([c["steps"][-1]["top3"] for c in mine])
    table = screen_tables(groups)[0]
    assert table.rows[0][:3] == ("few", 4, end.screens)
    assert len(metric_tables(groups)) == 5
    assert groups[0].to_dict()["methods"][0]["end"]["per_screen"] == 4


def test_beside_the_preset_pairs_are_measured_alike(tmp_path: Path) -> None:
    asked = contest(["few", "tournament"], ["synthetic2d"], users=["btl"], runs=1)
    assert [c.key.rsplit("/", 1)[-1] for c in asked.cells()] == ["few", "2"]
    cells, spent = run_contest(asked, tmp_path, engine=Here())
    assert [c["show"] for c in cells] == [4, 2]
    pairs, plain = (c.run() for c in (asked.cells()[1], cell("tournament", users="btl")))
    assert "read" not in plain
    assert plain["steps"][0].keys() == pairs["steps"][0].keys() - {"top3"}
    assert screen_tables(summarise(cells, spent, asked))[0].rows[1][:2] == ("tournament", 2)


def test_what_is_compared_when_nothing_is_said(records: str) -> None:
    usual = usual_methods()
    assert "oracle" not in usual
    assert {"useralign", "iidbest", "random", "tournament", "uncertainty", "thompson"} <= set(usual)
    assert contest().pools == POOLS
    assert contest(people=records).pools == ("people",)
    assert contest(["random"], ["food64d"], runs=2).cells()[1].seed == 1
    assert len(contest(["random"], ["food64d"]).cells()) == 150


def test_names_that_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="unknown method 'nobody'"):
        contest(["nobody"])
    with pytest.raises(OptionError, match="unknown pool 'moon'; known: food64d"):
        contest(pools=["moon"])
    with pytest.raises(OptionError, match="unknown kind of users 'cats'"):
        contest(users=["cats"])
    with pytest.raises(OptionError, match="runs must be a whole number"):
        contest(runs=0)
    with pytest.raises(OptionError, match="per_screen must be 2 to 9"):
        contest(show=10)
    monkeypatch.setitem(__import__("sys").modules, "botorch", None)
    with pytest.raises(MissingExtraError, match=r"useralign\[botorch\]"):
        contest(["eubo"])
    assert "eubo" not in usual_methods()


def test_personas_may_slip_toss_a_coin_or_find_all_equal() -> None:
    kinds = ("persona", "slip10", "coin", "indifferent")
    plan = contest(["few"], ["food64d", "synthetic2d"], users=[*kinds, "btl"], runs=1)
    cells = plan.cells()
    by_kind = {kind: [cell for cell in cells if cell.users == kind] for kind in (*kinds, "btl")}
    assert len({len(by_kind[kind]) for kind in kinds}) == 1
    assert [cell.pool for cell in by_kind["btl"]] == ["synthetic2d"]
    assert {cell.pool for cell in cells if cell.users in kinds} == {"food64d"}
    result = by_kind["indifferent"][0].run()
    assert result["stop_reason"] in ("indifferent", "budget")
    assert result["stopped_at"] <= 5
    kept, coin = (by_kind[kind][0].run() for kind in ("persona", "coin"))
    assert kept["steps"] != coin["steps"]


def test_titles_say_how_many_features_there_are() -> None:
    assert Group("visual512d", "persona", ()).title == "visual512d (384 features here), personas"
    assert Group("synthetic512d", "btl", ()).title == "synthetic512d, BTL users"
