"""Studies of one's own: material, arms, pages, languages, and how somebody's part can end."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import select

from tests.study.conftest import Clock, Walker, small_design
from useralign.errors import ConflictError, FileFormatError
from useralign.store import Store, digest, studies, token
from useralign.store.schema import page_answers, sessions, steps
from useralign.study import Design, ParticipantFlow, parse_design, read_design, results
from useralign.study.design import paper_template
from useralign.study.export import dataset_rows
from useralign.study.pages import FieldEntry, PageEntry
from useralign.study.recruitment import Arrival
from useralign.study.wording import Words, built_in_languages, choose_language, list_keys

EXAMPLES = Path(__file__).parents[2] / "examples" / "studies"
LIGHT = """
slug = "light"
title = "Light"
participants = 6
arms = ["useralign", { name = "three", method = "frugal", per_screen = 3, weight = 2 }]
budget = 2
checkpoints = [2]
contact = "c"
consent = "c"
"""
ROWS = [{"id": f"a{k}", "text": f"answer {k}", "features": [k, k * k % 5, 1]} for k in range(6)]
QUESTION = '\n[[questions]]\ntext = "Which?"\npool = "answers.jsonl"\nbaseline = "a5"\n'
TASK: dict[str, Any] = {"kind": "task"}
GREY = EXAMPLES / "pictures" / "grey.webp"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = "\n".join(map(json.dumps, ROWS))
    (tmp_path / "answers.jsonl").write_text(lines, encoding="utf-8")
    return tmp_path


def light(folder: Path, text: str = "", **changes: Any) -> Design:
    """A small study of its own, with a pool that needs no model."""
    return parse_design(LIGHT + (text or QUESTION), folder=folder).changed(**changes)


def choice(**more: Any) -> dict[str, Any]:
    given = {"id": "color", "type": "choice", "text": "?", "options": ["red", "blue"]}
    return given | more


class Pages(Walker):
    """Somebody who fills in pages, too."""

    def fill(self, who: str, **values: str) -> dict[str, str]:
        view = self.look(who)
        form = {name: [value] for name, value in values.items()}
        return self.flow.submit(self.study.slug, who, view.key, view.step, form)

    def answer(self, who: str, position: int = 0) -> None:
        view = self.look(who)
        if view.stage == "query":
            self.flow.begin(self.study.slug, who, view.key)
        elif view.page is not None:
            assert self.fill(who) == {}
        else:
            self.flow.answer(self.study.slug, who, view.key, view.step, position)

    def outcome(self, who: str) -> str | None:
        return self.look(who).participant.outcome


@pytest.fixture
def own(flow: ParticipantFlow, folder: Path) -> Any:
    def make(*pages: dict[str, Any], **changes: Any) -> Pages:
        design = light(folder, pages=list(pages), **changes)
        return Pages(flow, flow.studies.add(design))

    return make


def test_own_answers_become_a_study(own: Any, store: Store) -> None:
    pages = own()
    question = pages.study.question("own", "q1")
    pool = store.pools.get(question.pool_id)
    assert [candidate.id for candidate in pool] == ["a0", "a1", "a2", "a3", "a4"]
    assert pool.baseline is not None
    assert pool.baseline.id == "a5"
    assert pages.study.design.quota == [2, 4]
    sizes = set()
    for _ in range(6):
        who = pages.enter()
        pages.answer(who)
        sizes.add((pages.look(who).participant.assignment.method, len(pages.look(who).options)))
        pages.finish(who)
    assert sizes == {("useralign", 2), ("three", 3)}
    rows = list(dataset_rows(store, pages.study, "answers"))
    wide = [row for row in rows if row["method"] == "three" and row["stage"] == "comparisons"]
    assert len(wide) == 8
    for row in wide:
        assert row["winner"] == row["left"]
        assert row["right"].count(" | ") == 1
    counts = {(o.method, o.count) for o in results.outcomes(store, pages.study)}
    assert counts == {("random", 6), ("useralign", 2), ("three", 4)}


def test_an_added_file_is_read_anew_until_somebody_takes_part(
    flow: ParticipantFlow, folder: Path
) -> None:
    first = flow.studies.add(light(folder))
    assert flow.studies.add(light(folder)) == first
    other = [*ROWS, {"id": "new", "text": "a new answer", "features": [9, 9, 9]}]
    (folder / "answers.jsonl").write_text("\n".join(map(json.dumps, other)), encoding="utf-8")
    second = flow.studies.add(light(folder))
    assert second.questions != first.questions
    Pages(flow, second).enter()
    (folder / "answers.jsonl").write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    assert flow.studies.add(light(folder)) == second


def test_everything_wrong_is_said_at_once(tmp_path: Path) -> None:
    text = LIGHT.replace("participants = 6", "participants = 0").replace("three", "useralign")
    text = text.replace('slug = "light"', 'slug = "Not Light"') + QUESTION
    text += '[[pages]]\nkind = "quiz"\n[[pages]]\nkind = "questionnaire"\n'
    text += '[[pages.fields]]\nid = "X"\ntype = "radio"\ntext = "t"\n'
    text += '[[questions]]\ntext = "Which?"\npool = "one.txt"\n[words]\nhello = "x"\n'
    (tmp_path / "one.txt").write_text("The only answer.", encoding="utf-8")
    with pytest.raises(FileFormatError) as caught:
        parse_design(text, "mine.toml", folder=tmp_path)
    said = str(caught.value)
    assert said.startswith("mine.toml: 9 things are wrong:\n")
    for place in (
        "  slug: ", "  participants: ", "  arms: 'useralign' is there twice",
        "  questions[0].pool: there is no file or folder 'answers.jsonl'",
        "  pages[0]: a page of kind 'quiz' needs", "  pages[1].fields[0].id: ",
        "  pages[1].fields[0].type: ", "  words.hello: is no text of a page",
        "  questions[1]: its pool has 1 answer",
    ):  # fmt: skip
        assert f"\n{place}" in said, place


def test_several_mistakes_of_one_part_are_all_said(folder: Path) -> None:
    text = (
        LIGHT
        + QUESTION
        + """
[[pages]]
kind = "task"
[[pages]]
kind = "questionnaire"
fields = [
  { id = "step", type = "choice", text = "?", options = ["a", "a"], min = 2, max = 1, correct = 3 },
  { id = "step", type = "number", text = "?" },
]
[recruitment]
link = false
keys = { keys = [] }
"""
    )
    with pytest.raises(FileFormatError) as caught:
        parse_design(text, folder=folder)
    said = str(caught.value)
    assert "study file: 7 things are wrong:\n" in said
    for place in (
        "pages[1].fields[0]: step: an option is there twice in ['a', 'a']",
        "pages[1].fields[0]: step: min = 2 is above max = 1",
        "pages[1].fields[0]: step: is a name that pages use themselves",
        "pages[1].fields[0]: step: '3' is none of its options",
        "pages[1].fields[1]: step: is a name that pages use themselves",
        "recruitment: nobody could take part",
        "recruitment: keys are those of Prolific",
    ):
        assert f"\n  {place}" in said, place


def test_a_mistake_in_one_part_hides_none_between_others(folder: Path) -> None:
    text = LIGHT.replace("participants = 6", "participants = 0") + QUESTION
    text = text.replace('baseline = "a5"', "").replace("weight = 2", "checkpoints = [9]")
    text = 'languages = ["fr"]\nassignment = "within"\n' + text
    text += '[[pages]]\nkind = "debriefing"\n[[quotas]]\nmethod = "x"\nparticipants = 1\n'
    with pytest.raises(FileFormatError) as caught:
        parse_design(text, folder=folder)
    said = str(caught.value)
    for place in (
        "participants: ", "questions[0]: q1: has no baseline", "languages: 'fr' is not built in",
        "pages: needs one page",
    ):  # fmt: skip
        assert f"\n  {place}" in said, place
    with pytest.raises(FileFormatError) as caught:
        parse_design(text.replace("[questions]]", '[questions]]\nbaseline = "a5"'), folder=folder)
    said = str(caught.value)
    for place in ("arms[1]: checkpoints must", "quotas[0]: is about none", "questions_each: a "):
        assert f"\n  {place}" in said, place


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('baseline = "a5"', "", "questions[0]: q1: has no baseline"),
        ('baseline = "a5"', 'baseline = "x.png"', "there is no picture x.png"),
        ('baseline = "a5"', f'baseline = "{GREY}"', "answers are texts and its baseline is a pict"),
        ('pool = "answers.jsonl"', 'model = "openai:x"', "prepare FILE` lets openai:x make it"),
        ("budget = 2", "budget = 1", "study file: checkpoints must be at most two steps"),
        ("weight = 2", "checkpoints = [1, 2]", "arms[1]: has 2 checkpoints, own has 1; give"),
        ("weight = 2", "weight = 0", "arms[1].weight: "),
        ("per_screen = 3", "per_screen = 12", "arms[1].per_screen: "),
        ('"useralign",', '{ method = "useralign", options = { x = 1 } },', "takes no option 'x'"),
        ('contact = "c"', 'contact = "c.md"', "contact: the file c.md cannot be read"),
        ('contact = "c"', 'contact = "c"\nlanguages = ["fr"]', "languages: 'fr' is not built in"),
        ('contact = "c"', 'contact = "c"\nwords = { hello = "x" }', "words.hello: is no text"),
        ('contact = "c"', 'contact = "c"\nassignment = "within"', "need 2 different"),
        ('contact = "c"', 'contact = "c"\nconditions = ["with-persona"]', "has no persona"),
        ('contact = "c"', 'contact = "c"\nquotas = [{ method = "x", participants = 1 }]', "quotas"),
        ('contact = "c"', 'contact = "c"\npages = [{ kind = "debriefing" }]', 'kind = "task"'),
    ],
)
def test_a_mistake_is_named(folder: Path, before: str, after: str, said: str) -> None:
    text = LIGHT + QUESTION
    assert before in text
    with pytest.raises(FileFormatError) as caught:
        parse_design(text.replace(before, after, 1), folder=folder)
    assert said in str(caught.value)


def test_a_pool_to_be_made_may_have_a_name(folder: Path) -> None:
    question = '\n[[questions]]\ntext = "Which?"\npool = "made.json"\nmodel = "openai:x"\n'
    design = parse_design(LIGHT + question, folder=folder, prepared=False)
    assert design.domains[0].own[0].file(folder) == folder / "made.json"


def test_only_the_baseline_is_called_baseline(folder: Path) -> None:
    rows = "\n".join(json.dumps(row).replace('"a1"', '"baseline"') for row in ROWS)
    (folder / "answers.jsonl").write_text(rows, encoding="utf-8")
    with pytest.raises(FileFormatError, match="an answer has the id 'baseline'"):
        light(folder)
    light(folder, QUESTION.replace("a5", "baseline"))


def test_questions_in_a_file_of_their_own(folder: Path) -> None:
    lines = [{"text": f"Question {k}?", "pool": "answers.jsonl", "baseline": "b"} for k in (1, 2)]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    design = parse_design(f'{LIGHT}questions = "questions.jsonl"', folder=folder)
    assert [question.id for question in design.load_questions()["own"]] == ["q1", "q2"]


@pytest.mark.parametrize(
    ("field", "sent", "stored", "problem"),
    [
        (choice(), ["red"], "red", None),
        (choice(), ["green"], "green", "option"),
        (choice(), [], None, "required"),
        (choice(required=False), [" "], None, None),
        (choice(type="choices"), ["red", "blue"], '["blue", "red"]', None),
        ({"id": "n", "type": "number", "text": "?", "min": 1}, ["1,5"], "1.5", None),
        ({"id": "n", "type": "number", "text": "?", "min": 1}, ["0"], "0", "range"),
        ({"id": "n", "type": "number", "text": "?", "whole": True}, ["1.5"], "1.5", "whole"),
        ({"id": "n", "type": "number", "text": "?"}, ["nan"], "nan", "number"),
        ({"id": "l", "type": "likert", "text": "?", "points": 7}, ["7"], "7", None),
        ({"id": "l", "type": "likert", "text": "?"}, ["6"], "6", "option"),
        ({"id": "t", "type": "text", "text": "?", "max": 3}, ["four"], "four", "long"),
    ],
)
def test_fields(
    field: dict[str, Any], sent: list[str], stored: str | None, problem: str | None
) -> None:
    assert FieldEntry.model_validate(field).parse(sent) == (stored, problem)


def test_pages_come_in_their_order_and_are_kept(own: Any, store: Store) -> None:
    about = {"kind": "questionnaire", "id": "about", "fields": [choice()]}
    pages = own({"kind": "instructions", "text": "Read."}, about, TASK, {"kind": "debriefing"})
    who = pages.enter()
    stages = []
    while (view := pages.look(who)).participant.outcome is None:
        stages.append(view.key)
        if view.stage != "about":
            pages.answer(who)
            continue
        assert pages.fill(who, color="green") == {"color": "option"}
        assert pages.look(who) == view  # nothing was stored
        assert pages.fill(who, color="blue") == {}
        form = {"color": ["blue"]}
        pages.flow.submit("light", who, "about", 0, form)  # sent twice
        with pytest.raises(ConflictError):
            pages.flow.submit("light", who, "about", 0, {"color": ["red"]})
        with pytest.raises(ConflictError):
            pages.flow.submit("light", who, "debriefing", 0, {})
    assert list(dict.fromkeys(stages)) == [
        "instructions", "about", "query", "comparisons", "evaluation", "debriefing",
    ]  # fmt: skip
    with studies.reading(store, "light") as records:
        kept = [(a.page, a.field, a.value) for a in records.page_answers(digest(who))]
        entered = records.stage_times([digest(who)])[digest(who)]
    assert ("about", "color", "blue") in kept
    assert ("_", "version") in [answer[:2] for answer in kept]
    assert set(entered) == {*stages, "done"}  # a time for every page


def test_a_quiz_may_be_tried_again_and_then_ends_it(own: Any) -> None:
    quiz = {"kind": "quiz", "fields": [choice(correct="red")]}
    pages = own(quiz, TASK, participants=3)
    one, other = pages.enter(), pages.enter()
    pages.fill(one, color="blue")
    assert pages.look(one).wrong == ("color",)
    assert pages.look(one).step == 1
    pages.flow.submit("light", one, "quiz", 0, {"color": ["blue"]})  # again: no attempt
    assert pages.look(one).step == 1
    pages.fill(one, color="red")
    assert pages.look(one).stage == "query"
    pages.fill(other, color="blue")
    pages.fill(other, color="blue")
    assert pages.outcome(other) == "screened-out"
    pages.flow.submit("light", other, "quiz", 1, {"color": ["blue"]})
    with pytest.raises(ConflictError):
        pages.flow.submit("light", other, "query", 0, {})
    state = results.status(pages.flow._store, pages.study, 0.0)
    assert state.total("dropped") >= 1  # their place is free again


@pytest.mark.parametrize(
    ("fail", "outcome"), [(None, None), ("failed-check", "failed-check"), ("go-on", None)]
)
def test_a_failed_attention_check(own: Any, fail: str | None, outcome: str | None) -> None:
    page: dict[str, Any] = {"kind": "attention", "fields": [choice(correct="red")]}
    pages = own(page | ({"fail": fail} if fail else {}), TASK)
    who = pages.enter()
    pages.fill(who, color="blue")
    assert pages.outcome(who) == outcome


def test_screening_and_quotas_of_answers(own: Any) -> None:
    field = choice(options=["red", "blue", "none"], screen_out=["none"], quota={"red": 1})
    pages = own({"kind": "questionnaire", "fields": [field]}, TASK)
    people = [pages.enter() for _ in range(4)]
    for who, color in zip(people, ("none", "red", "red", "blue"), strict=True):
        pages.fill(who, color=color)
    assert [pages.outcome(who) for who in people] == ["screened-out", None, "quota-full", None]


def test_time_outs(own: Any, clock: Clock) -> None:
    pages = own(TASK, limit_minutes=10)
    who = pages.enter()
    pages.answer(who)
    view = pages.look(who)
    clock.now += 600
    with pytest.raises(ConflictError):
        pages.flow.answer("light", who, view.key, view.step, 0)
    assert pages.outcome(who) == "timed-out"
    assert pages.look(who).participant.code is None


@pytest.mark.parametrize("outcome", ["returned", "withdrawn"])
def test_leaving(own: Any, store: Store, outcome: str) -> None:
    pages = own({"kind": "questionnaire", "fields": [choice()]}, TASK)
    who = pages.enter()
    pages.fill(who, color="red")
    pages.answer(who)
    pages.answer(who)
    for _ in range(2):
        pages.flow.leave("light", who, outcome)
    assert pages.outcome(who) == outcome
    with store.reading() as connection:
        kept = [len(connection.execute(select(t)).all()) for t in (sessions, steps, page_answers)]
    assert (kept == [0, 0, 0]) == (outcome == "withdrawn")
    assert pages.flow.enter(pages.study, Arrival("link"), who) is not None  # no second part
    assert pages.outcome(who) == outcome
    with pytest.raises(ConflictError):
        pages.flow.answer("light", who, "comparisons", 0, 0)


def test_every_arm_within_a_person(own: Any, store: Store, folder: Path) -> None:
    second = QUESTION.replace("Which?", "And which?")
    design = light(folder, QUESTION + second, assignment="within", slug="within", pages=[
        TASK, {"kind": "questionnaire", "id": "after", "each_round": True, "fields": [choice()]},
    ])  # fmt: skip
    pages = Pages(own().flow, own().flow.studies.add(design))
    people = [pages.enter() for _ in range(4)]
    for who in people:
        while (view := pages.look(who)).participant.outcome is None:
            if view.stage == "after":
                pages.fill(who, color="red")
            else:
                pages.answer(who)
        rounds = view.participant.rounds
        assert {one.method for one in rounds} == {"useralign", "three"}
        assert {one.question for one in rounds} == {"q1", "q2"}
    assert [o.count for o in results.outcomes(store, pages.study)] == [8, 4, 4]
    rows = list(dataset_rows(store, pages.study, "answers"))
    assert len(rows) == 4 * 2 * (2 + 2)
    assert {row["question"] for row in rows if row["method"] == "three"} == {"q1", "q2"}
    with studies.reading(store, "within") as records:
        answers = records.page_answers(digest(people[0]))
    assert [a.page for a in answers if a.field == "color"] == ["after", "after.1"]
    records_of = view.participant
    flow = pages.flow
    with studies.writing(store, "within") as writing:
        writing.delete_participant(records_of)
    with store.reading() as connection:
        owners = set(connection.execute(select(sessions.c.owner)).scalars())
    assert records_of.id not in owners
    assert flow.studies.get("within") == pages.study


def test_all_questions_with_every_arm(folder: Path) -> None:
    second = QUESTION.replace("Which?", "And which?")
    design = light(folder, QUESTION + second, assignment="within", questions_each="all")
    sequence = design.sequence(1, 2)
    assert [cell.method for cell in sequence] == ["three", "three", "useralign", "useralign"]
    assert design.route(sequence)[-4:] == ["query.3", "comparisons.3", "evaluation.3", "done"]


def test_a_study_without_evaluation(folder: Path, flow: ParticipantFlow) -> None:
    text = LIGHT.replace("checkpoints = [2]", "checkpoints = []")
    design = parse_design(text + QUESTION.replace('baseline = "a5"', ""), folder=folder)
    pages = Pages(flow, flow.studies.add(design))
    view = pages.finish(pages.enter())
    assert view.participant.code
    assert results.outcomes(flow._store, pages.study) == []


def test_a_seed_makes_places_reproducible(store: Store, folder: Path) -> None:
    def assigned(slug: str, seed: int | None) -> list[tuple[str, str]]:
        flow = ParticipantFlow(store, rng=Random(slug))
        study = flow.studies.add(light(folder, slug=slug, seed=seed))
        pages = Pages(flow, study)
        people = [pages.look(pages.enter()).participant for _ in range(6)]
        with studies.writing(store, slug) as records:
            for who in people:
                records.delete_participant(who)
            records.delete_study()
        return [(who.assignment.method, who.assignment.question) for who in people]

    assert assigned("light", 3) == assigned("light", 3)


def test_the_preset_as_an_arm(own: Any, store: Store) -> None:
    pages = own(TASK, methods=[{"method": "few", "name": "preset"}])
    who = pages.enter()
    pages.answer(who)
    assert len(pages.look(who).options) == 4  # short texts
    assert pages.finish(who).participant.outcome == "completed"
    assert {row["method"] for row in dataset_rows(store, pages.study, "answers")} == {"preset"}


def test_names_that_pages_use_themselves(folder: Path) -> None:
    with pytest.raises(ValueError, match="is a name that pages use themselves"):
        light(folder, pages=[{"kind": "questionnaire", "fields": [choice(id="step")]}, TASK])


def test_quotas_of_cells(folder: Path) -> None:
    quotas = [{"method": "three", "participants": 1}]
    design = light(folder, quotas=quotas)
    assert design.quota == [2, 1]
    assert design.wanted == 3
    assert Design.from_dict(design.to_dict()) == design


def test_languages(own: Any) -> None:
    title = {"en": "Colours", "de": "Farben"}
    field = choice(text={"en": "Which?", "de": "Welche?"})
    page = {"kind": "questionnaire", "title": title, "fields": [field]}
    pages = own(page, TASK, languages=["en", "de"])
    entered = pages.flow.enter(pages.study, Arrival("link"), token(), language="de")
    view = pages.look(entered[0])
    assert view.language == "de"
    assert view.words("next") == "Weiter"
    assert choose_language(["en", "de"], "", "fr;q=0.9, de-AT;q=0.8, en;q=0.5") == "de"
    assert choose_language(["en", "de"], "en", "de") == "en"
    assert choose_language(["en", "de"], "xx", "it,;q=x") == "en"


def test_an_export_has_what_people_of_each_language_read(
    flow: ParticipantFlow, store: Store, folder: Path
) -> None:
    rows = "\n".join(json.dumps(row | {"text_de": f"Antwort {row['id']}"}) for row in ROWS)
    (folder / "answers.jsonl").write_text(rows, encoding="utf-8")
    study = flow.studies.add(light(folder, languages=["en", "de"]))
    first = next(dataset_rows(store, study, "candidates"))
    assert (first["text"], json.loads(first["translations"])) == ("answer 0", {"de": "Antwort a0"})


@pytest.mark.parametrize("language", built_in_languages())
def test_built_in_languages_are_whole(language: str) -> None:
    words = Words("plain", {}, language)
    english = Words("plain", {}, "en")
    for key in list_keys():
        assert words(key)
        assert words(key).count("{") == english(key).count("{"), key
        same = words(key) == english(key) and len(words(key)) > 12
        assert language == "en" or not same, key


def test_the_papers_wording() -> None:
    design = read_design(EXAMPLES / "paper" / "study.toml")
    words = design.words_in("en")
    assert words("comparisons_title") == "Pairwise Comparisons for Training"
    assert words("evaluation_title") == "Pairwise Comparisons for Evaluation"
    assert words("query_title_persona") == "Query and Persona"
    assert words("query_title") == "Query and Your Preferences"
    assert not design.attention_checks
    assert "1.80 USD" in str(design.payment)
    assert (len(design.cells), design.places) == (8, 120)
    assert design.arm("useralign").options == {"reask": True}
    written = parse_design(paper_template(960))
    assert (written.methods, written.quota) == (design.methods, design.quota)


def test_pages_without_names_get_some() -> None:
    pages = [{"kind": "instructions"}, {"kind": "instructions"}, TASK]
    design = small_design(pages=pages)
    assert [page.id for page in design.pages] == ["instructions", "instructio2", "task"]
    assert isinstance(design.pages[0], PageEntry)
