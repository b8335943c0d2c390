from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from useralign import Candidate, Comparison, OptionError, Pool, Session
from useralign.errors import ModelAnswerError, ModelUnavailableError, SessionStateError
from useralign.models import Scripted, TextRequest
from useralign.users import JudgePersona, converse
from useralign.users.base import check_user
from useralign.users.judge import comparison_prompt, read_verdict

FEATURES = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.5]]
TEXTS = ("a plain potato soup", "a fiery curry", "a bowl of rice", "a hot chilli stew")
LIKED = ("fiery", "hot")


def shown(request: TextRequest) -> tuple[str, str]:
    """The answers shown as A and as B."""
    parts = request.prompt.split('"""')
    return parts[5].strip(), parts[7].strip()


def honest(request: TextRequest) -> str:
    first, second = shown(request)
    grade = {text: sum(word in text for word in LIKED) * 10 - len(text) / 100 for text in TEXTS}
    return '{"better": "A"}' if grade[first] > grade[second] else '{"better": "B"}'


def judge(answers: Callable[[TextRequest], str] | list[str], **options: object) -> JudgePersona:
    options = {"cache": False, **options}
    return JudgePersona("Loves heat.", "What to eat?", Scripted(answers), **options)  # type: ignore[arg-type]


@pytest.fixture
def pool() -> Pool:
    return Pool("What to eat?", list(TEXTS), FEATURES, "bread")


def test_an_honest_judge(pool: Pool) -> None:
    with judge(honest) as user:
        check_user(user, Pool("What to eat?", list(TEXTS), FEATURES))
        assert converse(Session(pool), user).best.text in ("a fiery curry", "a hot chilli stew")
        assert user.bias.pairs == 6
        assert user.bias.undecided == 0
        assert user.usage.calls == 12
    user.close()


def test_both_orders_are_asked_at_temperature_0(pool: Pool) -> None:
    model = Scripted(honest)
    user = JudgePersona("Loves heat.", "What to eat?", model, cache=False)
    assert user.prefers(pool[0], pool[1]) == 0.0
    assert user.prefers(pool[1], pool[0]) == 1.0
    requests = [r for r in model.requests if isinstance(r, TextRequest)]
    assert len(requests) == 2
    assert shown(requests[0]) == shown(requests[1])[::-1]
    assert {r.temperature for r in requests} == {0.0}
    assert all("Loves heat." in r.prompt and "What to eat?" in r.prompt for r in requests)


@pytest.mark.parametrize(("letter", "lean"), [("A", 1.0), ("B", -1.0)])
def test_position_bias_is_counted_and_settled_alike(letter: str, lean: float, pool: Pool) -> None:
    users = [judge([f'{{"better": "{letter}"}}'], seed=seed) for seed in range(12)]
    chosen = []
    for user in users:
        assert user.prefers(pool[0], pool[1]) == 0.5
        one = user.choose(Comparison(pool[0], pool[1], 0, 0.0))
        assert user.choose(Comparison(pool[1], pool[0], 5, 0.0)) == one
        chosen.append(one.index)
        assert (user.bias.pairs, user.bias.rate, user.bias.lean) == (1, 1.0, lean)
    assert set(chosen) == {0, 1}
    check_user(users[0], pool)


def test_garbage_is_asked_again_and_then_given_up(pool: Pool) -> None:
    replies = {
        0: "I'd say the first one!",
        1: '{"better": "C"}',
        2: '```json\n{"better": "A"}\n```',
    }
    patient = judge(lambda request: replies[request.seed or 0])
    assert patient.prefers(pool[0], pool[1]) == 0.5
    assert patient.usage.calls == 6
    model = Scripted(["no"])
    hopeless = JudgePersona("x", "y", model, cache=False, tries=2)
    with pytest.raises(ModelAnswerError, match=r"scripted gave no verdict in 2 tries: .*got 'no'"):
        hopeless.prefers(pool[0], pool[1])
    assert model.calls == 4
    assert hopeless.bias.pairs == 0
    assert hopeless.bias.rate == hopeless.bias.lean == 0.0


def test_a_model_that_is_away(pool: Pool) -> None:
    def away(request: TextRequest) -> str:
        raise ModelUnavailableError("no route")

    with pytest.raises(ModelUnavailableError, match="no route"):
        judge(away).prefers(pool[0], pool[1])


def test_verdicts_are_kept_on_disk_by_content(tmp_path: Path, pool: Pool) -> None:
    first = JudgePersona("Loves heat.", "What to eat?", Scripted(honest), cache=tmp_path)
    expected = first.prefers(pool[0], pool[3])
    dead = Scripted(["nothing"])
    again = JudgePersona("Loves heat.", "What to eat?", dead, cache=tmp_path)
    assert again.prefers(pool[3], pool[0]) == 1.0 - expected
    assert dead.calls == 0
    with pytest.raises(ModelAnswerError):
        JudgePersona("Hates heat.", "What?", dead, cache=tmp_path).prefers(pool[0], pool[3])


def test_within_an_event_loop(pool: Pool) -> None:
    user = judge(honest)

    async def inside() -> float:
        with pytest.raises(SessionStateError, match=r"await user\.judge"):
            user.prefers(pool[0], pool[1])
        return await user.judge(pool[1], pool[0])

    assert asyncio.run(inside()) == 1.0


def test_what_cannot_be_judged(pool: Pool) -> None:
    user = judge(honest)
    assert user.prefers(pool[0], Candidate(text=TEXTS[0])) == 0.5
    with pytest.raises(OptionError, match="no text for the judge"):
        user.prefers(pool[0], Candidate(image="a.png"))
    with pytest.raises(OptionError, match="description is empty"):
        JudgePersona(" ", "q", Scripted())


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
