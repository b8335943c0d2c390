from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from useralign import Candidate, Comparison, OptionError, Pool, Session, domains, registry
from useralign.errors import AnswerError
from useralign.models import FunctionEmbedder
from useralign.users import (
    BTL,
    Consistent,
    LikenessUser,
    RankedPersona,
    User,
    converse,
    user_kind,
)
from useralign.users.base import check_user

WORDS = ("plain rice", "hot curry", "sweet cake", "cold beer")


def letters(texts: list[str]) -> list[list[float]]:
    return [[float(text.count(letter)) for letter in "abcdefghiorstuw"] for text in texts]


EMBEDDER = FunctionEmbedder(letters, "letters")


@pytest.fixture
def dishes() -> Pool:
    features = np.random.default_rng(3).normal(size=(4, 3))
    candidates = [Candidate(text=text, id=text.split()[1]) for text in WORDS]
    return Pool("What?", candidates, features, Candidate(text="bread", id="base"),
                baseline_features=[0.1, 0.2, 0.3])  # fmt: skip


def make(kind: str, pool: Pool) -> User:
    if kind == "persona":
        return RankedPersona(["beer", "curry", "base", "rice", "cake"])
    if kind == "likeness":
        return LikenessUser(pool, "someone who likes hot curry", embedder=EMBEDDER)
    return {"consistent": Consistent, "btl": BTL}[kind](pool, seed=2)


@pytest.mark.parametrize("kind", ["persona", "likeness", "consistent", "btl"])
def test_the_contract(kind: str, dishes: Pool) -> None:
    check_user(make(kind, dishes), dishes)


def test_the_check_finds_a_broken_promise(dishes: Pool) -> None:
    class Contrary(Consistent):
        def choose(self, pair: Comparison) -> Candidate:
            choice = super().choose(pair)
            return pair.second if choice is pair.first else pair.first

    class Loud(Consistent):
        def prefers(self, first: Candidate, second: Candidate) -> float:
            return 1.5 * super().prefers(first, second)

    for kind, broken in ((Contrary, "follows prefers"), (Loud, "a probability|is the rest")):
        with pytest.raises(AssertionError, match=broken):
            check_user(kind(dishes, seed=2), dishes)


def test_kinds_are_registered() -> None:
    assert {"btl", "consistent", "judge", "likeness", "persona", "recorded"} <= set(
        registry.names("users")
    )
    assert user_kind("persona") is RankedPersona
    with pytest.raises(OptionError, match=r"unknown user 'nobody'; known: "):
        user_kind("nobody")


@given(st.permutations(["a", "b", "c", "d", "base"]), st.integers(0, 50))
def test_a_ranked_persona_gets_what_stands_first(ranking: list[str], seed: int) -> None:
    pool = Pool("?", [Candidate(id=i) for i in "abcd"], np.eye(4))
    user = RankedPersona(ranking)
    best = min("abcd", key=ranking.index)
    session = converse(Session(pool, seed=seed), user)
    assert session.best.id == best
    assert pool[int(user.worth(pool).argmax())].id == best
    wins = [user.win_rate(c, Candidate(id="base")) for c in pool]
    assert sum(wins) == ranking.index("base")


def test_a_persona_of_a_domain() -> None:
    question = domains.load("food2d").questions[0]
    user = RankedPersona(question.personas[0])
    pool = question.pool()
    assert user.name == question.personas[0].name
    check_user(user, pool)
    assert RankedPersona.roster(question, 2) == [p.name for p in question.personas[:2]]
    with pytest.raises(OptionError, match="has 3 personas, not 4"):
        RankedPersona.roster(question, 4)


def test_rankings_that_are_none() -> None:
    with pytest.raises(OptionError, match="3 ids, 2 of them different"):
        RankedPersona(["a", "b", "a"])
    with pytest.raises(OptionError, match="0 ids"):
        RankedPersona([])
    with pytest.raises(AnswerError, match="ranks no candidate 'z'"):
        RankedPersona(["a"]).prefers(Candidate(id="a"), Candidate(id="z"))


def test_likeness_follows_the_words(dishes: Pool) -> None:
    user = LikenessUser(dishes, "hot curry", embedder=EMBEDDER)
    assert converse(Session(dishes), user).best.text == "hot curry"
    assert user.win_rate(dishes[1], Candidate(text="bread")) == 1.0
    assert user.prefers(dishes[0], Candidate(text="plain rice")) == 0.5
    with pytest.raises(OptionError, match="description is empty"):
        LikenessUser(dishes, " ", embedder=EMBEDDER)
    with pytest.raises(OptionError, match="has no text"):
        user.utility(Candidate(image="a.png"))


def test_linear_users_of_one_question_share_their_taste(dishes: Pool) -> None:
    question = domains.load("food2d").questions[0]
    assert Consistent.roster(question, 2) == ["consistent-1", "consistent-2"]
    pool = question.pool()
    users = [
        kind.enlist(question, pool, f"{kind.__name__.lower()}-{number}", taste=9, seed=1)
        for kind in (Consistent, BTL)
        for number in (1, 2)
    ]
    thetas = [user.theta for user in users]
    assert np.array_equal(thetas[0], thetas[2])
    assert np.array_equal(thetas[1], thetas[3])
    assert not np.array_equal(thetas[0], thetas[1])
    assert np.linalg.norm(thetas[0]) == pytest.approx(3.0)


def test_worth_of_a_user_without_utilities_is_wins(dishes: Pool) -> None:
    class Stubborn(RankedPersona):
        worth = User.worth

    worth = Stubborn(["cake", "rice", "beer", "curry"]).worth(dishes)
    assert worth.tolist() == [2.0, 0.0, 3.0, 1.0]


def test_a_user_without_roster_is_not_for_plans() -> None:
    question = domains.load("food2d").questions[0]
    kind = user_kind("recorded")
    with pytest.raises(OptionError, match="RecordedPerson cannot be used in a plan"):
        kind.roster(question, 1)
    with pytest.raises(OptionError, match="cannot be used in a plan"):
        kind.enlist(question, question.pool(), "x", taste=0, seed=0)


def test_a_judge_in_a_plan_needs_verdicts() -> None:
    question = domains.load("food64d").questions[0]
    kind = user_kind("judge")
    names = kind.roster(question, 2)
    assert names == [f"judged-{persona.name}" for persona in question.personas[:2]]
    with pytest.raises(OptionError, match="has 3 personas, not 4"):
        kind.roster(question, 4)
    with pytest.raises(OptionError, match=r"no model has judged for HeatSeekingExplorer.*judge"):
        kind.enlist(question, question.pool(), names[0], taste=0, seed=0)
