from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from useralign import Pool, Session, domains
from useralign.lab.cell import PlanCell, pool_of, seed_of, user_of, with_dimension
from useralign.lab.journal import Step, at, at_epsilon
from useralign.lab.plan import parse_plan
from useralign.users import Erring, User

from .plans import SMALL

CELLS = parse_plan(SMALL).cells()


def by_hand(cell: PlanCell) -> list[Step]:
    """Every step of a cell, by a session of its own without any sharing."""
    pool = pool_of(cell.domain, cell.style, cell.question, cell.embedder)
    user: User = user_of(cell.named(), cell.embedder)
    fixed = cell.mode == "budget"
    options: dict[str, Any] = dict(cell.options)
    if cell.method == "oracle":
        options["utilities"] = user.worth(pool)
    session = Session(
        pool,
        cell.method_name,
        None if fixed else 0.0,
        cell.cap if fixed else None,
        cell.session_seed,
        limit=cell.cap,
        **options,
    )
    assert pool.baseline is not None
    steps = []
    while True:
        win = user.win_rate(session.best, pool.baseline)
        steps.append(Step(session.cost, session.bound, session.best.label, win))
        if (pair := session.ask()) is None:
            return steps
        session.tell(user.choose(pair))


@pytest.mark.parametrize("cell", CELLS[::3], ids=lambda cell: cell.key)
def test_a_cell_is_the_interaction_held_by_hand(cell: PlanCell) -> None:
    result, steps = cell.run(), by_hand(cell)
    assert result["stopped_at"] == steps[-1].t == result["steps"][-1]["t"]
    assert result["key"] == cell.key
    for step in steps:
        found = at(result, step.t)
        assert (found.t, found.best) == (step.t, step.best)
        assert found.bound == pytest.approx(step.bound, abs=1e-7)
        assert found.win == pytest.approx(step.win)
    assert at(result, 10**6) == at(result, steps[-1].t)


def test_only_changes_are_kept() -> None:
    for cell in CELLS:
        steps = cell.run()["steps"]
        kept = steps[:-1]
        for before, after in itertools.pairwise(kept):
            assert before["t"] < after["t"]
            assert (before["bound"], before["best"]) != (after["bound"], after["best"])


def test_a_cell_depends_on_nothing_before_it() -> None:
    cells = CELLS[:14]
    forward = [cell.run() for cell in cells]
    backward = [cell.run() for cell in reversed(cells)]
    assert forward == backward[::-1]


def test_all_methods_begin_with_the_same_candidate() -> None:
    for place in {(c.question, c.user, c.seed) for c in CELLS}:
        mine = [c for c in CELLS if (c.question, c.user, c.seed) == place]
        first = {c.run()["steps"][0]["best"] for c in mine if c.method != "oracle"}
        assert len(first) == 1


def test_stops_and_thresholds() -> None:
    for cell in (c for c in CELLS if c.mode == "epsilon" and c.method == "useralign"):
        result = cell.run()
        assert at_epsilon(result, 3.0) == at(result, 0)
        assert at_epsilon(result, 0.0).t == result["stopped_at"]
        assert result["stop_reason"] == "bound"
        costs = [at_epsilon(result, epsilon).t for epsilon in (3.0, 2.0, 1.0, 0.5, 0.1, 0.0)]
        assert costs == sorted(costs)
    for cell in (c for c in CELLS if c.method in ("random", "oracle")):
        result = cell.run()
        assert (len(result["steps"]), result["stopped_at"]) == (1, 0)


def test_oracle_is_never_beaten() -> None:
    for cell in CELLS:
        if cell.method == "oracle":
            best = cell.run()["steps"][0]["win"]
            rival = next(c for c in CELLS if c.key == cell.key.replace("oracle", "random")).run()
            assert best >= rival["steps"][0]["win"]


def test_seeds_follow_from_names() -> None:
    assert seed_of("a", 1) == seed_of("a", "1") != seed_of("a1")
    assert 0 <= seed_of("x") < 2**32


def test_a_user_with_a_taste_over_embedded_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    from useralign.lab import cell as cells
    from useralign.models import FunctionEmbedder

    embedder = FunctionEmbedder(lambda texts: [[len(t), t.count("a"), 1.0] for t in texts], "toy")
    pool = domains.load("food64d").questions[0].pool(embedder=embedder)
    monkeypatch.setattr(cells, "pool_of", lambda *_: pool)
    monkeypatch.setattr(cells, "embedder_for", lambda _: embedder)
    toy = replace(CELLS[0], domain="food64d", user="btl-1", user_kind="btl", embedder="toy")
    user = cells.user_of(toy.named(), "toy")
    assert pool.baseline is not None
    assert isinstance(pool, Pool)
    assert 0.0 < user.win_rate(pool[0], pool.baseline) < 1.0


def test_a_user_who_slips_is_the_same_user_with_slips() -> None:
    text = SMALL.replace('kind = "persona"\ncount = 1', 'kind = "persona"\ncount = 1\nslips = 0.2')
    cells = [c for c in parse_plan(text).cells() if c.user_kind == "persona+0.2"]
    first = cells[0]
    user = user_of(first.named(), first.embedder)
    assert isinstance(user, Erring)
    assert user.rate == 0.2
    meant = user_of({**first.named(), "user_kind": "persona"}, first.embedder)
    pool = first.pool()
    assert user.worth(pool).tolist() == meant.worth(pool).tolist()
    assert user.win_rate(pool[0], pool[1]) == meant.win_rate(pool[0], pool[1])
    for cell in (cells[0], cells[1]):  # to epsilon, and for the budget, which begins alike
        result, steps = cell.run(), by_hand(cell)
        assert result["stopped_at"] == steps[-1].t
        assert [at(result, s.t).best for s in steps] == [s.best for s in steps]


def test_the_real_dimension_is_printed() -> None:
    assert with_dimension("visual512d, users") == "visual512d (384 features here), users"
    assert with_dimension("food2d and food64d, not moon9d") == "food2d and food64d, not moon9d"
