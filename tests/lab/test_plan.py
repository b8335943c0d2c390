from __future__ import annotations

from pathlib import Path

import pytest

from useralign import FileFormatError, OptionError, domains
from useralign.errors import ModelUnavailableError
from useralign.lab.plan import parse_plan, read_plan, shipped_plans

from .plans import SMALL


def test_cells_are_the_product_in_a_fixed_order() -> None:
    plan = parse_plan(SMALL)
    keys = [cell.key for cell in plan.cells()]
    assert len(keys) == len(set(keys)) == 2 * 2 * 2 * 7
    assert keys == [cell.key for cell in parse_plan(SMALL).cells()]
    name = domains.load("food2d").questions[0].personas[0].name
    assert keys[0] == f"food2d/mixed/food-01/{name}/useralign/epsilon/0"
    assert plan.embedders() == {"food2d": "axes"}


def test_methods_share_the_seed_of_a_session() -> None:
    seeds: dict[str, set[int]] = {}
    for cell in parse_plan(SMALL).cells():
        place = f"{cell.question} {cell.user} {cell.seed}"
        seeds.setdefault(place, set()).add(cell.session_seed)
    assert all(len(values) == 1 for values in seeds.values())
    assert len({min(values) for values in seeds.values()}) == len(seeds)


@pytest.mark.parametrize("name", ["main", "unbiased", "figure3", "food2d-personas", "smoke"])
def test_shipped_plans_are_good(name: str) -> None:
    plan = read_plan(name)
    assert plan.name == name
    assert name in shipped_plans()
    methods = {cell.method for cell in plan.cells()}
    assert methods >= {"useralign", "useralign_loss", "iidbest", "random", "oracle"}


def test_users_who_slip_have_names_of_their_own() -> None:
    more = SMALL + '\n[[users]]\nkind = "persona"\ncount = 1\nslips = 0.05\n'
    plan = parse_plan(more)
    cells = [cell for cell in plan.cells() if cell.user_kind == "persona+0.05"]
    name = domains.load("food2d").questions[0].personas[0].name
    assert cells[0].user == f"{name}+0.05"
    assert parse_plan(plan.replace(seeds=1).text).cells()[0].key in {c.key for c in plan.cells()}
    with pytest.raises(FileFormatError, match="slips"):
        parse_plan(more.replace("0.05", "0.6"))


@pytest.mark.parametrize("name", ["beside", "slips"])
def test_plans_beside_the_main_one_have_its_questions(name: str) -> None:
    main, other = ({(c.domain, c.question) for c in read_plan(n).cells()} for n in ("main", name))
    assert main == other


def test_main_has_the_papers_size() -> None:
    plan = read_plan("main")
    cells = [c for c in plan.cells() if c.domain == "food64d" and c.method == "random"]
    assert len(cells) == 10 * 3 * 5
    assert {c.cap for c in plan.cells()} == {199}


def test_an_optional_domain_may_be_missing() -> None:
    more = SMALL.replace("[[users]]", '[[domains]]\nname = "moon"\noptional = true\n\n[[users]]', 1)
    plan = parse_plan(more)
    assert [domain.name for domain, _ in plan.usable()] == ["food2d"]
    assert len(plan.cells()) == len(parse_plan(SMALL).cells())
    alone = SMALL.replace(
        'name = "food2d"\nquestions = ["food-01", "food-02"]', 'name = "moon"\noptional = true'
    )
    with pytest.raises(FileFormatError, match="all are optional, and none of them can be run here"):
        parse_plan(alone)


def test_a_domain_without_its_embedder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from useralign.domains import questions
    from useralign.lab.runner import run_plan
    from useralign.models import FunctionEmbedder

    toy = FunctionEmbedder(lambda texts: [[1.0] for _ in texts], "toy")
    monkeypatch.setattr(toy, "trouble", lambda: "pip install toys")
    monkeypatch.setattr(questions, "embedder_for", lambda *_: toy)
    more = SMALL.replace("[[users]]", '[[domains]]\nname = "food64d"\n#\n\n[[users]]', 1)
    needed, optional = parse_plan(more), parse_plan(more.replace("#", "optional = true"))
    assert needed.troubles() == optional.troubles() == {"food64d": "pip install toys"}
    assert {cell.domain for cell in optional.cells()} == {"food2d"}
    with pytest.raises(ModelUnavailableError, match=r"food64d cannot be made here: pip install"):
        run_plan(needed, tmp_path)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    from useralign.lab.runner import run_plan

    path = tmp_path / "file"
    path.touch()
    with pytest.raises(OptionError, match="is a file; give a folder"):
        run_plan(parse_plan(SMALL), path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "small"', "name = ", r"bad\.toml: is not TOML"),
        ('name = "small"', "", r"bad\.toml: name: is missing"),
        ("seeds = 2", 'seeds = "two"', r"bad\.toml: seeds: input should be a valid integer"),
        ("seeds = 2", "seeds = 0", r"seeds: input should be greater than or equal to 1"),
        ("seeds = 2", "seeds = [1, 1]", r"seeds: 1 is there twice"),
        ("limit = 30", "limits = 30", r"limits: is not a key"),
        ('"food2d"', '"food3d"', r"domains\[0\]: unknown domain 'food3d'"),
        ('"food-02"', '"food-99"', r"domains\[0\]: food2d has no question 'food-99'"),
        ('kind = "btl"', 'kind = "recorded"', r"users\[1\]: RecordedPerson cannot be used"),
        ('kind = "btl"', 'kind = "ghost"', r"users\[1\]: unknown user 'ghost'"),
        ('kind = "btl"', 'kind = "persona"', r"users: .*'persona' is there twice"),
        ("count = 1", "count = 7", r"users\[0\]: food-01 has 3 personas, not 7"),
        ('name = "random"', 'name = "dice"', r"methods\[3\]: unknown method 'dice'"),
        ("reask = true", "reasks = true", r"methods\[0\]: .*takes no option 'reasks'"),
        ('"epsilon", "budget"', '"forever"', r"methods\[0\]\.modes\[0\]: input should be"),
        (
            'name = "iidbest"\nmodes = ["budget"]',
            'name = "iidbest"\nmodes = ["epsilon"]',
            r"methods\[2\]: iidbest certifies nothing",
        ),
    ],
)
def test_bad_plans_name_file_and_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "bad.toml"
    assert old in SMALL
    path.write_text(SMALL.replace(old, new, 1))
    with pytest.raises(FileFormatError, match=message):
        read_plan(path)


def test_a_plan_is_changed_as_data() -> None:
    plan = parse_plan(SMALL)
    changed = plan.replace(seeds=3, users=[{"kind": "btl", "count": 2}])
    assert plan.seeds == 2
    assert plan.text == SMALL
    assert {cell.seed for cell in changed.cells()} == {0, 1, 2}
    assert {cell.user for cell in changed.cells()} == {"btl-1", "btl-2"}
    again = parse_plan(changed.text)
    assert again.model_dump() == changed.model_dump()
    assert again.cells() == changed.cells()
    with pytest.raises(OptionError, match=r"domains\[0\]: unknown domain 'moon'"):
        plan.replace(domains=[{"name": "moon"}])


def test_no_such_plan(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"cannot be read as a plan .*large-pools, main, "):
        read_plan(tmp_path / "none.toml")
