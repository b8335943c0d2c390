"""Intervals and tests: against known cases, and over people rather than judgements."""

from __future__ import annotations

import os
import subprocess
import sys
from random import Random
from typing import Any

import pytest
from scipy.stats import binomtest

from useralign.errors import InputError
from useralign.study.analysis import (
    Judgement,
    excluded,
    judgements,
    mixed_model,
    paired_tests,
    win_rates,
)


def judged(who: int, role: str, won: bool, question: str = "q", arm: str = "a") -> Judgement:
    method = "random" if role == "random" else arm
    return Judgement(f"p-{who}", "food", "alone", question, method, arm, role, won)


def row(**changes: Any) -> dict[str, Any]:
    return {
        "participant": "p-1", "domain": "food", "condition": "alone", "question": "q",
        "method": "a", "role": "later", "winner": "c3", "finished": True,
    } | changes  # fmt: skip


def test_what_counts_as_a_judgement() -> None:
    rows = [
        row(),
        row(role="random", winner="baseline"),
        row(role="comparison"),
        row(role="attention"),
        row(finished=False),
        row(participant="p-2"),
    ]
    data = judgements(rows, without={"p-2"})
    assert [(one.method, one.arm, one.won) for one in data] == [
        ("a", "a", True),
        ("random", "a", False),
    ]


def test_who_is_left_out() -> None:
    people = [
        {"participant": name, "too_fast": fast, "failed_check": failed}
        for name, fast, failed in (("p-1", True, False), ("p-2", False, True), ("p-3", 0, 0))
    ]
    assert excluded(people, ()) == set()
    assert excluded(people, ["too_fast", "failed_check"]) == {"p-1", "p-2"}
    with pytest.raises(InputError, match="there are too_fast, same_side"):
        excluded(people, ["slow"])


def test_one_person_has_no_interval() -> None:
    (rate,) = win_rates([judged(1, "later", True)])
    assert (rate.people, rate.rate, rate.low, rate.high) == (1, 100.0, None, None)


def test_an_interval_where_all_won_is_not_a_point() -> None:
    (rate,) = win_rates([judged(k, "later", True) for k in range(10)])
    assert rate.low == pytest.approx(72.2, abs=0.1)  # Wilson
    assert rate.high == pytest.approx(100.0)


def test_intervals_are_over_people() -> None:
    """Ten answers of each person that are all alike tell no more than one of each."""
    alone = [judged(k, "later", k < 24) for k in range(40)]
    copies = [judged(k, "later", k < 24, f"q{n}") for k in range(40) for n in range(10)]
    (one,), (ten,) = win_rates(alone), win_rates(copies)
    assert (one.rate, one.people, ten.judgements) == (60.0, 40, 400)
    assert (ten.low, ten.high) == (one.low, one.high)
    assert one.low == pytest.approx(45.0, abs=2.6)
    assert one.high == pytest.approx(75.0, abs=2.6)


def test_mcnemar_with_one_pair_each() -> None:
    won = [(True, False)] * 12 + [(False, True)] * 3 + [(True, True)] * 5
    data = [
        judged(k, role, value)
        for k, pair in enumerate(won)
        for role, value in zip(("later", "random"), pair, strict=True)
    ]
    (test,) = paired_tests(data)
    assert test.test == "McNemar, exact"
    assert (test.pairs, test.only_first, test.only_second) == (20, 12, 3)
    assert test.p == pytest.approx(binomtest(12, 15).pvalue)
    assert test.difference == pytest.approx(45.0)


def test_several_pairs_of_a_person_are_not_independent() -> None:
    won = [(True, False)] * 6 + [(False, True)] * 2
    data = [
        judged(k, role, value, f"q{n}")
        for k, pair in enumerate(won)
        for n in range(20)
        for role, value in zip(("later", "random"), pair, strict=True)
    ]
    (test,) = paired_tests(data)
    assert test.test == "sign-flip over people"
    assert (test.pairs, test.people) == (160, 8)
    assert test.p == pytest.approx(binomtest(6, 8).pvalue, abs=0.03)


def test_arms_that_the_same_people_met() -> None:
    data = [judged(k, "later", True, "q1", "a") for k in range(8)]
    data += [judged(k, "later", False, "q2", "b") for k in range(8)]
    (test,) = paired_tests(data)
    assert (test.first, test.second, test.difference) == ("a later", "b later", 100.0)
    assert test.p == pytest.approx(2 / 2**8)


def test_the_same_data_have_the_same_p_in_every_process() -> None:
    script = """
from random import Random
from useralign.study.analysis import Judgement, paired_tests
rng, chance = Random(1), {"a": 0.7, "b": 0.5}
print(paired_tests([
    Judgement(f"p-{k}", "food", "alone", f"q{n}", arm, arm, "later", rng.random() < chance[arm])
    for k in range(12) for arm in "ab" for n in range(5)
])[0].p)
"""
    values = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(values) == 1


def test_a_mixed_model_finds_the_better_arm() -> None:
    rng = Random(3)
    data = []
    for k in range(60):
        arm = "ab"[k % 2]
        data.append(judged(k, "later", rng.random() < (0.9 if arm == "a" else 0.5), arm=arm))
        data.append(judged(k, "random", rng.random() < 0.5, arm=arm))
    table = mixed_model(data)
    effects = {name: table.loc[name] for name in table.index}
    better = next(effect for name, effect in effects.items() if name.endswith("[T.a]"))
    same = next(effect for name, effect in effects.items() if name.endswith("[T.b]"))
    assert better["low"] > 0.5
    assert same["low"] < 0 < same["high"]
    with pytest.raises(InputError, match="won and some that were lost"):
        mixed_model([judged(1, "later", True)])
