"""The personal page in a browser: from a question to an answer, by any means."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, Position

from tests.browser.conftest import Visit
from tests.browser.people import DINNER, arrived, begin, session_of, texts, told
from tests.browser.places import PHONE, SIZES, Place


def press(page: Page, key: str) -> None:
    """Press a key and wait for the next screen."""
    step = int(page.get_attribute("[data-compare]", "data-step") or "")
    page.keyboard.press(key)
    arrived(page, step + 1)


def good_enough(page: Page) -> None:
    page.get_by_role("button", name="Good enough").click()
    page.wait_for_selector("[data-result]")


def test_clicks(place: Place, visit: Visit) -> None:
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    begin(page, place)
    page.click("[data-card='1'] .choose")
    arrived(page, 1)
    page.click("[data-card='0'] .body")  # the whole card can be clicked
    arrived(page, 2)
    good_enough(page)
    assert told(place, page) == [("choice", 1), ("choice", 0), ("stop", None)]
    _check_result(page)
    page.get_by_role("button", name="Keep comparing").click()
    arrived(page, 4)
    good_enough(page)
    old = page.url
    page.get_by_role("button", name="Start over").click()
    arrived(page, 0)
    assert page.url != old
    assert told(place, page) == []


def _check_result(page: Page) -> None:
    answer = page.inner_text("[data-final] .body").strip()
    assert answer in page.inner_text("main")
    assert page.locator(".why li").count() >= 1
    assert page.locator("svg.map circle.best").count() == 1
    page.get_by_role("button", name="Copy").click()
    page.wait_for_selector("text=Copied")
    assert str(page.evaluate("navigator.clipboard.readText()")).strip() == answer
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download").click()
    text = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert text.startswith(DINNER)
    assert waiting.value.suggested_filename == "what-should-i-cook-for-dinner-tonight.txt"
    assert answer.split()[0] in text


def test_keys(place: Place, visit: Visit) -> None:
    page = visit()
    begin(page, place)
    for key in ("ArrowLeft", "ArrowRight", "1", "2", "u", "S", "=", "n"):
        press(page, key)
    assert told(place, page) == [
        ("choice", 0),
        ("choice", 1),
        ("choice", 0),
        ("choice", 1),
        ("undo", None),
        ("skip", None),
        ("equal", None),
        ("neither", None),
    ]
    page.click("summary:has-text('Tell us more')")
    page.fill("#remark", "s n u 1 2 =")  # keys mean letters where one types
    assert page.get_attribute("[data-compare]", "data-step") == "8"


def test_a_remark(place: Place, visit: Visit) -> None:
    page = visit()
    begin(page, place)
    page.click("summary:has-text('Tell us more')")
    page.fill("#remark", "something quick, with vegetables")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=taken into account")
    assert [kind for kind, _ in told(place, page)] == ["remark"]


@pytest.mark.parametrize("size", SIZES)
def test_to_the_end(place: Place, visit: Visit, size: str) -> None:
    page = visit(SIZES[size])
    begin(page, place)
    choose = "[data-card='0'] .choose"
    for step in range(60):
        page.wait_for_selector(f"[data-step='{step}'], [data-result]")
        if page.locator("[data-result]").count():
            break
        # Taps that follow at once on the same spot are one double tap, and count once.
        spot: Position = {"x": 20 + 100 * (step % 2), "y": 20}
        (page.tap if size == "phone" else page.click)(choose, position=spot)
    assert "No other answer here can suit you better" in page.inner_text("main")
    assert told(place, page) == [("choice", 0)] * step
    page.goto(place.at("/you"))
    assert f"{step} answered, finished" in page.inner_text("main")


def test_without_scripts(place: Place, visit: Visit) -> None:
    page = visit(PHONE, java_script_enabled=False)
    begin(page, place)
    for step, button in enumerate(("answer 1", "answer 2", "About equal", "Skip", "Undo")):
        arrived(page, step)
        page.get_by_role("button", name=button).click()
    arrived(page, 5)
    page.get_by_role("button", name="Good enough").click()
    page.wait_for_selector("[data-result]")
    kinds = [kind for kind, _ in told(place, page)]
    assert kinds == ["choice", "choice", "equal", "skip", "undo", "stop"]
    assert not page.get_by_role("button", name="Copy").is_visible()  # it needs a script
    page.get_by_role("button", name="Start over").click()
    arrived(page, 0)


def test_what_was_left_can_be_gone_on_with_and_deleted(place: Place, visit: Visit) -> None:
    page = visit()
    begin(page, place)
    press(page, "1")
    shown = texts(page)
    session = session_of(page)
    page.goto(place.at("/"))
    page.click(".kept a")
    arrived(page, 1)
    assert (texts(page), session_of(page)) == (shown, session)
    page.goto(place.at("/you"))
    page.get_by_role("button", name="Delete everything").click()
    page.wait_for_selector("text=Everything was deleted")
    page.goto(place.at(f"/s/{session}"))
    assert "Nothing here" in page.inner_text("main")
