"""What is learnt from people is what is true of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.memory.people import Crowd, cosine
from tests.users.population import population
from useralign.memory import Memory, PastSession, Population, fit, past_sessions
from useralign.memory.belief import condensed
from useralign.memory.learning import FEW, STRANGE
from useralign.memory.past import clear_pairs, standardised
from useralign.methods.frugal.posterior import TRUSTS
from useralign.users import People


def learnt(pasts: list[PastSession]) -> Population:
    (population,) = fit(pasts).populations
    return population


def test_the_mean_is_recovered() -> None:
    crowd = Crowd.draw(width=0.5)
    population = learnt(crowd.pasts(40, 10))
    assert cosine(population.belief.mean, crowd.mean) > 0.9
    assert (population.people, population.sessions, population.answers) == (40, 40, 400)
    assert population.gain is not None
    assert population.gain > 0.1


def test_the_directions_in_which_people_differ_are_recovered() -> None:
    crowd = Crowd.draw(count=60, mean=0.3, rank=1, width=1.5)
    population = learnt(crowd.pasts(40, 15))
    widest = np.linalg.svd(population.belief.factor)[0][:, 0]
    assert abs(cosine(widest, crowd.directions[:, 0])) > 0.9


def test_popularity_is_recovered_and_shrinks_with_the_count() -> None:
    crowd = Crowd.draw(count=12, mean=0.2, width=0.2, popular=2.0)
    many, few = learnt(crowd.pasts(40, 10)), learnt(crowd.pasts(3, 2))
    keys = [f"dish {k}" for k in range(12)]
    # what candidates are worth to everybody, whether by features or not
    worth = many.popularity(keys) + standardised(crowd.pool) @ many.belief.mean
    truth = crowd.popularity + crowd.pool.raw_features @ crowd.mean
    assert cosine(worth - worth.mean(), truth - truth.mean()) > 0.8
    assert np.ptp(many.popularity(keys)) > 2 * np.ptp(few.popularity(keys))
    assert many.popularity(["never seen"]) == [0.0]


def test_a_candidate_that_one_person_met_is_not_popular() -> None:
    crowd = Crowd.draw()
    alone = learnt([crowd.past(1, 5)])
    assert alone.keys == ()


def test_people_with_nothing_in_common_are_no_help() -> None:
    crowd = Crowd.draw(count=200, dimension=20, mean=0.0, rank=1, width=0.0)
    memory = fit([crowd.past(n, 6) for n in range(12)])
    (population,) = memory.populations
    assert population.gain is not None
    if population.gain <= 0:
        assert not population.belief.mean.any()
        assert population.belief.popularity.std() < 0.2 * np.sqrt(population.belief.own)
    assert population.gain < 0.02


def test_people_who_agree_are_trusted_and_contrary_ones_expected() -> None:
    crowd = Crowd.draw(width=0.2)
    agreeing = crowd.pasts(20, 12)
    contrary = [
        replace(past, wins=tuple((b, a) for a, b in past.wins)) if n % 4 == 3 else past
        for n, past in enumerate(agreeing)
    ]
    weights = [dict(learnt(pasts).trust or ()) for pasts in (agreeing, contrary)]
    usual = dict(TRUSTS)
    assert weights[0].keys() == usual.keys()
    assert weights[0][1.0] > 0.6
    assert weights[0][0.0] < 0.5 * usual[0.0]
    assert weights[1][1.0] < weights[0][1.0]
    assert weights[1][-1.0] > 2 * weights[0][-1.0]
    assert all(weight >= STRANGE * usual[k] for each in weights for k, weight in each.items())


def test_how_far_people_can_be_trusted_is_for_somebody_new_alone() -> None:
    crowd = Crowd.draw()
    others = fit(crowd.pasts(10, 8))
    alone, returning = (
        Memory(own, others.populations).prior_for(crowd.pool) for own in ((), (crowd.past(50, 5),))
    )
    assert alone is not None
    assert alone.trust == others.populations[0].trust
    assert returning is not None
    assert returning.trust is None


def test_too_few_people_to_leave_one_out() -> None:
    population = learnt(Crowd.draw().pasts(FEW - 1, 8))
    assert population.gain is None
    assert population.trust is None
    assert population.informative


def test_nobody() -> None:
    memory = fit([])
    assert not memory
    assert memory.prior_for(Crowd.draw().pool) is None
    said_nothing = PastSession.from_answers(Crowd.draw().pool, [])
    assert not fit([said_nothing])


def test_kinds_of_features_are_learnt_apart() -> None:
    one, other = Crowd.draw(), Crowd.draw(embedder="other", seed=1)
    memory = fit([*one.pasts(8, 8), *other.pasts(8, 8)])
    assert [known.space for known in memory.populations] == [("test", 8), ("other", 8)]
    alone = learnt(one.pasts(8, 8))
    assert memory.populations[0].belief.mean == pytest.approx(alone.belief.mean)


def test_a_person_with_two_sessions_is_one_person() -> None:
    crowd = Crowd.draw()
    pasts = crowd.pasts(6, 6)
    twice = learnt([*pasts, replace(crowd.past(30, 6), person="p0")])
    assert (twice.people, twice.sessions) == (6, 7)


def test_how_much_carries_over_is_estimated() -> None:
    carried = {}
    for faithful in (True, False):
        crowd = Crowd.draw(count=60, dimension=4, mean=0.0, width=0.0)
        crowd = replace(crowd, noise=1.0)
        pasts = []
        for n in range(15):
            taste = crowd.taste(np.random.default_rng([n, 9]))
            for question in range(2):
                past = crowd.past(100 * question + n, 12, taste if faithful else None)
                pasts.append(replace(past, person=f"p{n}", question=f"question {question}"))
        carried[faithful] = learnt(pasts).belief.carry
    assert carried[True] >= 0.85
    assert carried[False] <= 0.5


def test_recorded_people(tmp_path_factory: pytest.TempPathFactory) -> None:
    crowd = population(people=20, items=16, dimension=4, rank=1, pairs=12)
    folder = crowd.write(tmp_path_factory.mktemp("people"))
    people = People.read(folder)
    pasts = past_sessions(people)
    assert [past.person for past in pasts] == people.names
    assert all(past.ties for past in pasts)
    memory = fit(past_sessions(people.without("p0")))
    prior = memory.prior_for(people.pool())
    assert prior is not None
    assert prior.mean is not None
    features = crowd.features - crowd.features.mean(axis=0)
    expected = features @ np.array(prior.mean)
    common = crowd.utilities[1:].mean(axis=0)
    assert cosine(expected, common - common.mean()) > 0.7


def test_ratings_become_clear_pairs() -> None:
    pairs = clear_pairs({0: 1.0, 1: 2.0, 2: 3.0, 3: 4.0, 4: 4.0})
    assert (4, 1) in pairs
    assert all(a > b for a, b in pairs)
    assert clear_pairs({0: 3.0, 1: 3.0}) == []
    assert clear_pairs({0: 3.0}) == []


def test_condensing_keeps_what_it_can() -> None:
    draw = np.random.default_rng(1)
    factor = draw.normal(size=(10, 3))
    covariance = 0.5 * np.eye(10) + factor @ factor.T
    floor, factor = condensed(covariance, rank=4)
    assert floor * np.eye(10) + factor @ factor.T == pytest.approx(covariance)
    floor, factor = condensed(covariance, rank=1)
    assert factor.shape == (10, 1)
    assert 10 * floor + (factor**2).sum() == pytest.approx(np.trace(covariance))


def test_condensing_makes_up_no_directions() -> None:
    """Which of several equally wide directions come out would be up to the processor."""
    narrow = np.linalg.qr(np.random.default_rng(2).normal(size=(10, 3)))[0]
    floor, factor = condensed(2.0 * np.eye(10) - narrow @ narrow.T, rank=4)
    assert floor == pytest.approx(17 / 10)
    assert factor.shape == (10, 0)
    _, factor = condensed(np.diag([1.0, 1.0, 1.0, 3.0, 5.0]), rank=3)
    assert np.abs(factor).argmax(axis=0).tolist() == [3, 4]
    assert (factor.sum(axis=0) > 0).all()


@pytest.mark.parametrize("rank", [0, 3])
def test_condensing_what_is_equally_wide_everywhere_but_for_rounding(rank: int) -> None:
    """LAPACK's search for some of the eigenvalues may end with none of these."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        noise = rng.normal(size=(64, 8))
        covariance = 0.7 * np.eye(64) + 10.0 ** rng.uniform(-18, -14) * (noise @ noise.T)
        floor, factor = condensed(covariance, rank)
        assert floor == pytest.approx(0.7)
        assert factor.shape == (64, 0)
