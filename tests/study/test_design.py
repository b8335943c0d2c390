"""Study files, and studies in the database."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.study.conftest import Walker, small_design
from useralign.errors import ConflictError, FileFormatError, NotFoundError
from useralign.study import ParticipantFlow, parse_design, read_design, template


def test_the_template_is_the_papers_study() -> None:
    design = parse_design(template())
    assert design.participants == 960
    assert len(design.cells) == 8
    assert design.places == 120
    budgets = {entry.name: (entry.budget, entry.checkpoints) for entry in design.domains}
    assert budgets == {"food64d": (10, [5, 10]), "visual512d": (20, [10, 20])}
    assert len([line for line in template().splitlines() if "#" in line]) > 12  # explained


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('slug = "dinner', 'slug = "Dinner', "slug: "),
        ("participants = 960", 'participants = "many"', "participants: "),
        ("participants = 960", "participants = 0", "participants: "),
        ("participants = 960", "", "participants: is missing"),
        ("participants = 960", "participants = 960\nbonus = 1", "bonus: is not a key"),
        ('"iidbest"]', '"nonsense"]', "methods[1]: unknown method 'nonsense'; known: "),
        ('"iidbest"]', '"random"]', "methods[1]: 'random' asks nothing"),
        ('"iidbest"]', '"useralign"]', "methods: 'useralign' is there twice"),
        ('"without-persona"]', '"alone"]', "conditions[1]: "),
        ('name = "food64d"', 'name = "food"', "domains[0]: unknown domain 'food'"),
        ('questions = "all"   ', 'questions = ["food-99"]', "domains[0]: food64d has no question"),
        (
            "checkpoints = [5, 10]",
            "checkpoints = [10, 5]",
            "domains[0]: checkpoints must be at most two",
        ),
        ("checkpoints = [5, 10]", "checkpoints = [5, 11]", "within the budget of 10"),
        ("checkpoints = [5, 10]", "checkpoints = [1, 5, 10]", "domains[0].checkpoints: "),
        ('prolific = ""', 'prolific = "http://evil.example"', "recruitment.prolific: expected"),
        ("link = true", "link = false", "recruitment: nobody could take part"),
        ('mturk = "off"', 'mturk = "on"', "recruitment.mturk: "),
        ("participants = 960", "participants 960", "is not TOML"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, before: str, after: str, said: str) -> None:
    assert before in template()
    file = tmp_path / "mine.toml"
    file.write_text(template().replace(before, after, 1), encoding="utf-8")
    with pytest.raises(FileFormatError) as caught:
        read_design(file)
    assert str(file) in str(caught.value)
    assert said in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="useralign study init"):
        read_design(tmp_path / "none.toml")


def test_a_design_survives_the_database(flow: ParticipantFlow) -> None:
    design = small_design()
    study = flow.studies.add(design)
    assert study.design == design
    assert study.open
    again = flow.studies.add(design)
    assert again == study  # the same key, the same pools
    assert set(study.questions["food64d"]) == {"food-01", "food-02"}
    assert len(study.question("food64d", "food-01").personas) == 3


def test_a_study_under_way_is_not_changed(flow: ParticipantFlow) -> None:
    first = flow.studies.add(small_design())
    replaced = flow.studies.add(small_design(participants=8))
    assert replaced.design.participants == 8  # nobody had come yet
    assert replaced.key != first.key
    Walker(flow, replaced).enter()
    with pytest.raises(ConflictError, match="another slug"):
        flow.studies.add(small_design(participants=24))
    assert flow.studies.get("small").design.participants == 8


def test_unknown_studies(flow: ParticipantFlow) -> None:
    with pytest.raises(NotFoundError, match="known: none yet"):
        flow.studies.get("none")
    assert flow.studies.names() == []
    flow.studies.add(small_design())
    with pytest.raises(NotFoundError, match="known: small"):
        flow.studies.get("none")
