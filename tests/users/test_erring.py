from __future__ import annotations

import numpy as np
import pytest

from useralign import Comparison, OptionError, Pool
from useralign.users import BTL, Consistent, Erring, User
from useralign.users.base import check_user


@pytest.mark.parametrize("kind", [Consistent, BTL])
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5])
def test_contract(pool: Pool, kind: type[Consistent | BTL], rate: float) -> None:
    check_user(Erring(kind(pool), rate, seed=3), pool)


def test_the_share_of_slips(pool: Pool) -> None:
    sure, user = Consistent(pool), Erring(Consistent(pool), 0.2, seed=1)
    pair = Comparison(pool[0], pool[1], 0, 0.0)
    slips = np.mean([user.choose(pair) != sure.choose(pair) for _ in range(2000)])
    assert abs(slips - 0.2) < 0.03
    assert user.prefers(pool[0], pool[1]) in (0.2, 0.8)


def test_what_the_user_likes_is_untouched(pool: Pool) -> None:
    user: User = Erring(Consistent(pool), 0.3)
    np.testing.assert_array_equal(user.worth(pool), Consistent(pool).worth(pool))
    assert user.win_rate(pool[2], pool[3]) == Consistent(pool).win_rate(pool[2], pool[3])


def test_the_same_seed_slips_alike(pool: Pool) -> None:
    pairs = [Comparison(pool[i], pool[i + 1], i, 0.0) for i in range(11)]
    choices = [[Erring(Consistent(pool), 0.5, seed=s).choose(p) for p in pairs] for s in (4, 4)]
    assert choices[0] == choices[1]


@pytest.mark.parametrize("rate", [-0.1, 0.6, float("nan"), "some", True])
def test_rates_out_of_range(pool: Pool, rate: float) -> None:
    with pytest.raises(OptionError, match=r"rate must be a number from 0 to 0\.5"):
        Erring(Consistent(pool), rate)
