from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from useralign import Pool
from useralign.errors import FileFormatError
from useralign.pooling import imports, read_pool, select
from useralign.pooling.imports import list_items, read_texts

from .conftest import QUESTION, Fingerprints, png

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = ["Cook ramen.", "Bake a pie, slowly.", "Order “sushi”."]


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path: Path) -> Pool:
    return read_pool(path, QUESTION, Fingerprints())


@pytest.mark.parametrize(
    "content",
    [
        "\n".join(TEXTS),
        "\r\n".join(TEXTS) + "\r\n\r\n",
        "\ufeff" + "\n".join(TEXTS),
        "\n\n" + "\n".join(TEXTS),
        "\n\n".join(TEXTS),
        "Cook\nramen.\n\nBake a pie,\nslowly.\n\n\nOrder “sushi”.",
    ],
)
def test_text_files(tmp_path: Path, content: str) -> None:
    pool = read(written(tmp_path, "pool.txt", content))
    assert [c.text for c in pool] == TEXTS
    assert pool.question == QUESTION
    assert {c.source for c in pool} == {"given"}
    assert pool.embedder == "fingerprints-32"


def test_jsonl_of_strings_and_objects(tmp_path: Path) -> None:
    rows = ["Cook ramen.", {"text": "Bake a pie.", "id": 7, "source": "web", "calories": 400}]
    content = "\n".join(map(json.dumps, rows)) + "\n\n"
    pool = read(written(tmp_path, "pool.jsonl", content))
    assert [c.text for c in pool] == ["Cook ramen.", "Bake a pie."]
    assert pool[1].id == "7"
    assert pool[1].source == "web"
    assert pool[1].meta == {"calories": 400}


def test_features_in_a_file_need_no_embedder(tmp_path: Path) -> None:
    rows = [{"text": "a b", "features": [0, 1]}, {"text": "c d", "features": [1, 0.5]}]
    pool = read_pool(written(tmp_path, "p.jsonl", "\n".join(map(json.dumps, rows))))
    np.testing.assert_array_equal(pool.raw_features, [[0, 1], [1, 0.5]])
    assert pool.embedder is None
    assert pool.normalise == "ball"


def test_csv(tmp_path: Path) -> None:
    content = 'id,text,f1,f0,price\nx,"Cook, then eat.",1,2,9\ny,"Bake\na pie.",3,4,\n'
    pool = read_pool(written(tmp_path, "pool.csv", content))
    assert [c.text for c in pool] == ["Cook, then eat.", "Bake\na pie."]
    assert [c.id for c in pool] == ["x", "y"]
    np.testing.assert_array_equal(pool.raw_features, [[2, 1], [4, 3]])
    assert pool[0].meta == {"price": "9"}
    assert pool[1].meta == {}


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_spreadsheet_that_separates_by_something_else(tmp_path: Path, mark: str) -> None:
    content = f'\ufeff"id"{mark}text\r\nx{mark}Soup, bread\r\ny{mark}"Tea; milk\tor not"\r\n'
    pool = read_pool(written(tmp_path, "pool.csv", content), "Which?")
    assert [(c.id, c.text) for c in pool] == [("x", "Soup, bread"), ("y", "Tea; milk\tor not")]
    texts = written(tmp_path, "texts.csv", f"text\nSoup{mark} bread\nTea\n")
    assert read_texts(texts)[0].split()[-1] == "bread"


def test_a_folder_of_texts(tmp_path: Path) -> None:
    for name, text in zip("abc", TEXTS, strict=True):
        written(tmp_path, f"{name}.txt", text + "\n")
    written(tmp_path, ".hidden", "x")
    written(tmp_path, "notes.md", "x")
    pool = read(tmp_path)
    assert [(c.id, c.text) for c in pool] == list(zip("abc", TEXTS, strict=True))
    assert pool.meta["notes"] == ["not read: notes.md"]


def test_a_folder_of_pictures(tmp_path: Path) -> None:
    for shade in (1, 2, 3):
        written(tmp_path, f"p{shade}.PNG", png(shade))
    written(tmp_path, "p2.txt", "a red door")
    pool = read(tmp_path)
    assert [c.id for c in pool] == ["p1", "p2", "p3"]
    assert [c.text for c in pool] == ["", "a red door", ""]
    assert pool[0].image == str(tmp_path / "p1.PNG")
    assert pool.meta["kind"] == "image"


def test_pictures_named_in_a_table(tmp_path: Path) -> None:
    written(tmp_path, "a.png", png(1))
    written(tmp_path, "b.png", png(2))
    pool = read(written(tmp_path, "pool.csv", "image\na.png\nb.png\n"))
    assert [c.image for c in pool] == [str(tmp_path / "a.png"), str(tmp_path / "b.png")]


def test_a_saved_pool(tmp_path: Path) -> None:
    path = Pool("Old?", ["a", "b"], np.eye(2)).save(tmp_path / "pool.json")
    assert read_pool(path).question == "Old?"
    assert read_pool(path, "New?").question == "New?"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(FileFormatError, match=r"pool\.json: is not JSON, or was cut short"):
        read_pool(path)


def test_duplicates_are_reported_and_stay(tmp_path: Path) -> None:
    content = "Cook ramen.\nBake a pie.\ncook RAMEN\n"
    pool = read(written(tmp_path, "pool.txt", content))
    assert len(pool) == 3
    twins = {"first": "c0", "second": "c2", "similarity": 1.0}
    assert pool.meta["near_duplicates"] == [twins]


BAD: list[tuple[str, str | bytes, str]] = [
    ("p.txt", "", "is empty"),
    ("p.txt", "\n \n", "is empty"),
    ("p.txt", b"fine\n\xff\xfe\n", r"p\.txt, line 2: is not UTF-8"),
    ("p.txt", b"a\nb\x00c", "line 2: is not text"),
    ("p.doc", "x", "expected .json, .txt, .jsonl, .csv"),
    ("p.jsonl", '"a"\n{"text": "b', "line 2: is not JSON, or was cut short"),
    ("p.jsonl", '"a"\n[1]', "line 2: expected a text, or an object"),
    ("p.jsonl", '{"id": "x"}', "line 1: expected a text or an image"),
    ("p.jsonl", '{"text": ""}', "line 1: expected a text or an image"),
    ("p.jsonl", '{"text": 3}', "line 1: text must be a text; got 3"),
    ("p.jsonl", '{"text": "a", "meta": 3}', "meta must be an object"),
    ("p.jsonl", '{"text": "a", "id": "x"}\n{"text": "b", "id": "x"}', "line 2: the id 'x'"),
    ("p.jsonl", '{"text": "a", "features": [1]}\n"b"', "line 2: has 0 features"),
    ("p.jsonl", '{"text": "a", "features": [1]}\n{"text": "b", "features": [1, 2]}', "has 2 feat"),
    ("p.jsonl", '{"text": "a", "features": ["x"]}', "finite numbers"),
    ("p.jsonl", '{"text": "a", "features": [NaN]}', "finite numbers"),
    ("p.jsonl", '{"text": "a", "features": []}', "finite numbers"),
    ("p.jsonl", '{"text": "a", "features": 4}', "finite numbers"),
    ("p.jsonl", '{"image": "none.png"}', "there is no image"),
    ("p.jsonl", "[" * 100_000, "is not JSON"),
    ("p.csv", "", "line 1: expected a column named text"),
    ("p.csv", "answer\na\n", "found answer"),
    ("p.csv", "text\n", "is empty"),
    ("p.csv", "text,text\na,b\n", "named twice"),
    ("p.csv", "text,f0\na\n", "line 2: has 1 cells, expected 2"),
    ("p.csv", "id;text\na;b;c\n", "line 2: has 3 cells, expected 2 .* a semicolon not in quotes"),
    ("p.csv", "text,f0,f2\na,1,2\n", "f1 is missing"),
    ("p.csv", "text,f0\na,x\n", "line 2: features must be finite"),
    ("p.csv", 'text\n"cut sho', "is not CSV"),
    ("p.csv", "id,text\nx,\n", "line 2: expected a text"),
]


@pytest.mark.parametrize(("name", "content", "says"), BAD)
def test_bad_files(tmp_path: Path, name: str, content: str | bytes, says: str) -> None:
    with pytest.raises(FileFormatError, match=says):
        read(written(tmp_path, name, content))


def test_bad_folders(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="no such file"):
        read(tmp_path / "nothing")
    with pytest.raises(FileFormatError, match="is empty"):
        read(tmp_path)
    written(tmp_path, "a.png", png(1)[:20])
    with pytest.raises(FileFormatError, match=r"a\.png: damaged"):
        read(tmp_path)
    written(tmp_path, "a.png", png(1))
    written(tmp_path, "b.txt", "astray")
    with pytest.raises(FileFormatError, match=r"b\.txt"):
        read(tmp_path)
    (tmp_path / "a.png").unlink()
    written(tmp_path, "c.txt", " ")
    with pytest.raises(FileFormatError, match=r"c\.txt: is empty"):
        read(tmp_path)


def test_some_pictures_are_not_enough(tmp_path: Path) -> None:
    written(tmp_path, "a.png", png(1))
    with pytest.raises(FileFormatError, match="1 of 2 candidates have an image"):
        read(written(tmp_path, "p.jsonl", '{"image": "a.png"}\n"b"'))


def test_thousands_of_equal_lines_are_named_once_each(tmp_path: Path) -> None:
    pool = read(written(tmp_path, "equal.txt", "The same answer every time.\n" * 3000 + "Other."))
    twins = pool.meta["near_duplicates"]
    assert len(twins) == 2999, "and not each with each: four and a half million"
    assert {twin["first"] for twin in twins} == {"c0"}
    assert pool.meta["notes"] == []


def test_thousands_of_lines_that_are_much_alike_are_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "MOST_TWINS", 500)
    alike = "".join(
        f"Take the long way home by the river and the old mill, {n}.\n" for n in range(2000)
    )
    pool = read(written(tmp_path, "alike.txt", alike))
    assert len(pool) == 2000
    assert len(pool.meta["near_duplicates"]) == 500
    assert pool.meta["notes"] == ["there are more near-duplicates than the 500 that are listed"]


def test_more_than_can_be_compared_are_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "MOST_COMPARED", 2)
    pool = read(written(tmp_path, "many.txt", "\n".join([*TEXTS, TEXTS[0]])))
    assert [twin["second"] for twin in pool.meta["near_duplicates"]] == ["c3"]
    assert "3 different candidates are too many to compare" in pool.meta["notes"][0]


def test_blocks_take_the_same_memory_however_many_there_are() -> None:
    assert select._block(10) == 512
    for count in (10_000, 100_000, 10_000_000):
        assert select._block(count) * count <= max(select._CELLS, count)


HOSTILE = {
    "digits": '{"text": "a", "n": ' + "7" * 5000 + "}",
    "depth": "[" * 100_000,
    "surrogate": '{"text": "half a \\ud83d character"}',
}


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_json_that_could_not_be_written_again(tmp_path: Path, kind: str, suffix: str) -> None:
    path = written(tmp_path, f"hostile{suffix}", HOSTILE[kind])
    with pytest.raises(FileFormatError, match=r"is not JSON, or was cut short"):
        read(path)
    with pytest.raises(FileFormatError, match=r"is not JSON, or was cut short"):
        read_texts(path)


def test_a_whole_character_in_two_halves_is_read(tmp_path: Path) -> None:
    lines = '"a dog \\ud83d\\udc36"\n"a cat"'
    assert read(written(tmp_path, "emoji.jsonl", lines))[0].text == "a dog 🐶"


def test_an_array_is_a_pool_as_lines_are(tmp_path: Path) -> None:
    items = [TEXTS[0], {"text": TEXTS[1], "id": "pie", "features": None}]
    pool = read(written(tmp_path, "list.json", json.dumps(items)))
    assert [c.text for c in pool] == TEXTS[:2]
    assert pool[1].id == "pie"


@pytest.mark.parametrize("heading", ["", "Text\n"])
def test_a_strangers_column_needs_no_heading(tmp_path: Path, heading: str) -> None:
    path = written(tmp_path, "list.csv", f'{heading}Cook ramen.\n\n"Bake a pie, slowly."\n  \n')
    assert read_texts(path) == TEXTS[:2]


def test_a_mark_within_a_line_is_no_new_item() -> None:
    """It began one, and was taken out of the text."""
    text = "- Soup\n  with dill - fresh\n- Rice, then 2. stir\n- Stew"
    items = ["Soup with dill - fresh", "Rice, then 2. stir", "Stew"]
    assert [item for _, item in list_items(text)] == items


@pytest.mark.parametrize(
    ("pasted", "items"),
    [
        (
            "- Rice\n- Fish - grilled\nPea soup\nApple pie",
            ["Rice", "Fish - grilled", "Pea soup", "Apple pie"],
        ),
        (
            "1. **Pizza**\n   - quick\n   - cheap\n2. **Tacos**\n   - fun",
            ["**Pizza** - quick - cheap", "**Tacos** - fun"],
        ),
        ("1. Rice\n2. Fish\n\nLet me know what you like!", ["Rice", "Fish"]),
        (
            "Sure!\nSome ideas:\n\n1. Rice\nBoil it.\n2. Fish\nFry it.\n\nEnjoy!",
            ["Rice Boil it.", "Fish Fry it."],
        ),
        ("2. Bundesliga\nKreisklasse", ["2. Bundesliga", "Kreisklasse"]),
    ],
)
def test_lists_as_people_and_chatbots_write_them(pasted: str, items: list[str]) -> None:
    assert [text for _, text in list_items(pasted)] == items
