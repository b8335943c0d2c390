"""The loader of the public DSP file, on our own sample in the same form."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest

import useralign.domains
from useralign import FileFormatError, ModelError, OptionError
from useralign.models import Scripted, TextRequest
from useralign.pooling.dsp import INTERESTS, generate_dsp_pools, read_dsp

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
    with pytest.raises(OptionError, match="1 to 4"):
        read_dsp(SAMPLE, users=5)


def test_the_sample_is_json_in_the_public_form() -> None:
    for item in json.loads(SAMPLE.read_text(encoding="utf-8")):
        assert set(item["responses"]) == {*INTERESTS, "normal"}
