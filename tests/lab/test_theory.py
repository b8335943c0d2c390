"""The proposition and the theorems, on interactions that are short enough for a test."""

from __future__ import annotations

import numpy as np
import pytest

from useralign.geometry import beta, fit
from useralign.geometry.mle import loss
from useralign.lab import claims, figures, theory
from useralign.lab.theory import Coverage, Ending


def test_coverage_is_that_of_the_loss() -> None:
    one = theory.measure_coverage(2, runs=3, answers=12)
    assert one.excess.shape == (3, 12)
    assert (one.excess >= -1e-9).all()  # nothing in the ball has less loss than the estimate
    assert one.covered == 3
    assert one.width[4] == beta(5, 2, 3.0, 0.05)


def test_excess_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []

    def spy(rows: np.ndarray, radius: float, **options: object) -> object:
        seen.append(rows)
        return fit(rows, radius)

    monkeypatch.setattr(theory, "fit", spy)
    one = theory.measure_coverage(3, runs=1, answers=6)
    draw = np.random.default_rng([0, 3, 17])
    taste = draw.normal(size=(1, 3))[0]
    taste *= 3.0 / np.linalg.norm(taste)
    least = fit(np.ascontiguousarray(seen[-1]), 3.0).loss
    assert one.excess[0, -1] == pytest.approx(loss(seen[-1] @ taste) - least, abs=1e-9)
    assert np.linalg.norm(seen[-1], axis=1).max() <= 1.0


def test_endings() -> None:
    endings = theory.measure_endings({2.0: 3}, count=4)
    assert [e.epsilon for e in endings] == [2.0] * 3
    assert all(0.0 <= e.regret <= 2.0 and 1 <= e.answers < e.most for e in endings)


def test_the_bound_of_theorem_2() -> None:
    worth = np.array([0.0, 1.0])
    kappa = 2.0 + 2.0 * np.cosh(1.0)  # 1 / (mu (1 - mu)) at a difference of 1
    omega = 9.0 * kappa / 1.0 * (2 + np.log(20.0))
    expected = 24 * omega * 4 * np.log(8 * 3 / 2 * omega * 4)
    assert theory.latest_stop(worth, 2, 0.5) == pytest.approx(expected)


def test_a_set_that_misses_the_truth_is_noticed() -> None:
    excess = np.array([[1.0, 1.0]] * 9 + [[1.0, 60.0]])
    one = Coverage(2, excess, np.array([50.0, 55.0]))
    ends = [Ending(1.0, 1.5, 20, 10.0), Ending(1.0, 0.0, 5, 10.0)]
    found = {v.claim.rpartition("(")[2]: v for v in claims.theory_holds([one], ends)}
    assert [v.holds for v in found.values()] == [False, False, False]
    assert found["Proposition 1)"].ours == "9 of 10 runs"
    assert found["Theorem 1)"].ours == "1 of 2 runs"


def test_a_run_that_was_cut_off_did_not_stop_in_time() -> None:
    *_, verdict = claims.theory_holds([], [Ending(1.0, 0.0, theory.LIMIT, 1e9)])
    assert "Theorem 2" in verdict.claim
    assert not verdict.holds


def test_tables_and_figure() -> None:
    pytest.importorskip("matplotlib")
    one = theory.measure_coverage(2, runs=2, answers=5)
    ends = [Ending(2.0, 0.0, 4, 100.0), Ending(1.0, 0.5, 8, 100.0)]
    assert theory.coverage_table([one]).rows[0][:3] == (2, 2, 2)
    assert [row[:4] for row in theory.endings_table(ends).rows] == [(2.0, 1, 1, 1), (1.0, 1, 1, 0)]
    assert len(figures.theory_figure([one], ends).axes) == 2
