"""The exact engine against the paper's solver, step by step over whole interactions.

204 interactions: consistent and noisy users, both confidence sets, 2 to 512 dimensions, with
duplicated and collinear candidates. At every step the bound must agree within 1e-6 and the pair
up to ties. A usual run plays some of them, `make soak` all the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import gaussian_features
from useralign.geometry import Exact, Reference, loss

TOLERANCE = 1e-6
S = 3.0
ESTIMATE = 1e-3  # what the conic solver resolves of the flat log-loss; ours is the lower loss


@pytest.fixture(autouse=True, scope="module")
def solver() -> None:
    pytest.importorskip("cvxpy")


def seeds(count: int, *usual: int) -> list[Any]:
    """Return the seeds of a usual run, and all others for the soak."""
    soak = pytest.mark.soak
    return [k if k in usual else pytest.param(k, marks=soak) for k in range(count)]


def with_twins(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Duplicate a candidate, and put two others on a line with it."""
    features = features.copy()
    features[1] = features[0]
    features[2] = 0.5 * features[0]
    features[3] = 0.5 * (features[0] + features[4])
    return features


class Interaction:
    """One user, two engines that see the same answers."""

    def __init__(
        self,
        dimension: int,
        count: int,
        seed: int,
        *,
        cone: bool = True,
        noisy: bool = False,
        twins: bool = False,
    ) -> None:
        self.rng = np.random.default_rng([seed, dimension, count])
        features = gaussian_features(count, dimension, seed)
        self.features = with_twins(features) if twins else features
        theta = self.rng.normal(size=dimension)
        self.utilities = self.features @ (theta * (3.0 / np.linalg.norm(theta)))
        self.noisy = noisy
        self.ours = Exact(self.features, S, 0.05, cone)
        self.theirs = Reference(self.features, S, 0.05, cone)

    def play(self, steps: int) -> None:
        incumbent = int(self.rng.integers(len(self.features)))
        for _ in range(steps):
            challenger = self.compare(incumbent)
            if challenger is None:
                challenger = (incumbent + 1 + int(self.rng.integers(len(self.features) - 1))) % len(
                    self.features
                )
            self.answer(incumbent, challenger)
            scores = self.ours.scores()
            incumbent = int((scores >= scores.max() - 1e-9).argmax())

    def compare(self, incumbent: int) -> int | None:
        """Assert that both engines see the same estimate, bound and challenger."""
        scores = self.theirs.scores()
        if self.ours.count:
            rows = self.ours.evidence.rows
            assert loss(rows @ self.ours.estimate()) <= loss(rows @ self.theirs.estimate()) + 1e-6
            np.testing.assert_allclose(self.ours.scores(), scores, atol=ESTIMATE)
            assert scores[incumbent] >= scores.max() - ESTIMATE
        values = self.theirs.values(incumbent)
        challenger, bound = self.ours.challenge(incumbent)
        assert bound == pytest.approx(max(values.max(), 0.0), abs=TOLERANCE)
        if challenger is not None:
            assert values[challenger] >= values.max() - TOLERANCE
        return challenger

    def answer(self, first: int, second: int) -> None:
        gain = self.utilities[first] - self.utilities[second]
        first_wins = gain >= 0
        if self.noisy:
            first_wins = self.rng.random() < 1.0 / (1.0 + np.exp(-gain))
        for engine in (self.ours, self.theirs):
            engine.add(*((first, second) if first_wins else (second, first)))


@pytest.mark.parametrize("seed", seeds(52, 0, 1, 2))
@pytest.mark.parametrize("noisy", [False, True])
def test_plane(seed: int, noisy: bool) -> None:
    Interaction(2, 6, seed, noisy=noisy, twins=seed % 5 == 0).play(12)


@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("noisy", [False, True])
def test_plane_for_sixty_steps(seed: int, noisy: bool) -> None:
    Interaction(2, 6, 100 + seed, noisy=noisy, twins=seed == 0).play(60)


@pytest.mark.parametrize("seed", seeds(8, 0))
def test_plane_loss_set_for_sixty_steps(seed: int) -> None:
    """The loss constraint binds here: in the plane its set does shrink within sixty answers."""
    interaction = Interaction(2, 5, 200 + seed, cone=False, noisy=seed % 2 == 0)
    interaction.play(60)
    assert interaction.ours._loss_limit() is not None


@pytest.mark.parametrize("seed", seeds(30, 0))
@pytest.mark.parametrize("noisy", [False, True])
def test_eight_dimensions(seed: int, noisy: bool) -> None:
    Interaction(8, 7, 400 + seed, noisy=noisy, twins=seed % 3 == 0).play(14)


@pytest.mark.parametrize("seed", seeds(6))
def test_sixteen_dimensions_for_forty_steps(seed: int) -> None:
    Interaction(16, 8, 500 + seed, noisy=seed % 2 == 0, twins=seed % 3 == 0).play(40)


@pytest.mark.parametrize("seed", seeds(8, 3))
def test_sixty_four_dimensions(seed: int) -> None:
    Interaction(64, 12, 600 + seed, noisy=seed % 2 == 0, twins=seed == 3).play(16)


@pytest.mark.parametrize("seed", seeds(2))
def test_paper_size_for_forty_steps(seed: int) -> None:
    Interaction(64, 20, 650 + seed, noisy=seed == 1).play(40)


@pytest.mark.parametrize("seed", seeds(4, 0))
def test_five_hundred_dimensions(seed: int) -> None:
    Interaction(512, 6, 700 + seed, noisy=seed % 2 == 0).play(10)
