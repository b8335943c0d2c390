"""People's own answers: pasted lists, files and pictures."""

from __future__ import annotations

import io
import json
import re
import tempfile

import pytest
from fastapi import FastAPI
from PIL import Image
from sqlalchemy import select

from tests.web.browser import Browser
from useralign.store import Store, digest
from useralign.store.schema import pools, sessions
from useralign.web import Settings, uploads
from useralign.web.app import create_app

DISHES = ["Lentil soup with cumin", "Salmon baked with dill", "Noodles fried with chilli"]
QUESTION = "What shall we eat?"


def stored(store: Store) -> list[dict[str, object]]:
    """Return the pools in the database as they were saved, with their owners."""
    with store.reading() as connection:
        rows = connection.execute(select(pools.c.data, pools.c.owner)).all()
    return [json.loads(row.data) | {"owner": row.owner} for row in rows]


def texts_of(pool: dict[str, object]) -> list[str]:
    candidates = pool["candidates"]
    assert isinstance(candidates, list)
    return [candidate.get("text", "") for candidate in candidates]


def photo(
    colour: str, size: tuple[int, int] = (60, 40), form: str = "PNG", **more: object
) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, colour).save(buffer, form, **more)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "pasted",
    [
        "\n".join(DISHES),
        "\r\n".join(f"- {dish}" for dish in DISHES),
        "Some ideas:\n\n" + "\n".join(f"{k}. {dish}" for k, dish in enumerate(DISHES, 1)),
        "\n\n".join(f"{k}) {dish}" for k, dish in enumerate(DISHES, 1)),
        "\n".join(f"• [ ] {dish}" for dish in DISHES),
        "1. Lentil soup\n   with cumin\n2. Salmon baked with dill\n3. Noodles\n fried with chilli",
        f"1. {DISHES[0]}\n- {DISHES[1]}\n{DISHES[2]}",
        "1. Lentil soup\nwith cumin\n2. Salmon\nbaked with dill\n3. Noodles\nfried with chilli",
        "\n".join(f"{k}. {dish}" for k, dish in enumerate(DISHES, 1)) + "\n\nShall I go on?",
        "; ".join(DISHES),
        "\n".join([*DISHES, DISHES[0].upper() + "!"]),
    ],
)
def test_a_pasted_list_begins_at_once(
    app: FastAPI, browser: Browser, store: Store, pasted: str
) -> None:
    page = browser.bring(question=QUESTION, list=pasted)
    assert page.path.startswith("/s/"), page.text
    assert QUESTION in page.text
    (pool,) = stored(store)
    assert texts_of(pool) == DISHES
    assert pool["owner"] == digest(browser.client.cookies["useralign"])
    assert browser.finish(page).over
    assert QUESTION in browser.get("/you").text
    assert Browser(app).get(page.path).status == 404  # nobody else's


def test_without_a_question_and_without_files(browser: Browser) -> None:
    page = browser.post("/ask", list="\n".join(DISHES))  # as a plain form sends it
    assert uploads.WHICH in page.text


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("list.txt", "\n".join(DISHES)),
        ("list.CSV", "text,kcal\n" + "\n".join(f'"{dish}",{k}' for k, dish in enumerate(DISHES))),
        ("list.csv", "\n".join(DISHES)),
        ("list.jsonl", "\n".join(json.dumps({"text": dish, "meta": {}}) for dish in DISHES)),
        ("list.json", json.dumps(DISHES)),
        ("saved.json", json.dumps({"candidates": [{"text": dish} for dish in DISHES]})),
    ],
)
def test_a_file_with_a_list(browser: Browser, store: Store, name: str, content: str) -> None:
    page = browser.bring((name, content.encode()), question=QUESTION)
    assert page.path.startswith("/s/"), page.text
    assert texts_of(stored(store)[0]) == DISHES


def test_files_join_a_pasted_list(browser: Browser, store: Store) -> None:
    browser.bring(("more.txt", b"A\nB"), ("and.txt", b"C\nD"), list="\n".join(DISHES))
    assert texts_of(stored(store)[0]) == [*DISHES, "A", "B", "C", "D"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("list.txt", b"\xff\xfe\x00broken", "list.txt, line 1: is not UTF-8 text"),
        ("list.txt", b"   \n", "list.txt: is empty"),
        ("list.jsonl", b'{"text": "soup"}\n{"text"', "list.jsonl, line 2: is not JSON"),
        ("list.jsonl", b'{"image": "/etc/hostname"}', "names a picture; expected texts alone"),
        ("list.csv", b"dish,kcal\nsoup,3\n", "expected a column named text"),
        ("list.csv", b"text,image\nsoup,/etc/hostname\n", "names a picture"),
        ("list.json", b"[" * 100_000, "is not JSON"),
        ("list.json", b'{"candidates": 3}', "expected an array of texts"),
        ("list.json", b"[1, 2]", "item 1: expected a text"),
        ("list.txt", b"- a\n" * 250_001, "With list.txt the list has 1,000,"),
        ("tune.mp3", b"ID3", "tune.mp3: is neither a picture"),
        ("../../etc/x.png", b"\x89PNG\r\n\x1a\nbroken", "x.png: is not a picture that can be read"),
    ],
)
def test_what_cannot_be_read_is_named_and_nothing_is_lost(
    browser: Browser, store: Store, name: str, content: bytes, said: str
) -> None:
    picture = name.endswith("png")
    files = [(name, content), *([("good.png", photo("red"))] if picture else [])]
    page = browser.bring(*files, question=QUESTION, list="" if picture else "\n".join(DISHES))
    assert page.status == 422
    shown = re.sub(r"&#\d+;", "'", page.text)
    assert said in shown
    assert tempfile.gettempdir() not in shown
    assert f">{QUESTION}</textarea>" in page.text
    assert picture or DISHES[0] in page.text
    assert stored(store) == []


def test_a_list_in_a_file_comes_back_when_another_file_is_wrong(browser: Browser) -> None:
    page = browser.bring(("a.txt", "\n".join(DISHES).encode()), ("b.mp3", b"ID3"))
    assert page.status == 422
    assert "\n".join(DISHES) in page.text


@pytest.mark.parametrize(
    ("pasted", "said"),
    [
        ("Only one line", "There is only one answer"),
        ("soup\nSoup!", "There is only one answer"),
        ("\n".join(map(str, range(uploads.MOST_TEXTS + 1))), "at most 500"),
        (
            "a\n" * (uploads.MOST_LINES + 1),
            "has 20,001 lines, too much for a list of at most 500",
        ),
        ("x" * 450_000, "The list has 450,000 characters, too much"),
        ("soup\n" + "very " * 1000, "has 4,999 characters"),
    ],
)
def test_limits_of_lists(browser: Browser, store: Store, pasted: str, said: str) -> None:
    page = browser.bring(question=QUESTION, list=pasted)
    assert page.status == 422
    assert said in page.text
    assert pasted.splitlines()[0] in page.text
    assert stored(store) == []


def test_files_count_together(browser: Browser, store: Store) -> None:
    several = [(f"{k}.txt", b"word " * 10_000) for k in range(9)]
    assert "With 8.txt the list has 450,000 characters" in browser.bring(*several).text
    assert (
        "With b.txt the list has 20,002 lines"
        in browser.bring(("a.txt", b"one\rtwo\r"), ("b.txt", b"a\r" * 20_000)).text
    )
    assert stored(store) == []


def test_pictures_are_encoded_anew(app: FastAPI, browser: Browser, store: Store) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # held upright
    exif[0x010E] = "where I live"
    pictures = [
        ("red_sofa.png", photo("red")),
        ("IMG_2041.jpg", photo("green", (600, 400), "JPEG", exif=exif)),
        ("blue.webp", photo("blue", (3000, 2000), "WEBP")),
        ("again.png", photo("red")),
    ]
    page = browser.bring(*pictures, question="Which sofa?")
    assert page.path.startswith("/s/"), page.text
    (pool,) = stored(store)
    assert texts_of(pool) == ["red sofa", "", "blue"]
    shapes = {}
    for candidate in pool["candidates"]:  # type: ignore[attr-defined]
        assert candidate.get("image") is None
        reply = browser.client.get(f"/media/{candidate['meta']['media']}")
        assert reply.headers["content-type"] == "image/webp"
        assert b"where I live" not in reply.content
        stranger = Browser(app).client.get(f"/media/{candidate['meta']['media']}")
        assert stranger.status_code == 404
        shapes[candidate.get("text", "")] = Image.open(io.BytesIO(reply.content)).size
    assert shapes == {"red sofa": (60, 40), "": (400, 600), "blue": (1024, 683)}
    assert browser.finish(page).over


def test_a_transparent_picture_stands_on_white(browser: Browser, store: Store) -> None:
    buffer = io.BytesIO()
    Image.new("RGBA", (40, 40), (255, 0, 0, 0)).save(buffer, "PNG")
    browser.bring(("clear.png", buffer.getvalue()), ("blue.png", photo("blue")))
    candidate = stored(store)[0]["candidates"][0]  # type: ignore[index]
    reply = browser.client.get(f"/media/{candidate['meta']['media']}")
    assert Image.open(io.BytesIO(reply.content)).getpixel((5, 5)) == (255, 255, 255)


@pytest.mark.parametrize(
    ("pictures", "fields", "said"),
    [
        ([("a.png", photo("red"))], {}, "There is only one picture"),
        ([("a.png", photo("red")), ("b.png", photo("red"))], {}, "There is only one picture"),
        ([("a.png", photo("red"))], {"list": "soup\npie"}, "pictures and texts"),
        ([(f"{k}.png", photo("red")) for k in range(61)], {}, "There are 61 pictures; at most 60"),
    ],
)
def test_limits_of_pictures(
    browser: Browser,
    store: Store,
    pictures: list[tuple[str, bytes]],
    fields: dict[str, str],
    said: str,
) -> None:
    page = browser.bring(*pictures, **fields)
    assert page.status == 422
    assert said in page.text
    assert stored(store) == []


def test_files_may_be_larger_than_other_requests(light: Store) -> None:
    app = create_app(light, Settings(largest_body=20_000, largest_upload=60_000))
    browser = Browser(app)
    long = "\n".join(f"{k} {'word ' * 100}" for k in range(60))
    assert browser.bring(("a.txt", long.encode()), question=QUESTION).path.startswith("/s/")
    refused = browser.bring(("a.txt", (long * 2).encode()), question=QUESTION)
    assert refused.status == 413
    assert browser.post("/you/allow", remember=long).status == 413


def test_a_question_without_a_model_is_no_dead_end(browser: Browser, store: Store) -> None:
    page = browser.begin("Where should I go on holiday?")
    assert page.status == 422
    assert "no model here that can write answers" in page.text
    assert "What would be a good active holiday for me this year?</button>" in page.text
    assert "<code>useralign models pull" in page.text
    assert "data-own open" in page.text
    assert ">Where should I go on holiday?</textarea>" in page.text
    near = browser.begin("What would be a good active holiday for me this year?", method="few")
    assert near.path.startswith("/s/")
    assert "What you can do instead" not in browser.get("/").text
    unlike = browser.begin("qwertz")
    assert "whose answers are ready:" not in unlike.text  # nothing is like it


def test_visitors_from_elsewhere_are_not_told_to_type_commands(open_app: FastAPI) -> None:
    browser = Browser(open_app, "http://site.example")
    page = browser.begin("Where should I go on holiday?")
    assert "not made for visitors" in page.text
    assert "models pull" not in page.text
    assert "active holiday" in page.text
    assert browser.bring(list="\n".join(DISHES)).path.startswith("/s/")


def test_few_is_how_people_are_asked(browser: Browser, store: Store) -> None:
    page = browser.bring(list="\n".join(f"{dish} {k}" for dish in DISHES for k in range(5)))
    assert len(page.bodies) == 4
    with store.reading() as connection:
        settings = connection.execute(select(sessions.c.settings)).scalar_one()
    assert (settings["method"], settings["budget"], settings["shown"]) == ("frugal", 5, 4)
    assert settings["options"]["top"] == 2  # of 15 candidates: the same share as three of twenty
    assert settings["page"]["preset"] == "few"


def test_nine_pictures_at_once_and_six_on_a_phone(browser: Browser, store: Store) -> None:
    pictures = [(f"{k}.png", photo(f"rgb({k * 20}, {255 - k * 20}, 90)")) for k in range(12)]
    shown = []
    for agent in ("a desk", "Mozilla (iPhone) Mobile"):
        browser.client.headers["user-agent"] = agent
        page = browser.bring(*pictures, question=f"On {agent}?")
        shown.append(page.text.count("data-card="))
    assert shown == [9, 6]
