"""Confidence sets in the plane."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from useralign.domains import synthetic
from useralign.geometry.mle import softplus
from useralign.lab import versionspace
from useralign.lab.versionspace import Region, trace
from useralign.users import Consistent


def rows(*angles: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.array([[math.cos(a), math.sin(a)] for a in angles])


def test_nothing_answered_is_the_whole_disc() -> None:
    region = Region.after(np.zeros((0, 2)), cone=True)
    assert region.area() == pytest.approx(9 * math.pi, rel=1e-12)
    assert np.linalg.norm(region.outline(), axis=1) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("angles", "width"),
    [
        ([0.3], math.pi),
        ([0.0, 1.0], math.pi - 1.0),
        ([3.0, -3.0], 6.0 - math.pi),  # across the cut of the angle
        ([0.0, 2.0, -2.0], 0.0),
    ],
)
def test_sectors(angles: list[float], width: float) -> None:
    low, high = Region.after(rows(*angles), cone=True).sector()
    assert high - low == pytest.approx(width, abs=1e-12)


def test_area_of_a_sector_is_exact() -> None:
    region = Region.after(rows(0.0, 1.0), cone=True)
    assert region.area() == pytest.approx(9 / 2 * (math.pi - 1.0), rel=1e-12)


@pytest.mark.parametrize("cone", [False, True])
@pytest.mark.parametrize("level", [5.0, 9.0, 20.0])
def test_area_agrees_with_counting_points(cone: bool, level: float) -> None:
    answers = np.random.default_rng(3).normal(size=(12, 2)) * 0.4 + [0.4, 0.1]
    region = Region(answers, cone, 3.0, level)
    axis = (np.arange(700) + 0.5) / 350 * 3.0 - 3.0
    x, y = np.meshgrid(axis, axis)
    points = np.column_stack([x.ravel(), y.ravel()])
    margins = points @ answers.T
    inside = (softplus(-margins).sum(axis=1) <= level) & (np.linalg.norm(points, axis=1) <= 3.0)
    if cone:
        inside &= (margins >= 0).all(axis=1)
    counted = inside.sum() * (6.0 / 700) ** 2
    assert region.area() == pytest.approx(counted, rel=0.01, abs=0.01)


def test_outline_lies_on_the_border() -> None:
    answers = np.random.default_rng(3).normal(size=(12, 2)) * 0.4 + [0.4, 0.1]
    region = Region(answers, False, 3.0, 6.0)
    points = region.outline()
    values = softplus(-points @ answers.T).sum(axis=1)
    on_level = np.isclose(values, 6.0, atol=1e-6)
    on_circle = np.isclose(np.linalg.norm(points, axis=1), 3.0)
    assert (on_level | on_circle).all()


def test_synthetic_pools_lie_in_the_ball_and_repeat() -> None:
    pool = synthetic.pool(7)
    assert len(pool) == 20
    assert np.linalg.norm(pool.features, axis=1).max() <= 0.5
    assert np.array_equal(pool.features, synthetic.pool(7).features)
    assert np.linalg.norm(Consistent(pool, seed=7).theta) == pytest.approx(3.0)


@pytest.mark.parametrize("method", ["useralign", "useralign_loss"])
def test_trace_keeps_the_truth_and_shrinks(method: str) -> None:
    pool = synthetic.pool(1)
    user = Consistent(pool, seed=1)
    steps = trace(pool, user, method, budget=12)
    assert [step.t for step in steps] == list(range(13))
    areas = [step.region.area() for step in steps]
    assert all(after <= before + 1e-9 for before, after in itertools.pairwise(areas))
    if method == "useralign":
        assert (steps[-1].region.rows @ user.theta >= 0).all()
        best = int(user.utilities.argmax())
        assert all(best in step.viable for step in steps)


def test_trace_to_epsilon_ends_with_the_best() -> None:
    pool = synthetic.pool(2)
    user = Consistent(pool, seed=2)
    last = trace(pool, user)[-1]
    assert last.challenger is None
    assert last.bound == 0.0
    assert last.incumbent == int(user.utilities.argmax())


def test_curves() -> None:
    curves = versionspace.measure_curves(runs=3, steps=(0, 1, 5, 10))
    assert curves.at("useralign", "area", 0).mean == pytest.approx(1.0)
    assert curves.at("useralign", "area", 1).mean == pytest.approx(0.5)
    assert curves.at("useralign", "bound", 0).mean == 3.0
    assert curves.at("useralign", "area", 10).mean < curves.at("useralign_loss", "area", 10).mean
    assert len(curves.table().rows) == 4
