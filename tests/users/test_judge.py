from __future__ import annotations

import asyncio
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from useralign import Candidate, Comparison, OptionError, Pool, Session
from useralign.errors import ModelAnswerError, ModelUnavailableError
from useralign.models import Scripted, TextRequest
from useralign.users import JudgePersona, converse
from useralign.users.base import check_user
from useralign.users.judge import comparison_prompt, judge_pair, read_verdict

FEATURES = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.5]]
TEXTS = ("a plain potato soup", "a fiery curry", "a bowl of rice", "a hot chilli stew")
LIKED = ("fiery", "hot")


def answers(request: TextRequest) -> tuple[str, str]:
    """The answers shown as A and as B."""
    parts = request.prompt.split('"""')
    return parts[5].strip(), parts[7].strip()


def honest(request: TextRequest) -> str:
    first, second = answers(request)
    grade = {text: sum(word in text for word in LIKED) * 10 - len(text) / 100 for text in TEXTS}
    return '{"better": "A"}' if grade[first] > grade[second] else '{"better": "B"}'


def ask(model: Scripted, pair: tuple[Candidate, ...], tries: int = 3) -> tuple[str, str]:
    """Return the verdicts on a pair."""
    verdicts = judge_pair("Loves heat.", "What to eat?", model, *pair, tries=tries)
    return asyncio.run(verdicts)[0]


def judged(pool: Pool, model: Scripted, seed: int = 0) -> JudgePersona:
    """Return the persona once every pair is judged."""
    everybody = sorted((*pool, *([pool.baseline] if pool.baseline else [])), key=lambda c: c.text)
    pairs = list(combinations(everybody, 2))
    return JudgePersona({(a.text, b.text): ask(model, (a, b)) for a, b in pairs}, seed=seed)


@pytest.fixture
def pool() -> Pool:
    return Pool("What to eat?", list(TEXTS), FEATURES)


def test_an_honest_judge(pool: Pool) -> None:
    model = Scripted(honest)
    user = judged(pool, model)
    assert model.calls == 12
    check_user(user, pool)
    assert converse(Session(pool), user).best.text in ("a fiery curry", "a hot chilli stew")
    assert user.prefers(pool[0], pool[1]) == 0.0
    assert user.prefers(pool[1], pool[0]) == 1.0


def test_both_orders_are_asked_at_temperature_0(pool: Pool) -> None:
    model = Scripted(honest)
    assert ask(model, (pool[0], pool[1])) == ("B", "A")
    requests = [r for r in model.requests if isinstance(r, TextRequest)]
    assert len(requests) == 2
    assert answers(requests[0]) == answers(requests[1])[::-1]
    assert {r.temperature for r in requests} == {0.0}
    assert all("Loves heat." in r.prompt and "What to eat?" in r.prompt for r in requests)


@pytest.mark.parametrize("letter", ["A", "B"])
def test_ties_are_settled_alike(letter: str, pool: Pool) -> None:
    users = [judged(pool, Scripted([f'{{"better": "{letter}"}}']), seed) for seed in range(12)]
    choices = []
    for user in users:
        assert user.prefers(pool[0], pool[1]) == 0.5
        one = user.choose(Comparison(pool[0], pool[1], 0, 0.0))
        assert user.choose(Comparison(pool[1], pool[0], 5, 0.0)) == one
        choices.append(one.index)
    assert set(choices) == {0, 1}
    check_user(users[0], pool)


def test_garbage_is_asked_again_and_then_given_up(pool: Pool) -> None:
    replies = {
        0: "I'd say the first one!",
        1: '{"better": "C"}',
        2: '```json\n{"better": "A"}\n```',
    }
    model = Scripted(lambda request: replies[request.seed or 0])
    assert ask(model, (pool[0], pool[1])) == ("A", "A")
    assert model.calls == 6
    model = Scripted(["no"])
    with pytest.raises(ModelAnswerError, match=r"scripted gave no verdict in 2 tries: .*got 'no'"):
        ask(model, (pool[0], pool[1]), tries=2)
    assert model.calls == 4


def test_a_model_that_is_away(pool: Pool) -> None:
    def away(request: TextRequest) -> str:
        raise ModelUnavailableError("no route")

    with pytest.raises(ModelUnavailableError, match="no route"):
        ask(Scripted(away), (pool[0], pool[1]))


def test_what_cannot_be_judged(pool: Pool) -> None:
    user = judged(pool, Scripted(honest))
    assert user.prefers(pool[0], Candidate(text=TEXTS[0])) == 0.5
    with pytest.raises(OptionError, match="no text for the judge"):
        user.prefers(pool[0], Candidate(image="a.png"))
    with pytest.raises(ModelUnavailableError, match="was not judged"):
        user.prefers(pool[0], Candidate(text="bread"))


@given(st.text(), st.sampled_from("AB"), st.text())
def test_a_verdict_is_found_among_words(before: str, letter: str, after: str) -> None:
    reply = before.replace("{", "") + f'{{"better": "{letter}"}}' + after
    assert read_verdict(reply) == letter


@given(st.one_of(st.text(), st.sampled_from(['{"better": "a"}', "[]", "{", '{"better": ["A"]}'])))
def test_anything_else_is_no_verdict(reply: str) -> None:
    if '"better"' not in reply or "a" in reply or "[" in reply:
        with pytest.raises(ModelAnswerError, match="expected"):
            read_verdict(reply)


@given(st.text())
def test_a_text_cannot_close_its_quotes(text: str) -> None:
    assert comparison_prompt("d", "q", text, "b").count('"""') == 8
