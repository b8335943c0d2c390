"""Long sessions: old answers become a normal distribution, and a step costs no more for them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.frugal.tastes import Array, pool, talk, taste
from useralign.methods.frugal import Frugal, FrugalRun, ep, method, posterior
from useralign.testing import check_method

Monkey = pytest.MonkeyPatch


def varied(run: FrugalRun) -> FrugalRun:
    """Answer in every way: screens, pairs, equal, neither."""
    run.add_all([(0, 1, 0), (0, 2, 0), (0, 3, 0)])
    run.add(4, 5, 5)
    run.equal(0, 5)
    run.dislike(7)
    run.add_all([(6, 0, 6), (0, 8, 0)])
    run.add(9, 6, 6)
    return run


def described(run: FrugalRun) -> list[Array]:
    posterior = run.posterior
    return [
        posterior.weights,
        posterior.means,
        posterior.covariances(np.arange(12)),
        posterior.deviations(),
    ]


def test_a_summary_says_what_the_answers_said(monkeypatch: Monkey) -> None:
    run = varied(Frugal(prior={"mean": [1.0, 0, 0, 0, 0, -1.0]}).start(pool(1), 0))
    monkeypatch.setattr(ep, "DAMPING", 0.0)  # the sites stay where they are
    all_sites = run.posterior.sites
    start = all_sites.precision, all_sites.shift
    run.posterior = posterior.infer(run.evidence, run.hypotheses, start)
    before = described(run)
    for count in (3, 2, 3):  # whole answers, the second summary on top of the first
        summary, start = posterior.summarise(run.posterior, count)
        run.evidence.drop(count, summary)
        run.posterior = posterior.infer(run.evidence, run.hypotheses, start)
        assert len(run.evidence.screens) == (run.evidence.dropped < 6)
        for now, was in zip(described(run), before, strict=True):
            np.testing.assert_allclose(now, was, rtol=1e-6, atol=1e-8)
    assert (run.evidence.dropped, len(run.evidence)) == (8, 1)


def test_draws_follow_a_summary(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(method, "WINDOW", 4)
    features = pool(2)
    run = talk(Frugal(), features, taste(features, 2), 10)
    assert run.evidence.dropped == 6
    posterior = run.posterior
    within = posterior.odds @ posterior.covariances(np.arange(12)).diagonal(axis1=1, axis2=2)
    spread = np.sqrt(within + posterior.odds @ (posterior.means - posterior.mean) ** 2)
    np.testing.assert_allclose(run.draws.mean(axis=0), posterior.mean, atol=0.25)
    np.testing.assert_allclose(run.draws.std(axis=0), spread, atol=0.2)


@pytest.mark.parametrize("candidates", [128, 5])
def test_little_is_lost(monkeypatch: Monkey, candidates: int) -> None:
    features = pool(3)
    worth = taste(features, 3)
    whole = talk(Frugal(), features, worth, 14, wrong=(3,))
    monkeypatch.setattr(method, "WINDOW", 6)
    monkeypatch.setattr(posterior, "SUMMARISED", candidates)
    run = talk(Frugal(), features, worth, 14, wrong=(3,))
    assert run.best() == whole.best() == worth.argmax()
    assert np.corrcoef(run.scores(), whole.scores())[0, 1] > 0.95


def test_the_work_of_a_step_stays(monkeypatch: Monkey) -> None:
    sizes = []

    def counted(gram: Array, *rest: object) -> ep.Sites:
        sizes.append(gram.shape[1])
        return ep.propagate(gram, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(posterior, "propagate", counted)
    features = pool(4)
    random = np.random.default_rng(0)
    run = Frugal().start(features, 0)
    monkeypatch.setattr(method, "WINDOW", 8)
    for _ in range(20):
        first, second = random.choice(12, 2, replace=False)
        run.add(int(first), int(second), int(random.choice([first, second])))
    run.decide()
    assert sizes == [*range(1, 8), *[8] * 13]
    assert run.evidence.weights.shape == (8, 12)
    assert run.draws.shape == (1024, 12)


def test_remarks_are_summarised_too(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(method, "WINDOW", 3)
    features = pool(5)
    run = Frugal().start(features, 0)
    wanted = features[3] / np.linalg.norm(features[3])
    for _ in range(4):
        run.lean(wanted, 1.0)
        run.add(1, 2, 1)
    assert run.evidence.dropped == 5
    assert run.best() == 3


def test_the_contract_holds_with_summaries(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(method, "WINDOW", 3)
    monkeypatch.setattr(posterior, "SUMMARISED", 4)
    check_method(Frugal())
