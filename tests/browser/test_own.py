"""People's own answers in a real browser: pasted, chosen and dropped."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page

from tests.browser.conftest import Visit
from tests.browser.people import arrived, session_of
from tests.browser.places import DESKTOP, PHONE, SIZES, Place

DISHES = [f"{dish} with {side}" for dish in ("Soup", "Pie", "Rice") for side in ("peas", "ham")]
DROP = """([files]) => {
  const all = new DataTransfer();
  for (const [name, type, content] of files) {
    const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
    all.items.add(new File([bytes], name, { type }));
  }
  for (const kind of ["dragenter", "dragover", "drop"])
    document.querySelector("h1").dispatchEvent(
      new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: all }));
}"""


def photo(colour: str, size: tuple[int, int] = (90, 60)) -> bytes:
    buffer = io.BytesIO()
    noise = Image.effect_noise(size, 80).convert("RGB")
    Image.blend(Image.new("RGB", size, colour), noise, 0.5).save(buffer, "PNG")
    return buffer.getvalue()


def drop(page: Page, *files: tuple[str, str, bytes]) -> None:
    """Drop files on the page, as a hand does."""
    data = [(name, kind, base64.b64encode(content).decode()) for name, kind, content in files]
    page.evaluate(DROP, [data])


def pool_of(place: Place, page: Page) -> list[dict[str, object]]:
    """Return the candidates that are compared on a page."""
    from sqlalchemy import select

    from useralign.store.schema import pools, sessions

    joined = select(pools.c.data).join(sessions, sessions.c.pool_id == pools.c.id)
    with place.store.reading() as connection:
        data = connection.execute(joined.where(sessions.c.id == session_of(page))).scalar_one()
    candidates: list[dict[str, object]] = json.loads(data)["candidates"]
    return candidates


@pytest.mark.parametrize("size", SIZES)
def test_a_pasted_list(place: Place, visit: Visit, size: str) -> None:
    page = visit(SIZES[size])
    page.goto(place.at("/"))
    page.click("summary:has-text('paste your own list')")
    page.fill("#list", "\n".join(f"{k}. {dish}" for k, dish in enumerate(DISHES, 1)))
    page.get_by_role("button", name="Find my answer").click()
    arrived(page, 0)
    assert [candidate["text"] for candidate in pool_of(place, page)] == DISHES
    assert page.locator("[data-card]").count() == 4
    clicks = 0
    while not page.locator("[data-result]").count():
        arrived(page, clicks)
        page.keyboard.press("1")
        clicks += 1
        page.wait_for_selector(f'[data-compare][data-step="{clicks}"], [data-result]')
    assert clicks <= 5


@pytest.mark.parametrize("scripts", [True, False])
def test_chosen_pictures(place: Place, visit: Visit, tmp_path: Path, scripts: bool) -> None:
    page = visit(PHONE, java_script_enabled=scripts)
    page.goto(place.at("/"))
    page.click("summary:has-text('paste your own list')")
    names = ["red sofa.png", "green sofa.png", "blue sofa.png"]
    for name in names:
        (tmp_path / name).write_bytes(photo(name.split()[0]))
    page.set_input_files("#files", [tmp_path / name for name in names])
    page.fill("#question", "Which sofa?")
    page.get_by_role("button", name="Find my answer").click()
    arrived(page, 0)
    assert [candidate["text"] for candidate in pool_of(place, page)] == [
        "red sofa",
        "green sofa",
        "blue sofa",
    ]
    assert "Which sofa?" in page.inner_text("main")


def test_dropped_pictures_are_made_smaller_before_they_are_sent(place: Place, visit: Visit) -> None:
    page = visit(DESKTOP)
    page.goto(place.at("/"))
    sent: list[int] = []
    page.on(
        "request",
        lambda request: (
            sent.append(len(request.post_data_buffer or b"")) if request.method == "POST" else None
        ),
    )
    large = photo("red", (1800, 1200))
    assert len(large) > 2_000_000
    drop(page, ("one.png", "image/png", large))
    drop(page, ("two.png", "image/png", photo("blue")))
    assert page.evaluate("document.querySelector('#files').files.length") == 2
    page.get_by_role("button", name="Find my answer").click()
    arrived(page, 0)
    assert sum(sent) < len(large) / 2
    page.wait_for_load_state("networkidle")
    wide = page.evaluate(
        "Math.max(...[...document.querySelectorAll('img')].map((one) => one.naturalWidth))"
    )
    assert wide == 1024


def test_a_dropped_list(place: Place, visit: Visit) -> None:
    page = visit(DESKTOP)
    page.goto(place.at("/"))
    drop(page, ("dishes.txt", "text/plain", "\n".join(DISHES).encode()))
    page.get_by_role("button", name="Find my answer").click()
    arrived(page, 0)
    assert len(pool_of(place, page)) == len(DISHES)


def test_what_is_wrong_with_a_file_is_said_and_nothing_is_lost(place: Place, visit: Visit) -> None:
    page = visit(DESKTOP)
    page.goto(place.at("/"))
    page.fill("#question", "Which one?")
    drop(page, ("dishes.csv", "text/csv", b"dish,kcal\nsoup,3\n"))
    page.get_by_role("button", name="Find my answer").click()
    page.wait_for_selector("[data-trouble]:not([hidden])")
    assert "dishes.csv, line 1: expected a column named text" in page.inner_text("[data-trouble]")
    assert page.input_value("#question") == "Which one?"
    assert page.evaluate("document.querySelector('#files').files[0].name") == "dishes.csv"
    assert page.url == place.at("/")


@pytest.mark.parametrize("size", SIZES)
def test_a_question_without_a_model(place: Place, visit: Visit, size: str) -> None:
    page = visit(SIZES[size])
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=place.address)
    page.goto(place.at("/"))
    page.fill("#question", "Where should I go on holiday?")
    page.get_by_role("button", name="Find my answer").click()
    page.wait_for_selector("text=What you can do instead")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Copy").first.click()
    page.wait_for_selector("text=Copied")
    assert page.evaluate("navigator.clipboard.readText()").startswith("useralign models pull")
    page.get_by_role("button", name="active holiday").first.click()
    arrived(page, 0)


def test_enter_asks_and_shift_enter_begins_a_line(place: Place, visit: Visit) -> None:
    page = visit(DESKTOP)
    page.goto(place.at("/"))
    page.press("#question", "Enter")  # nothing to ask yet
    page.fill("#question", "What should I cook")
    page.press("#question", "Shift+Enter")
    page.type("#question", "for dinner tonight?")
    assert page.input_value("#question") == "What should I cook\nfor dinner tonight?"
    page.press("#question", "Enter")
    arrived(page, 0)
