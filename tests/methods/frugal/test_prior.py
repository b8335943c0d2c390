from __future__ import annotations

import json

import numpy as np
import pytest

from tests.methods.frugal.tastes import pool, talk
from useralign.errors import OptionError
from useralign.methods.frugal import Frugal, Prior


def test_a_prior_is_plain_data() -> None:
    prior = Prior(mean=(1.0, 0.0), factor=((1.0,), (0.5,)), popularity=(0.0, 1.0, 2.0))
    again = Prior.from_dict(json.loads(json.dumps(prior.to_dict())))
    assert again == prior
    method = Frugal(prior=prior)
    assert Frugal(**method.options()).prior == prior


def test_how_far_a_prior_is_trusted_at_first_is_part_of_it() -> None:
    popularity = tuple(float(k) for k in range(12))
    usual, sure = (
        Frugal(prior=Prior(popularity=popularity, trust=trust)).start(pool(5), 0)
        for trust in (None, ((0.0, 0.3), (1.0, 0.7)))
    )
    assert set(usual.hypotheses.trust) == {0.0, 0.5, 1.0, -1.0}
    assert set(sure.hypotheses.trust) == {0.0, 1.0}
    assert sure.posterior.mean == pytest.approx(0.7 * (np.array(popularity) - 5.5))
    assert np.ptp(sure.posterior.mean) > np.ptp(usual.posterior.mean)
    assert Frugal(**sure.method.options()).prior == sure.method.prior


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ({"mean": ["a"]}, "mean"),
        ({"mean": [float("nan")]}, "finite"),
        ({"spread": [-1.0]}, "negative"),
        ({"factor": [1.0]}, "factor"),
        ({"trust": [[0.0, 0.3], [1.0, 0.0]]}, "above 0"),
        ({"trust": [[1.0]]}, "pairs"),
        ({"trust": [[1.0, 0.1]] * 9}, "at most 8"),
        ({"trust": [1.0]}, "trust"),
        ({"median": [1.0]}, "median"),
        ([1.0], "mapping"),
    ],
)
def test_what_is_no_prior(data: dict[str, list[float]], word: str) -> None:
    with pytest.raises(OptionError, match=word):
        Prior.from_dict(data)


def test_a_prior_must_fit_the_pool() -> None:
    with pytest.raises(OptionError, match="popularity"):
        Frugal(prior=Prior(popularity=(1.0,))).start(pool(0), 0)


def right_and_wrong(steps: int, sign: float) -> float:
    """The utility reached, of at most 1, with a prior that is right or the very opposite."""
    reached = []
    for seed in range(12):
        features = pool(seed, 20, 8)
        theta = np.random.default_rng([seed, 2]).normal(size=8)
        worth = features @ theta
        prior = Prior(mean=tuple(2.0 * sign * theta), spread=(0.5,) * 8)
        best = talk(Frugal(prior=prior), features, worth, steps).best()
        reached.append((worth[best] - worth.mean()) / (worth.max() - worth.mean()))
    return float(np.mean(reached))


def test_a_right_prior_helps_at_once_and_a_wrong_one_is_outgrown() -> None:
    assert right_and_wrong(0, 1.0) > 0.95
    assert right_and_wrong(0, -1.0) < 0.0
    assert right_and_wrong(12, -1.0) > 0.8


def test_popularity_alone_names_a_first_best() -> None:
    features = pool(5)
    popularity = tuple(float(k == 7) for k in range(12))
    assert Frugal(prior={"popularity": popularity}).start(features, 0).best() == 7
