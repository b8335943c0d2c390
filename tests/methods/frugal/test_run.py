"""The method at work: its contract, each kind of answer, slips, and when it stops."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import useralign as ua
from tests.conftest import gaussian_features
from tests.methods.frugal.tastes import pool, talk, taste
from useralign.errors import OptionError
from useralign.methods.frugal import Frugal
from useralign.testing import check_method


@pytest.mark.parametrize(
    "method", [Frugal(), Frugal(sure=0.8, top=3, prior={"mean": [1.0, 0.0, 0.0, -1.0]})]
)
def test_contract(method: Frugal) -> None:
    check_method(method)


@pytest.mark.parametrize(
    "option", [{"sure": 0.0}, {"sure": "x"}, {"top": 0}, {"gain": -1.0}, {"norm_bound": 0.0}]
)
def test_options_are_checked(option: dict[str, float]) -> None:
    with pytest.raises(OptionError):
        Frugal(**option)  # type: ignore[arg-type]


def test_it_is_registered_and_finds_the_best() -> None:
    features = pool(1)
    worth = taste(features, 1)
    session = ua.Session(ua.Pool("Which?", list("abcdefghijkl"), features), "frugal", budget=14)
    while (pair := session.ask()) is not None:
        session.tell(max(pair.first, pair.second, key=lambda c: worth[c.index]))
    assert session.best.index == worth.argmax()


def test_it_begins_where_other_methods_do() -> None:
    features = pool(2)
    ours, theirs = (
        Frugal().start(features, 4),
        ua.Session(ua.Pool("?", list("abcdefghijkl"), features), seed=4),
    )
    assert ours.best() == theirs.best.index


def test_the_bound_falls_and_confidence_rises() -> None:
    features = pool(3)
    worth = taste(features, 3)
    runs = [talk(Frugal(), features, worth, steps) for steps in (0, 5, 14)]
    bounds = [run.decide().bound for run in runs]
    assert 6.0 >= bounds[0] > bounds[1] > bounds[2] >= 0.0
    sure = [run.confidence().probability for run in runs]
    assert sure[0] < sure[1] < sure[2]
    assert not runs[0].satisfied()
    assert talk(Frugal(sure=0.8), features, worth, 14).satisfied()
    assert runs[0].possible().all()
    assert not runs[2].possible().all()


def test_good_enough_comes_sooner() -> None:
    features = pool(4)
    run = talk(Frugal(top=3), features, taste(features, 4), 5)
    assert run.confidence().top == 3
    narrow = talk(Frugal(), features, taste(features, 4), 5)
    assert run.confidence().probability > narrow.confidence().probability
    assert talk(Frugal(gain=10.0), features, taste(features, 4), 0).satisfied()


def test_one_wrong_click_in_twelve_is_survived() -> None:
    kept = 0
    for seed in range(12):
        features = pool(seed, 12, 6)
        worth = taste(features, seed)
        best = talk(Frugal(), features, worth, 16, wrong=(seed % 12,)).best()
        kept += bool(worth[best] >= np.sort(worth)[-2])
    assert kept >= 8


def test_contradictions_teach_it_that_answers_are_noisy() -> None:
    run = Frugal().start(pool(5), 0)
    before = run.posterior.noisy
    for first in (0, 2, 4):  # one pair may be a close call, but not three
        run.add(first, first + 1, first)
        run.add(first, first + 1, first + 1)
    assert before < 0.5
    assert run.posterior.noisy > 0.8


def test_a_consistent_person_is_asked_nothing_twice() -> None:
    features = pool(6, 6, 3)
    run, worth, asked = Frugal().start(features, 0), taste(features, 6), set[frozenset[int]]()
    while True:
        first, second, _ = run.decide()
        if second is None:
            break
        assert frozenset((first, second)) not in asked
        asked.add(frozenset((first, second)))
        run.add(first, second, first if worth[first] > worth[second] else second)
    assert len(asked) == 15


def test_features_that_say_nothing_are_found_out() -> None:
    explained = []
    for shuffled in (False, True):
        shares = []
        for seed in range(6):
            features = pool(seed, 12, 2)
            worth = taste(features, seed)
            if shuffled:
                worth = np.random.default_rng(seed).permutation(worth)
            posterior = talk(Frugal(), features, worth, 14).posterior
            shares.append(posterior.weights @ posterior.hypotheses.share)
        explained.append(np.mean(shares))
    assert explained[0] < 0.25
    assert explained[1] > explained[0] + 0.2


def test_equal_draws_two_together() -> None:
    features = pool(7)
    run = Frugal().start(features, 0)
    run.add(0, 1, 0)
    apart = run.scores()[0] - run.scores()[1]
    run.equal(0, 1)
    assert abs(run.scores()[0] - run.scores()[1]) < apart / 2
    assert set(run.decide()[:2]) != {0, 1}


def test_dislike_lowers_what_is_alike() -> None:
    features = pool(8)
    features[1] = features[0] + 0.01
    run = Frugal().start(features, 0)
    run.dislike(0)
    assert run.scores()[1] < run.scores()[2:].mean()
    assert run.best() != 0
    assert not run.possible()[0]


def test_a_remark_is_softer_the_less_it_weighs() -> None:
    features = pool(9)
    direction = np.eye(6)[2]
    rise = []
    for weight in (0.2, 1.0, -1.0):
        run = Frugal().start(features, 0)
        run.lean(direction, weight)
        rise.append(np.corrcoef(run.scores(), features @ direction)[0, 1] * run.scores().std())
    assert rise[1] > rise[0] > 0 > rise[2]


def test_several_are_different_and_open() -> None:
    features = pool(10)
    run = talk(Frugal(), features, taste(features, 10), 3)
    shown = run.several(4)
    assert len(set(shown)) == 4
    assert shown[:2] == run.decide()[:2]
    run.skip(*shown[:2])
    assert not set(shown[:2]) <= set(run.several(4))


def test_the_smallest_pools() -> None:
    assert Frugal().start(np.full((1, 2), 0.1), 0).decide() == (0, None, 0.0)
    run = Frugal().start(np.array([[0.3, 0.0], [0.3, 0.0]]), 0)  # alike in every feature
    run.add(0, 1, 1)
    assert run.best() == 1
    assert run.decide().second is None


def test_a_thousand_candidates() -> None:
    features = pool(11, 1000, 16)
    worth = taste(features, 11)
    run = talk(Frugal(), features, worth, 10)
    assert (worth > worth[run.best()]).mean() < 0.2


def test_scipy_is_imported_late() -> None:
    script = "import sys, useralign.methods.frugal; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_large_screen_at_once_is_as_good_as_one_by_one() -> None:
    features = gaussian_features(12, 6, 3)
    at_once, singly = (Frugal().start(features, 0) for _ in range(2))
    wins = [(4, k, 4) if k != 0 else (0, 4, 4) for k in range(9) if k != 4]
    at_once.add_all(wins)
    for win in wins:
        singly.add(*win)
    np.testing.assert_allclose(at_once.scores(), singly.scores(), atol=5e-3)
    assert at_once.best() == singly.best() == 4
    assert at_once.several(9)[:2] == at_once.decide()[:2]
