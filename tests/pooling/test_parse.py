from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from useralign.errors import ModelAnswerError
from useralign.pooling.imports import list_items
from useralign.pooling.parse import (
    LONGEST,
    clean_answer,
    content_words,
    parse_answer,
    parse_interests,
    parse_lines,
    sentences,
    shingles,
    tidy,
    words,
)
from useralign.wishes.words import tokens as vocabulary

from .conftest import QUESTION

ANYTHING = st.text(alphabet=st.characters(), max_size=400) | st.text(
    alphabet='[]{}",:\\\n*-1.`ab ?!', max_size=400
)
THREE = ["jazz music", "chess", "long walks"]


@pytest.mark.parametrize(
    "reply",
    [
        '["jazz music", "chess", "long walks"]',
        '{"interests": ["jazz music", "chess", "long walks"]}',
        '```json\n["jazz music", "chess", "long walks"]\n```',
        'Sure! Here they are:\n["jazz music", "chess", "long walks"]\nHope this helps [smile].',
        '["jazz music", "Chess", "chess", "long walks", "Jazz music."]'.replace("Chess", "chess"),
        '["jazz music", "chess", "long walks", "cut in the mid',
        '{"interests": ["jazz music", "chess", "long walks"',
        "1. jazz music\n2) **chess**\n3. long walks\n\nLet me know if you need more!",
        "- jazz music\n* chess\n• long walks",
        '[{"name": "jazz music", "why": "x"}, {"name": "chess"}, {"name": "long walks"}]',
        '["1. jazz music", "2. chess", "3. long walks", 4, null, "", "' + "x" * 200 + '"]',
        '[1, 2] no, rather ["jazz music", "chess", "long walks"]',
    ],
)
def test_interests_in_all_forms(reply: str) -> None:
    assert parse_interests(reply) == THREE


@pytest.mark.parametrize(
    "reply",
    ["", "I'm sorry, I cannot help with that.", "<html></html>", "[]", "[[[[", "[" * 50_000, "{}"],
)
def test_no_interests(reply: str) -> None:
    with pytest.raises(ModelAnswerError, match="JSON array of interests"):
        parse_interests(reply)


@given(ANYTHING)
def test_interests_never_raise_anything_else(reply: str) -> None:
    try:
        interests = parse_interests(reply)
    except ModelAnswerError:
        return
    assert interests
    assert all(item == item.strip() and words(item) for item in interests)
    json.dumps(interests).encode()
    "".join(interests).encode()


@given(st.lists(st.from_regex(r"[a-z]{3,8} [a-z]{3,8}", fullmatch=True), min_size=1, unique=True))
def test_interests_survive_the_form_asked_for(items: list[str]) -> None:
    assert parse_interests(json.dumps({"interests": items})) == items


@pytest.mark.parametrize(
    "reply",
    [
        "Cook ramen, it is warm.",
        '"Cook ramen, it is warm."',
        "“Cook ramen, it is warm.”",
        "Sure, here is a suggestion: Cook ramen, it is warm.",
        "Sure! Cook ramen, it is warm.",
        "Here's my idea:\n\n**Cook ramen**, it is warm.",
        "Answer: Cook ramen, it is warm.",
        "```\nCook ramen, it is warm.\n```",
        '{"answer": "Cook ramen, it is warm."}',
        "1. Cook ramen, it is warm.",
        "# Cook ramen, it is warm.",
        "<think>Hm. What?</think>\nCook ramen, it is warm.",
        "Cook [ramen](https://example.org), it is warm.",
        f"{QUESTION} Cook ramen, it is warm.",
        f"Question: {QUESTION}\nAnswer: Cook ramen, it is warm.",
        "Cook ramen, it is warm. It also has the",
        "Cook ramen,\r\n  it is   warm.\x00\u200b",
    ],
)
def test_answers_are_cleaned(reply: str) -> None:
    assert parse_answer(reply, question=QUESTION) == ("Cook ramen, it is warm.", None)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("...", "empty"),
        (QUESTION, "empty"),
        ("<think>I am still thinking", "empty"),
        ("I'm sorry, but I can't assist with that request.", "refusal"),
        ("I’m sorry, I can’t help.", "refusal"),  # noqa: RUF001
        ("As an AI language model, I do not eat.", "refusal"),
        ("Unfortunately, I cannot provide recipes.", "refusal"),
        ("I am unable to recommend anything.", "refusal"),
        ("Sorry, no.", "refusal"),
        ("You could cook the", "truncated"),
        ("Here are three ideas,", "truncated"),
        ("The person should cook dinner tonight what should I cook for dinner tonight?", "echo"),
        ("Write two or three plain sentences.", "echo"),
    ],
)
def test_unusable_answers(reply: str, problem: str) -> None:
    prompt = f"Write two or three plain sentences. The person should cook dinner.\n{QUESTION}"
    assert parse_answer(reply, question=QUESTION, prompt=prompt).problem == problem


@pytest.mark.parametrize(
    "reply",
    [
        "I can't resist a bowl of ramen on a cold night.",
        "Cook dinner with what you have, such as pasta.",
        "Say sorry to your diet and bake a cake.",
        "Try Dr. Wong's noodles, e.g. with egg.",
        "Spicy miso ramen",
        "作るならラーメン。",
    ],
)
def test_usable_answers_stay_as_they_are(reply: str) -> None:
    assert parse_answer(reply, question=QUESTION) == (reply, None)


def test_no_sentence_end_is_cut_off_only_if_the_model_was() -> None:
    assert parse_answer("Spicy miso ramen", finish="length").problem == "truncated"
    assert parse_answer("Spicy miso ramen", finish="stop").problem is None


def test_sentences_are_limited_but_not_to_a_mere_name() -> None:
    text = "Cook a bowl of ramen. It is warm. It is quick."
    assert parse_answer(text, limit=1).text == "Cook a bowl of ramen."
    assert parse_answer("Ramen! It is warm. It is quick.", limit=1).text == "Ramen! It is warm."
    assert parse_answer(text).text == text


def test_a_mere_name_may_be_too_short() -> None:
    assert parse_answer("Go hiking.", least=3).problem == "too short"
    assert parse_answer("Go hiking.", least=2).problem is None


def test_a_megabyte_is_looked_at_in_part() -> None:
    assert len(parse_answer("Cook ramen. " * 100_000).text) <= LONGEST
    assert parse_answer("x" * 10**6, finish="length").problem == "truncated"


@given(ANYTHING, ANYTHING, st.sampled_from(["stop", "length", ""]), st.none() | st.integers(1, 3))
def test_answers_never_raise(reply: str, question: str, finish: str, limit: int | None) -> None:
    verdict = parse_answer(reply, question=question, prompt=question, finish=finish, limit=limit)
    verdict.text.encode()
    if verdict.problem is None:
        assert words(verdict.text)
        assert "\n" not in verdict.text


@given(ANYTHING)
def test_cleaning_and_splitting_lose_no_words_order(reply: str) -> None:
    complete, rest = sentences(clean_answer(reply))
    joined = " ".join([*complete, rest])
    assert words(joined) == words(clean_answer(reply))
    tidy(reply).encode()


def test_a_first_line_that_names_the_choice_is_a_sentence_of_its_own() -> None:
    verdict = parse_answer("Vegetable ramen\nIt is warm and quick to make.", limit=1)
    assert verdict.text == "Vegetable ramen. It is warm and quick to make."
    assert parse_answer("Cook a warm\nramen tonight.").text == "Cook a warm ramen tonight."


HOSTILE = ["[", "[](", '\\"', ".", "\n"]
"""Each met a pattern that took time in the square of the length."""
OTHERS = ["[a](", '{"', "?!", ".)", " ", " \n", "```\n", "`", "<think>", "*", "_a", "1. ", "- "]
OTHERS += ["I am sorry, ", "Sure, here is ", "\u0301"]


@pytest.mark.parametrize(
    "piece", [*HOSTILE, *(pytest.param(piece, marks=pytest.mark.soak) for piece in OTHERS)]
)
def test_time_grows_with_the_length_and_not_with_its_square(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a pattern of the other kind this would not end: so much more is read than usual."""
    length = 15 * LONGEST
    monkeypatch.setattr("useralign.pooling.parse.LONGEST", length)
    text = f'["a {(piece * length)[: length - 8]}b'
    assert clean_answer(text) or piece == "<think>"
    assert sum(map(len, sentences(text)[0])) <= length
    with contextlib.suppress(ModelAnswerError):
        assert parse_interests(text)


# What a hostile or broken model may repeat without end, and what patterns may trip over.
UNITS = [
    "[", "](", "![", "[a](", "(", "{", '{"', '"', "\\", '"a\\', "<think>", "</think>", "```", "`",
    "*", "_", "# ", "> ", "- ", "1. ", " ", "\n", "\t", "a ", "a", ". ", "...", "!?", "。",
    "e.g. ", "sure, ", "here is ", "sorry ", "\u0301", "\u0301\u0316", "\u0f73", "A. ", "(1) ",
    "'", '"""', "«", ",", '["a",', '{"a":[', "\u200b", "\ud800", "ﬃ", "a\n\n", "**a** ",
    "|a|\n|-|\n",
]  # fmt: skip
READERS: dict[str, Callable[[str], object]] = {
    "answer": lambda text: parse_answer(text, question="What?", prompt="Answer."),
    "lines": parse_lines,
    "sentences": sentences,
    "shingles": shingles,
    "content": content_words,
    "items": list_items,
    "wishes": vocabulary.__wrapped__,
}


def least_work(read: Callable[[str], object], text: str) -> float:
    """Return the least processor time of three tries: what others do on the machine adds none."""
    tries = []
    for _ in range(3):
        start = time.process_time()
        read(text)
        tries.append(time.process_time() - start)
    return min(tries)


@pytest.mark.parametrize("reader", READERS)
def test_work_grows_with_the_length_and_not_with_its_square(reader: str) -> None:
    read = READERS[reader]
    for unit in UNITS:
        short, long = ((unit * LONGEST)[: LONGEST // part] for part in (8, 1))
        # Eight times the text: eight times the work, or sixty-four times if it is quadratic. The
        # fraction of a millisecond stands for what does not depend on the text.
        ratio = least_work(read, long) / (least_work(read, short) + 5e-4)
        assert ratio < 32, f"{reader} of {unit!r} repeated: {ratio:.0f} times the work"


def test_marks_that_are_piled_up_are_cut() -> None:
    assert tidy("e" + "\u0301\u0316" * 5000).startswith("é")
    for pile in ("\u0301\u0316", "\u0f73", "\u0f75\u0f81", "\uff9e\u0316"):
        assert len(tidy("e" + pile * 5000)) <= 61
    assert tidy("Café au lait") == tidy("Cafe\u0301 au lait") == "Café au lait"
