"""The method at work: its contract, each kind of answer, slips, and when it stops."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise, permutations

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
    hits = 0
    for seed in range(12):
        features = pool(seed, 12, 6)
        worth = taste(features, seed)
        best = talk(Frugal(), features, worth, 16, wrong=(seed % 12,)).best()
        hits += bool(worth[best] >= np.sort(worth)[-2])
    assert hits >= 8


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
    run, worth, pairs = Frugal().start(features, 0), taste(features, 6), set[frozenset[int]]()
    while True:
        first, second, _ = run.decide()
        if second is None:
            break
        assert frozenset((first, second)) not in pairs
        pairs.add(frozenset((first, second)))
        run.add(first, second, first if worth[first] > worth[second] else second)
    assert len(pairs) == 15


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
    screen = run.several(4)
    assert len(set(screen)) == 4
    assert screen[:2] == run.decide()[:2]
    run.skip(*screen[:2])
    assert not set(screen[:2]) <= set(run.several(4))


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


def outcome(answer: list[tuple[int, int, int]]) -> np.ndarray:
    """Return the probability of an answer to a screen under every hypothesis."""
    run = Frugal().start(gaussian_features(8, 5, 3), 0)
    run.add(0, 5, 0)
    before = run.posterior.sites.evidence
    run.add_all(answer)
    (screen,) = run.evidence.screens
    gained = run.posterior.sites.evidence - before
    return np.exp(gained - screen.log_outcomes(run.hypotheses.lapse))


def test_the_picks_of_a_screen_add_up_to_one() -> None:
    total = sum(outcome([(k, other, k) for other in range(4) if other != k]) for k in range(4))
    np.testing.assert_allclose(total, 1.0, atol=0.06)  # expectation propagation is near


def test_the_rankings_of_a_screen_add_up_to_one() -> None:
    orders = permutations(range(3))
    total = sum(outcome([(a, b, a) for a, b in pairwise(order)]) for order in orders)
    np.testing.assert_allclose(total, 1.0, atol=0.06)


def test_a_screen_is_told_from_a_ranking() -> None:
    run = Frugal().start(gaussian_features(8, 5, 3), 0)
    run.add_all([(4, 1, 4), (2, 4, 4), (3, 4, 4)])
    run.add_all([(1, 2, 1), (2, 3, 2)])
    run.add(0, 5, 0)
    assert [(screen.size, screen.best_of) for screen in run.evidence.screens] == [
        (4, True),
        (3, False),
    ]
    np.testing.assert_allclose(run.evidence.alone**2 + np.diag(run.evidence.shared), 1.0)
    np.testing.assert_allclose(run.evidence.shared[:3, :3], 0.5)  # the winner's own noise
    assert not run.evidence.shared[:3, 3:].any()


def test_somebody_who_clicks_at_random_is_doubted() -> None:
    draw = np.random.default_rng(1)
    noisy, sure = [], []
    for seed in range(6):
        pair = [Frugal(top=3).start(gaussian_features(20, 8, seed), seed) for _ in range(2)]
        for run, worth in zip(
            pair, (None, taste(gaussian_features(20, 8, seed), seed)), strict=True
        ):
            for _ in range(5):
                screen = run.several(4)
                best = draw.choice(screen) if worth is None else max(screen, key=worth.__getitem__)
                run.add_all([(best, k, best) for k in screen if k != best])
        noisy.append([run.posterior.noisy for run in pair])
        sure.append([run.confidence().probability for run in pair])
    assert np.mean(noisy, axis=0)[0] > 2.0 * np.mean(noisy, axis=0)[1]
    assert np.mean(sure, axis=0)[0] < np.mean(sure, axis=0)[1] - 0.2


def test_a_screen_has_the_favourite_and_whom_it_may_lose_to() -> None:
    run = talk(Frugal(), gaussian_features(12, 6, 3), taste(gaussian_features(12, 6, 3), 3), 3)
    screen = run.several(4)
    worth = run.draws[:, list(screen)].max(axis=1).mean()
    assert screen[0] == run.best()
    swapped = [*screen[:3], next(k for k in range(12) if k not in screen)]
    assert worth >= run.draws[:, swapped].max(axis=1).mean()
    assert run.several(2) == run.decide()[:2]


def test_a_million_candidates_are_refused_at_once() -> None:
    with pytest.raises(OptionError, match=r"at most 100,000 candidates at once, got 1,000,000"):
        Frugal().start(np.zeros((1_000_000, 1)), 0)
