"""Users played by a language model: from pools to tables, with limits, failures and resumption."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from tests.models.conftest import service
from tests.models.scripted_service import Reply, ScriptedService, chat
from tests.users.test_judge import answers
from useralign import Pool, domains
from useralign.cli.reproduce import reproduce as command
from useralign.domains.pools import load_pools
from useralign.errors import FileFormatError, ModelUnavailableError, OptionError
from useralign.lab import judging
from useralign.lab.reproduce import Judges, Reproduction, judge_domain, reproduce
from useralign.models import Scripted, Text, TextRequest, Usage
from useralign.models.generator import wait_for
from useralign.models.openai import OpenAI
from useralign.users.judge import judge_pair

__all__ = ["service"]

TEXTS = ["a plain potato soup", "a fiery curry", "a bowl of rice", "a hot chilli stew"]
ORDER = ["a hot chilli stew", "a fiery curry", "some bread", "a bowl of rice", TEXTS[0]]
PAIRS = 10  # of four texts and the baseline
PEOPLE = '[everyone]\nHeat = "Loves heat."\nMild = "Hates heat."\n'


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two questions with four answers each, as `useralign pool` saves them."""
    path = tmp_path / "meals"
    path.mkdir()
    for name in ("lunch", "supper"):
        pool = Pool.from_texts(f"What for {name}?", TEXTS, baseline="some bread")
        pool.save(path / f"{name}.json")
    (path / "people.toml").write_text(PEOPLE, encoding="utf-8")
    return path


def honest(request: TextRequest) -> str:
    """The one likes heat, the other the reverse."""
    first, second = (ORDER.index(text) for text in answers(request))
    better = first < second if "Loves heat." in request.prompt else first > second
    return json.dumps({"better": "A" if better else "B"})


class Priced(Scripted):
    """A model of which every call costs a cent."""

    async def text(self, request: TextRequest) -> Text:
        reply = await super().text(request)
        return Text(reply.text, reply.model, usage=Usage(1, 100, 8, cost=0.01))


def run(folder: Path, out: Path, model: Scripted | OpenAI, **options: object) -> Reproduction:
    judges = Judges(model, folder, **options)  # type: ignore[arg-type]
    return reproduce("tables", out, seeds=1, jobs=1, judges=judges)


def judge(folder: Path, out: Path, model: Scripted | OpenAI, **options: object) -> Path:
    """Only judge; return the folder with the verdicts."""
    judge_domain(Reproduction(out), Judges(model, folder, **options))  # type: ignore[arg-type]
    return out / "judged" / f"{folder.name}-judged"


def test_from_pools_to_tables(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    model, said = Scripted(honest), list[str]()
    work = run(folder, tmp_path / "out", model, report=said.append)
    assert model.calls == 2 * 2 * PAIRS * 2  # questions, people, pairs, orders
    assert "4 people judge 40 pairs, twice each: 80 calls" in said[0]
    names = {path.name for path in work.written}
    assert names >= {"trade-off-meals-judged-judge.md", "beside.csv", "judge.json", "report.html"}
    beside = json.loads((tmp_path / "out" / "tables" / "beside.json").read_text())["rows"]
    ours = next(row for row in beside if row["Method"] == "UserAlign")
    assert ours["favourite % at its end"]["mean"] == 100.0
    assert {v.sort for v in work.report.verdicts} == {"open"}
    facts = {row["what"]: row["value"] for row in json.loads(
        (tmp_path / "out" / "tables" / "judge.json").read_text())["rows"]}  # fmt: skip
    assert facts["pairs judged, each in both orders"] == 40
    assert facts["undecided: the same place won both times, %"] == 0.0
    # What is judged is judged: neither the model nor a verdict is needed again.
    again = Scripted([ModelUnavailableError("it is gone")])
    assert run(folder, tmp_path / "out", again).report.verdicts == work.report.verdicts
    assert again.calls == 0


def test_a_run_that_fails_goes_on_where_it_stopped(folder: Path, tmp_path: Path) -> None:
    broken = Scripted(honest, failures={31: ModelUnavailableError("the line is dead")})
    with pytest.raises(ModelUnavailableError, match="the line is dead"):
        judge(folder, tmp_path / "out", broken)
    kept = len(judging.spent(tmp_path / "out" / "judged" / "meals-judged")[1])
    assert 0 < kept < 40
    second = Scripted(honest)
    said: list[str] = []
    judge(folder, tmp_path / "out", second, report=said.append)
    assert f"judge {40 - kept} pairs" in said[0]
    assert second.calls <= 2 * (40 - kept)


def test_a_limit_on_the_cost(folder: Path, tmp_path: Path) -> None:
    model = Priced(honest)
    with pytest.raises(OptionError, match=r"limit of 0\.3.*larger --max-cost"):
        judge(folder, tmp_path / "out", model, max_cost=0.30)
    usage, verdicts = judging.spent(tmp_path / "out" / "judged" / "meals-judged")
    assert usage.cost is not None
    assert 0.10 < usage.cost <= 0.30
    assert len(verdicts) == usage.calls / 2
    judge(folder, tmp_path / "out", Priced(honest), max_cost=5.0)
    usage, _ = judging.spent(tmp_path / "out" / "judged" / "meals-judged")
    assert usage.cost == pytest.approx(0.80)


def test_a_limit_below_the_price_of_a_few_pairs(folder: Path, tmp_path: Path) -> None:
    """What a pair costs is not known before the first is back, so it goes alone."""
    with pytest.raises(OptionError, match=r"1 of 40 pairs are judged for 0\.02 USD"):
        judge(folder, tmp_path / "out", Priced(honest), max_cost=0.03)


def test_a_model_with_a_price_needs_a_limit(folder: Path, tmp_path: Path) -> None:
    model = Scripted(honest, model="gpt-4o-mini")
    with pytest.raises(OptionError, match=r"USD; give --max-cost"):
        judge(folder, tmp_path / "out", model)
    assert model.calls == 0
    price = judging.estimate(load_pools(folder), "gpt-4o-mini")
    assert (price.people, price.pairs, price.calls) == (4, 40, 80)
    assert price.cost is not None
    assert 0.0 < price.cost < 0.01


def test_two_models_are_kept_apart(folder: Path, tmp_path: Path) -> None:
    judge(folder, tmp_path / "out", Scripted(honest))
    with pytest.raises(OptionError, match="verdicts of scripted:scripted, not scripted:other"):
        judge(folder, tmp_path / "out", Scripted(honest, model="other"))


@pytest.mark.soak
def test_a_domain_that_comes_with_the_package(tmp_path: Path) -> None:
    model = Scripted(['{"better": "A"}'])  # goes by the place alone
    work = reproduce(
        "tables", tmp_path, seeds=1, jobs=1, judges=Judges(model, "dsp64d", questions=1)
    )
    facts = {row[0]: row[1] for row in work.report.sections[0].tables[-1].rows}
    assert facts["pairs judged, each in both orders"] == 3 * 210
    assert facts["undecided: the same place won both times, %"] == 100.0
    assert "Use a larger model" in work.report.sections[0].tables[-1].note
    row = work.report.sections[0].tables[0].rows[8]
    assert row[2] is not None  # the paper's numbers of that domain stand beside


def test_a_service_over_http(folder: Path, tmp_path: Path, service: ScriptedService) -> None:
    service.replies = [Reply(chat('{"better": "B"}'))]
    judge(folder, tmp_path / "out", OpenAI("judge", base_url=service.base_url))
    assert len(service.requests) == 80
    usage, both = judging.spent(tmp_path / "out" / "judged" / "meals-judged")
    assert both == ["BB"] * 40
    assert (usage.calls, usage.input_tokens) == (80, 800)


def test_pictures_are_seen_where_the_model_can(tmp_path: Path) -> None:
    model = Scripted(['{"better": "A"}'])
    domain = load_pools(
        judging.prepare(domains.load("visual512d"), tmp_path / "few", questions=1, embedder=None)
    )
    assert domain.kind == "image"
    question = domain.questions[0]
    asyncio.run(judge_pair("Loves heat.", question.text, model, *question.candidates[:2]))
    request = model.requests[0]
    assert isinstance(request, TextRequest)
    assert set(request.images) == {question.candidates[0].image, question.candidates[1].image}
    assert question.candidates[0].text not in request.prompt
    model.sees = False
    asyncio.run(judge_pair("Loves heat.", question.text, model, *question.candidates[:2]))
    request = model.requests[-1]
    assert isinstance(request, TextRequest)
    assert request.images == ()
    assert question.candidates[0].text in request.prompt
    seen, read = (judging.estimate(domain, "gpt-4o-mini", sees=s) for s in (True, False))
    assert seen.input_tokens > 10 * read.input_tokens


def test_a_judge_that_sees_goes_by_the_picture(tmp_path: Path) -> None:
    """From a pool of pictures to the tables, with somebody who likes the brightest best."""
    pytest.importorskip("matplotlib")
    image = pytest.importorskip("PIL.Image")
    whole = domains.load("visual512d").questions[0]

    def light(path: str) -> float:
        return float(np.asarray(image.open(path).convert("L")).mean())

    def by_light(request: TextRequest) -> str:
        first, second = map(light, request.images)
        return json.dumps({"better": "A" if first > second else "B"})

    pool = whole.pool()
    few = Pool(
        pool.question,
        pool.candidates[:5],
        pool.raw_features[:5],
        pool.baseline,
        normalise=pool.normalise,
        embedder=pool.embedder,
    )
    few.meta["users"] = {"Bright": "Loves light."}
    (tmp_path / "posters").mkdir()
    few.save(tmp_path / "posters" / "hero.json")
    work = run(tmp_path / "posters", tmp_path / "out", Scripted(by_light))
    assert work.report.sections[0].tables[-1].rows[-1] == ("pictures", "seen")
    steps = json.loads(
        (tmp_path / "out" / "runs" / "posters-judged-1" / "results.json").read_text()
    )
    ends = {
        c["steps"][-1]["best"] for c in steps["cells"] if c["method"] in ("useralign", "oracle")
    }
    assert ends == {max(few, key=lambda c: light(str(c.image))).label}


def test_pictures_go_into_the_message(service: ScriptedService) -> None:
    picture = domains.load("visual512d").questions[0].candidates[0].image
    service.replies = [Reply(chat('{"better": "B"}'))]
    request = TextRequest("Which?", temperature=0.0, seed=0, images=(str(picture),))
    model = OpenAI("judge", base_url=service.base_url)
    wait_for(model.text(request), model)
    content = service.requests[0]["messages"][-1]["content"]
    assert content[0] == {"type": "text", "text": "Which?"}
    assert content[1]["image_url"]["url"].startswith("data:image/webp;base64,UklGR")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: (f / "people.toml").unlink(), "who asks lunch"),
        (lambda f: (f / "people.toml").write_text("["), "cannot be read as TOML"),
        (lambda f: [p.unlink() for p in f.glob("*.json")], "has no pools"),
        (
            lambda f: Pool.from_texts("What for lunch?", TEXTS).save(f / "lunch.json"),
            "has no baseline",
        ),
    ],
)
def test_a_folder_that_is_no_domain(folder: Path, change: object, message: str) -> None:
    assert callable(change)
    change(folder)
    with pytest.raises(FileFormatError, match=message):
        load_pools(folder)


def test_a_cut_off_line_is_judged_again(folder: Path, tmp_path: Path) -> None:
    path = judge(folder, tmp_path / "out", Scripted(honest)) / "verdicts.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert judging.estimate(domains.add(path.parent), "scripted").pairs == 1
    judge(folder, tmp_path / "out", Scripted(honest))
    assert len(judging.spent(path.parent)[1]) == 40
    assert judging.estimate(domains.add(path.parent), "scripted").pairs == 0


def test_options_of_the_command(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(command)
    for words, message in (
        (["--users", "judge"], "needs --model"),
        (["--users", "robot"], "expected persona or judge"),
        (["--model", "scripted"], "go with --users judge"),
    ):
        done = CliRunner().invoke(app, ["costs", "--out", str(tmp_path), *words])
        assert isinstance(done.exception, OptionError)
        assert message in str(done.exception)
