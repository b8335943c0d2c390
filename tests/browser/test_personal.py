"""The personal page in a browser: from a question to an answer, by any means."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Position

from tests.browser.conftest import Visit
from tests.browser.people import (
    DINNER,
    arrived,
    begin,
    rows,
    session_of,
    texts,
    told,
)
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
    assert page.locator(".runner .body").count() == 2
    assert page.inner_text(".reason").startswith("You chose ")
    page.click("summary:has-text('All answers, in your order')")
    assert page.locator(".ranking li").count() == 20
    page.click("summary:has-text('Where it lies')")
    _check_map(page)
    page.get_by_role("button", name="Copy").click()
    page.wait_for_selector("text=Copied")
    assert str(page.evaluate("navigator.clipboard.readText()")).strip() == answer
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download").click()
    text = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert text.startswith(DINNER)
    assert waiting.value.suggested_filename == "what-should-i-cook-for-dinner-tonight.txt"
    assert answer.split()[0] in text


def _check_map(page: Page) -> None:
    """Names are there on hover and on focus, one at a time."""
    assert page.locator("svg.map circle.best").count() == 1
    shown = page.locator("svg.map .name:visible")
    assert shown.count() == 0
    page.locator("svg.map .spot").first.hover()
    assert shown.count() == 1
    page.mouse.move(0, 0)
    page.click("summary:has-text('Where it lies')")
    page.click("summary:has-text('Where it lies')")
    page.keyboard.press("Tab")
    assert shown.count() == 1
    assert shown.text_content() == page.locator("svg.map .spot").first.get_attribute("aria-label")


def test_the_end_by_clicks(place: Place, visit: Visit) -> None:
    page = visit()
    begin(page, place)
    good_enough(page)
    second = page.inner_text(".runner .body >> nth=0")
    page.click(".runner .button >> nth=0")
    page.wait_for_selector("text=Change my mind")
    assert page.inner_text("[data-final] .body") == second
    page.get_by_role("button", name="Change my mind").click()
    page.wait_for_selector("[data-final] input[name=step][value='3']", state="attached")
    page.get_by_role("button", name="Two more screens").click()
    arrived(page, 4)
    page.keyboard.press("u")
    page.wait_for_selector("[data-compare][data-step='5']")
    good_enough(page)
    page.get_by_role("button", name="Prove it is the best").click()
    arrived(page, 7)
    assert page.locator("[data-card]").count() == 2
    kinds = [kind for kind, _ in told(place, page)]
    assert kinds == ["stop", "final", "undo", "go_on", "undo", "stop", "prove"]


def test_the_answer_itself_is_shared(place: Place, visit: Visit) -> None:
    page = visit(PHONE)
    page.add_init_script("navigator.share = async (what) => { window.shared = what; }")
    begin(page, place)
    good_enough(page)
    page.get_by_role("button", name="Share").tap()
    answer = page.inner_text("[data-final] .body")
    assert page.evaluate("window.shared") == {"title": DINNER, "text": answer}


def test_one_request_a_click_and_the_pictures_are_there(place: Place, visit: Visit) -> None:
    page = visit()
    page.goto(place.at("/"))
    page.click(".examples h3:has-text('Pictures') ~ form li button >> nth=0")
    arrived(page, 0)
    page.wait_for_selector("body.scripted")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.keyboard.press("9")
    arrived(page, 1)
    # The browser fetches the icon of the first page when it has time.
    assert [url for url in sent if "/media/" not in url and "/icon.svg" not in url] == [page.url]
    assert page.locator("[data-card] img").count() == 9
    ready = "images => images.every((image) => image.complete && image.naturalWidth > 0)"
    assert page.locator("[data-card] img").evaluate_all(ready)
    assert rows(place.store, session_of(page))[0].told["request"]["position"] == 8
    good_enough(page)
    page.click("summary:has-text('All answers')")
    tops = page.locator(".ranking li").evaluate_all("all => all.map((one) => one.offsetTop)")
    assert tops[0] == tops[1], "pictures stand side by side"


def test_keys(place: Place, visit: Visit) -> None:
    page = visit()
    begin(page, place, certain=True)
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
    page.click("summary:has-text('What matters to you')")
    page.fill("#own-words", "s n u 1 2 =")  # keys mean letters where one types
    assert page.get_attribute("[data-compare]", "data-step") == "8"


MEAT = re.compile("chicken|beef|duck|pork|sausage|turkey|ham|salmon|shrimp|fish", re.IGNORECASE)


@pytest.mark.parametrize("size", SIZES)
def test_a_vegetarian_meets_no_meat(place: Place, visit: Visit, size: str) -> None:
    """One tap or some words before the first screen; taken back at the end."""
    page = visit(SIZES[size])
    begin(page, place)
    page.fill("#own-words", "vegetarian, no meat and no fish please")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-step='1']")
    assert page.inner_text(".in-force .effect") == "hiding 11 with meat or fish"
    page.click("button.chip:has-text('spicy')")
    page.wait_for_selector("[data-step='2']")
    assert page.inner_text(".in-force li:nth-child(2) .effect") == "spicy first"
    seen = []
    for step in range(2, 40):
        page.wait_for_selector(f"[data-step='{step}'], [data-result]")
        if page.locator("[data-result]").count():
            break
        seen += page.locator("[data-card] .body").all_inner_texts()
        page.click("[data-card='0'] .choose")
    seen.append(page.inner_text("[data-final] .body"))
    assert len(set(seen)) > 3
    assert not [text for text in seen if MEAT.search(text)]
    page.click("button.chip:has-text('vegetarian')")
    page.wait_for_selector("text=Taken back.")
    assert page.locator(".in-force li").count() == 1
    kinds = [kind for kind, _ in told(place, page)]
    assert kinds[:2] == ["wish", "wish"]
    assert kinds[-1] == "withdraw"


def test_wishes_with_the_keyboard_and_a_screen_reader(place: Place, visit: Visit) -> None:
    page = visit()
    begin(page, place)
    page.get_by_role("button", name="vegetarian", pressed=False).focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-step='1']")
    own = page.get_by_role("button", name="vegetarian , take it back", pressed=True)
    assert own.count() == 1
    assert page.get_by_role("listitem").filter(has_text="hiding 11 with meat or fish").count() == 1
    own.focus()
    page.keyboard.press("Space")
    page.wait_for_selector("[data-step='2']")
    assert page.get_by_role("button", pressed=True).count() == 0
    assert page.get_by_role("textbox", name="In your own words").count() == 1


@pytest.mark.parametrize("size", SIZES)
def test_to_the_end(place: Place, visit: Visit, size: str) -> None:
    page = visit(SIZES[size])
    begin(page, place)
    choose = "[data-card='0']"
    for step in range(60):
        page.wait_for_selector(f"[data-step='{step}'], [data-result]")
        if page.locator("[data-result]").count():
            break
        # Taps that follow at once on the same spot are one double tap, and count once.
        spot: Position = {"x": 60 + 100 * (step % 2), "y": 30}
        (page.tap if size == "phone" else page.click)(choose, position=spot)
    assert "Your shortlist" in page.inner_text("main")
    assert step <= 5
    assert told(place, page) == [("choice", 0)] * step
    page.goto(place.at("/you"))
    assert f"{step} answered, finished" in page.inner_text("main")


def test_without_scripts(place: Place, visit: Visit) -> None:
    page = visit(PHONE, java_script_enabled=False)
    begin(page, place)
    for step, button in enumerate(("answer 1", "answer 2", "Equally good", "Skip", "Undo")):
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
    page.click("summary:has-text('Delete everything')")  # it asks first
    page.get_by_role("button", name="Yes, delete everything").click()
    page.wait_for_selector("text=Everything was deleted")
    page.goto(place.at(f"/s/{session}"))
    assert "Nothing here" in page.inner_text("main")
    page.goto(place.at("/you"))
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector("text=It is all back")
    page.goto(place.at(f"/s/{session}"))
    assert texts(page) == shown
