"""The look-ahead against brute force."""

from __future__ import annotations

import numpy as np

from tests.methods.frugal.tastes import pool, talk, taste
from useralign.methods.frugal import Frugal
from useralign.methods.frugal.choice import best_addition, gains, sharpening, shortlist


def test_the_gain_is_what_an_answer_adds_on_average() -> None:
    features = pool(1, 10, 4)
    run = talk(Frugal(), features, taste(features, 1), 4)
    first, second = np.triu_indices(10, 1)
    ours = gains(run.posterior, np.arange(10), first, second)
    assert (ours > -1e-9).all()
    now = run.scores().max()
    for index in (0, 11, 30):
        a, b = int(first[index]), int(second[index])
        chance = (run.draws[:, a] > run.draws[:, b]).mean()
        after = 0.0
        for winner, share in ((a, chance), (b, 1 - chance)):
            run = talk(Frugal(), features, taste(features, 1), 4)
            run.add(a, b, winner)
            after += share * run.scores().max()
        assert abs(ours[index] - (after - now)) < 0.08


def test_sharpening_is_greatest_between_two_equal_rivals() -> None:
    draws = np.random.default_rng(0).normal(size=(4000, 4)) + np.array([5.0, 5.0, 0.0, 0.0])
    first, second = np.triu_indices(4, 1)
    worth = sharpening(draws, first, second)
    assert worth.argmax() == 0
    assert abs(worth[0] - 0.5) < 0.03
    assert abs(worth[-1]) < 1e-6


def test_the_shortlist_has_the_best_and_none_that_is_out() -> None:
    features = pool(4, 60, 8)
    run = talk(Frugal(), features, taste(features, 4), 5)
    rows = shortlist(run.posterior, run.best(), {3, 4})
    assert run.best() in rows
    assert not {3, 4} & set(rows.tolist())
    assert len(rows) == 32


def test_who_joins_has_the_most_to_add() -> None:
    draws = np.random.default_rng(0).normal(size=(2000, 4)) * np.array([0.1, 0.1, 1.0, 0.1])
    allowed = np.array([False, False, True, True])
    assert best_addition(draws, [0, 1], allowed) == 2
    assert best_addition(draws, [0, 1], np.zeros(4, dtype=bool)) is None
