"""The loader of the public DSP file, on our own sample in the same form."""

from __future__ import annotations

import hashlib
import json
from itertools import count
from pathlib import Path

import pytest

import useralign.domains
from useralign import FileFormatError, ModelError, OptionError
from useralign.domains.pools import load_pools
from useralign.errors import ModelUnavailableError
from useralign.lab import judging
from useralign.lab.reproduce import reproduce
from useralign.models import Scripted, TextRequest
from useralign.pooling.dsp import (
    INTERESTS,
    fetch_dsp,
    generate_dsp_pools,
    read_dsp,
    write_answer_pools,
)

SAMPLE = Path(useralign.domains.__file__).parent / "data" / "dsp64d" / "sample.json"
WORDS = [
    "amber",
    "basil",
    "cedar",
    "dune",
    "ember",
    "fjord",
    "grove",
    "heron",
    "iris",
    "jade",
    "kelp",
    "lotus",
    "maple",
    "nectar",
]


def script(fails_at: int | None = None) -> Scripted:
    numbers = count()

    def says(request: TextRequest) -> str:
        k = next(numbers)
        if k == fails_at:
            raise ModelError("the model is gone")
        picked = [WORDS[(k * step + step) % len(WORDS)] for step in (1, 3, 5, 9, 11)]
        return f"Answer {k} speaks of {', '.join(picked)} and number {k * 7919}."

    return Scripted(says)


def test_samples_are_drawn_by_the_seed() -> None:
    everything = read_dsp(SAMPLE)
    assert len(everything) == 12
    few = read_dsp(SAMPLE, count=5, seed=3)
    assert few == read_dsp(SAMPLE, count=5, seed=3)
    assert [e.id for e in few] != [e.id for e in read_dsp(SAMPLE, count=5, seed=4)]
    for entry in few:
        assert len(set(entry.users)) == 3
        assert set(entry.users) <= set(INTERESTS)
        assert set(entry.responses) == {*INTERESTS, "normal"}


def test_pools_are_half_unbiased_half_by_the_four_interests(tmp_path: Path) -> None:
    entries = read_dsp(SAMPLE, count=2)
    pools = list(generate_dsp_pools(entries, script(), tmp_path))
    assert [p.question for p in pools] == [e.query for e in entries]
    for pool, entry in zip(pools, entries, strict=True):
        sources = [c.source for c in pool]
        assert len(pool) == 20
        assert sources.count("unbiased") == 10
        assert {c.interest for c in pool if c.interest} <= set(INTERESTS.values())
        assert pool.baseline is not None
        assert set(pool.meta["users"]) == set(entry.users)


def test_its_users_can_be_played_by_a_model(tmp_path: Path) -> None:
    list(generate_dsp_pools(read_dsp(SAMPLE, count=2), script(), tmp_path))
    price = judging.estimate(load_pools(tmp_path), "gpt-4o-mini")
    assert (price.people, price.pairs, price.calls) == (6, 6 * 210, 12 * 210)
    assert price.cost is not None
    assert 0.0 < price.cost < 1.0


def test_what_was_made_is_not_made_again(tmp_path: Path) -> None:
    entries = read_dsp(SAMPLE, count=2)
    one = script()
    list(generate_dsp_pools(entries[:1], one, tmp_path / "one"))
    with pytest.raises(ModelError):
        list(generate_dsp_pools(entries, script(fails_at=one.calls + 5), tmp_path))
    assert (tmp_path / f"{entries[0].id}.json").exists()
    second = script()
    list(generate_dsp_pools(entries, second, tmp_path))
    whole = script()
    list(generate_dsp_pools(entries, whole, tmp_path / "again"))
    assert second.calls < whole.calls


@pytest.mark.parametrize(
    "content",
    [
        "{}",
        "[]",
        '[{"query": "x"}]',
        '[{"query": "", "responses": {}}]',
        "[",
        '[{"query": "x", "responses": {"academy": 1}}]',
    ],
)
def test_files_of_another_form(tmp_path: Path, content: str) -> None:
    path = tmp_path / "dsp.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"dsp\.json"):
        read_dsp(path)


def test_a_missing_file_says_what_to_do() -> None:
    with pytest.raises(FileFormatError, match="shipped sample"):
        read_dsp("nowhere.json")


def test_the_sample_is_json_in_the_public_form() -> None:
    for item in json.loads(SAMPLE.read_text(encoding="utf-8")):
        assert set(item["responses"]) == {*INTERESTS, "normal"}


@pytest.mark.parametrize("count", [-1, 0, 2.5, True])
def test_how_many_questions_must_be_a_number_of_them(count: object) -> None:
    with pytest.raises(OptionError, match="count must be a whole number of at least 1"):
        read_dsp(SAMPLE, count=count)  # type: ignore[arg-type]


def test_the_files_own_answers_with_its_domains_as_users(tmp_path: Path) -> None:
    share = write_answer_pools(SAMPLE, tmp_path, count=3)
    assert 0.0 < share <= 1.0
    domain = load_pools(tmp_path)
    assert len(domain.questions) == 3
    for question in domain.questions:
        ids = [str(c.id) for c in question.candidates]
        assert ids == [*INTERESTS, "normal"]
        assert [p.name for p in question.personas] == ids
        for persona in question.personas:
            assert sorted(persona.ranking) == sorted([*ids, "baseline"])
            assert next(i for i in persona.ranking if i != "baseline") == persona.name
            at = persona.ranking.index("baseline")
            assert persona.ranking[at + 1] == "normal"  # no better than itself
    assert len({p.ranking for q in domain.questions for p in q.personas}) > 5


def test_a_download_must_be_the_file_that_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ModelUnavailableError, match=r"checksum .*expected 0000.*Give the path"):
        fetch_dsp(SAMPLE.as_uri(), "0000")
    with pytest.raises(ModelUnavailableError, match="by other means"):
        fetch_dsp((tmp_path / "nothing.json").as_uri())
    right = hashlib.sha256(SAMPLE.read_bytes()).hexdigest()
    path = fetch_dsp(SAMPLE.as_uri(), right)
    assert len(read_dsp(path)) == 12
    assert fetch_dsp("file:///gone", right) == path  # it is there already


def test_the_command_needs_the_file(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"--data FILE, or --data fetch.*CC BY-NC"):
        reproduce("dsp", tmp_path)


def test_the_whole_evaluation_on_the_sample(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    work = reproduce("dsp", tmp_path, seeds=1, jobs=1, data=SAMPLE)
    section = work.report.sections[0]
    assert "12 questions" in section.text
    assert "CC BY-NC" in section.text
    sorts = {v.where: v.sort for v in work.report.verdicts}
    assert sorts["the DSP file"] == "implied"  # after five answers all five candidates have met
    ours = next(row for row in section.tables[0].rows if row[1] == "UserAlign")
    assert str(section.tables[0].text(ours[8])).startswith("100.0")  # no contradictions, d >= K


def test_questions_with_one_text_twice_are_left_out(tmp_path: Path) -> None:
    items = json.loads(SAMPLE.read_text(encoding="utf-8"))[:3]
    items[1]["responses"]["business"] = f" {items[1]['responses']['normal']}"
    path = tmp_path / "dsp.json"
    path.write_text(json.dumps(items), encoding="utf-8")
    write_answer_pools(path, tmp_path / "pools")
    assert sorted(p.stem for p in (tmp_path / "pools").glob("*.json")) == ["dsp-0", "dsp-2"]
    path.write_text(json.dumps(items[1:2]), encoding="utf-8")
    with pytest.raises(FileFormatError, match="no question with five different answers"):
        write_answer_pools(path, tmp_path / "pools")
