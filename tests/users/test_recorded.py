from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from useralign import Candidate, Comparison, FileFormatError, OptionError, Pool, Session
from useralign.errors import AnswerError
from useralign.models import FunctionEmbedder
from useralign.users import People, RecordedPerson, converse
from useralign.users.base import check_user

ITEMS = [{"id": i, "text": f"dish {i}", "features": f} for i, f in
         zip("abcd", ([1, 0], [0, 1], [-1, 0], [0.5, 0.5]), strict=True)]  # fmt: skip
ANSWERS: list[dict[str, object]] = [
    {"person": "ann", "first": "a", "second": "b", "winner": "a"},
    {"person": "ann", "first": "b", "second": "a", "winner": "b"},
    {"person": "ann", "first": "c", "second": "a", "winner": None},
    {"person": "bob", "first": "a", "second": "c", "winner": "c"},
]
RATINGS: list[dict[str, object]] = [
    {"person": "bob", "item": "a", "rating": 3},
    {"person": "bob", "item": "b", "rating": 4.5},
    {"person": "bob", "item": "d", "rating": 3},
    {"person": "cid", "item": "a", "rating": 1},
    {"person": "cid", "item": "b", "rating": 2},
    {"person": "cid", "item": "c", "rating": 3},
    {"person": "cid", "item": "d", "rating": 4},
]


def write(folder: Path, **files: list[dict[str, object]]) -> Path:
    for stem, records in files.items():
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{stem}.jsonl").write_text(lines)
    return folder


@pytest.fixture
def people(tmp_path: Path) -> People:
    return People.read(write(tmp_path, items=ITEMS, answers=ANSWERS, ratings=RATINGS))


def named(*idents: str) -> list[Candidate]:
    return [Candidate(id=ident) for ident in idents]


def test_answers_ties_ratings_and_gaps(people: People) -> None:
    a, b, c, d = named("a", "b", "c", "d")
    ann, bob = people.person("ann"), people.person("bob")
    assert ann.prefers(a, b) == 0.5  # once each way
    assert ann.prefers(a, c) == 0.5  # a tie
    assert bob.prefers(c, a) == 1.0
    assert bob.prefers(a, c) == 0.0
    assert bob.prefers(b, d) == 1.0  # by the ratings
    assert bob.prefers(a, d) == 0.5  # rated alike
    assert not ann.knows(a, d)
    assert not bob.knows(b, c)
    with pytest.raises(AnswerError, match=r"bob never compared 'b' with 'c' and did not rate both"):
        bob.prefers(b, c)


def answerable(person: RecordedPerson, pool: Pool) -> list[tuple[int, int]]:
    """Return the pairs of indices in a pool that the person can be asked about."""
    return [(a.index, b.index) for a, b in combinations(pool, 2) if person.knows(a, b)]


def test_what_can_be_asked(people: People) -> None:
    pool = people.pool()
    assert answerable(people.person("ann"), pool) == [(0, 1), (0, 2)]
    assert answerable(people.person("bob"), pool) == [(0, 1), (0, 2), (0, 3), (1, 3)]
    assert people.person("ann").pairs == [("a", "b"), ("a", "c")]


@pytest.mark.parametrize("name", ["ann", "bob", "cid"])
def test_nobody_is_asked_what_they_did_not_say(people: People, name: str) -> None:
    pool, person = people.pool(), people.person(name)
    check_user(person, pool)
    session = converse(Session(pool, seed=1), person)
    assert session.finished
    choices = [a for a in session.answers if a.winner is not None]
    assert {(min(a.first, a.second), max(a.first, a.second)) for a in choices} <= set(
        answerable(person, pool)
    )


def test_ties_are_drawn_by_the_seed(people: People) -> None:
    pool = people.pool()
    pair = Comparison(pool[0], pool[2], 0, 0.0)
    choices = [people.person("ann", seed=seed).choose(pair).index for seed in range(20)]
    assert set(choices) == {0, 2}
    assert choices == [people.person("ann", seed=seed).choose(pair).index for seed in range(20)]


def test_leave_one_person_out(people: People) -> None:
    assert people.names == ["ann", "bob", "cid"]
    for name in people.names:
        others = people.without(name)
        assert name not in others.names
        assert len(others.names) == 2
    with pytest.raises(OptionError, match="nobody called 'zoe'"):
        people.without("zoe")


def test_pools_of_people(people: People, tmp_path: Path) -> None:
    assert people.pool().features.shape == (4, 2)
    assert [c.id for c in people.pool(person="ann")] == ["a", "b", "c"]
    bare = [{"id": item["id"], "text": item["text"]} for item in ITEMS]
    folder = tmp_path / "texts"
    folder.mkdir()
    texts = People.read(write(folder, items=bare, ratings=RATINGS))
    embedder = FunctionEmbedder(lambda texts: np.eye(5)[: len(texts)], "eye")
    assert texts.pool(embedder=embedder).features.shape == (4, 5)


def test_csv_says_the_same(people: People, tmp_path: Path) -> None:
    folder = tmp_path / "csv"
    folder.mkdir()
    (folder / "items.csv").write_text(
        'id,text,x,y\na,dish a,1,0\nb,dish b,0,1\nc,"dish c",-1,0\nd,dish d,0.5,0.5\n'
    )
    rows = "".join(
        f"{a['person']},{a['first']},{a['second']},{a['winner'] or ''}\n" for a in ANSWERS
    )
    (folder / "answers.csv").write_text(f"person,first,second,winner\n{rows}")
    rows = "".join(f"{r['person']},{r['item']},{r['rating']}\n" for r in RATINGS)
    (folder / "ratings.csv").write_text(f"person,item,rating\n{rows}")
    assert People.read(folder) == people


@given(st.lists(st.sampled_from(["a", "b", None]), min_size=1, max_size=9))
def test_the_share_is_that_of_the_records(winners: list[str | None]) -> None:
    person = RecordedPerson("p", [("a", "b", winner) for winner in winners])
    a, b = named("a", "b")
    expected = (winners.count("a") + winners.count(None) / 2) / len(winners)
    assert person.prefers(a, b) == pytest.approx(expected)
    assert person.prefers(a, b) + person.prefers(b, a) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("stem", "line", "message"),
    [
        ("items", "{oops", r"items\.jsonl, line 5: is not JSON"),
        ("items", "[1]", r"items\.jsonl, line 5: expected an object, got list"),
        ("items", '{"text": "x"}', r"line 5: 'id' is missing"),
        ("items", '{"id": "a", "features": [1, 2]}', r"the id 'a' occurs twice"),
        ("items", '{"id": "e"}', r"neither a text nor features"),
        ("items", '{"id": "e", "features": [1]}', r"has 1 features, others another number"),
        ("items", '{"id": "e", "features": [1, NaN]}', r"expected a finite number"),
        ("items", '{"id": true, "features": [1, 2]}', r"id must be a name, got True"),
        ("answers", '{"person": "p", "first": "a", "second": "b"}', r"'winner' is missing"),
        (
            "answers",
            '{"person": "p", "first": "a", "second": "z", "winner": "a"}',
            r"answers\.jsonl, line 5: second names 'z', which is not among the items",
        ),
        (
            "answers",
            '{"person": "p", "first": "a", "second": "b", "winner": "c"}',
            r"must be one of these two",
        ),
        ("ratings", '{"person": "bob", "item": "a", "rating": 1}', r"bob rated 'a' twice"),
        ("ratings", '{"person": "p", "item": "a", "rating": null}', r"expected a number, got None"),
        ("ratings", '{"person": "p", "item": "a", "rating": "x"}', r"could not convert"),
    ],
)
def test_damaged_records(tmp_path: Path, stem: str, line: str, message: str) -> None:
    write(tmp_path, items=ITEMS, answers=ANSWERS, ratings=RATINGS)
    with (tmp_path / f"{stem}.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(FileFormatError, match=message):
        People.read(tmp_path)


def test_folders_without_records(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"has no items\.jsonl or items\.csv"):
        People.read(tmp_path)
    write(tmp_path, items=ITEMS)
    with pytest.raises(OptionError, match="neither answers nor ratings"):
        People.read(tmp_path)
    (tmp_path / "ratings.csv").write_bytes(b"person,item,rating\n\xff")
    with pytest.raises(FileFormatError, match=r"ratings\.csv: cannot be read"):
        People.read(tmp_path)


def test_a_record_given_in_code_is_checked() -> None:
    with pytest.raises(AnswerError, match="one of these two different ids"):
        RecordedPerson("p", [("a", "b", "c")])
