"""Pictures in a study: all in one window, enlarged by a key, and the page stays where it was."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import Visit
from tests.browser.people import at_comparison, enter
from tests.browser.places import PHONE, Place
from tests.study.conftest import small_design
from useralign.study import Studies

SCREENS: dict[str, dict[str, Any]] = {
    "laptop": {"viewport": {"width": 1366, "height": 768}},
    "phone": PHONE,
}
VISIBLE = """() => [...document.querySelectorAll("[data-card] img, [data-card] .choose")].map(
    (one) => one.getBoundingClientRect()).every((box) => box.top >= 0 && box.left >= 0
    && box.bottom <= innerHeight && box.right <= innerWidth && box.height > 40 && box.width > 90)"""

# Nothing lies on a picture, and the cards reach down to the edge of the window.
FILLED = """() => [...document.querySelectorAll("[data-card]")].every((card) => {
    const box = (query) => card.querySelector(query).getBoundingClientRect();
    const [image, ...others] = [box("img"), box(".zoom"), box(".choose")];
    return others.every((one) => one.right <= image.left || one.left >= image.right
        || one.bottom <= image.top || one.top >= image.bottom); })
    && innerHeight - document.querySelector(".cards").getBoundingClientRect().bottom < 40"""


@pytest.fixture(scope="module")
def pictured(place: Place) -> Place:
    """The server with a study of pictures, whose participants play a persona."""
    domain = {"name": "visual512d", "questions": ["visual-01"], "budget": 4, "checkpoints": [2, 4]}
    design = small_design(slug="pictured", conditions=["with-persona"], domains=[domain])
    Studies(place.store).add(design)
    return place


@pytest.mark.parametrize("size", SCREENS)
def test_all_pictures_and_buttons_are_in_the_window(
    pictured: Place, visit: Visit, size: str
) -> None:
    page = visit(SCREENS[size])
    enter(page, pictured, "pictured")
    page.wait_for_function("[...document.images].every((one) => one.complete)")
    assert page.evaluate(VISIBLE)
    assert page.evaluate(FILLED)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.evaluate("window.scrollTo(0, 60)")
    before = page.evaluate("scrollY")
    page.keyboard.press("1")
    at_comparison(page, "comparisons", 2)
    assert page.evaluate("scrollY") == before


def test_a_picture_is_enlarged_by_keys_alone(pictured: Place, visit: Visit) -> None:
    page = visit(SCREENS["laptop"])
    enter(page, pictured, "pictured")
    page.focus("[data-card='1'] [data-zoom]")
    page.keyboard.press("Enter")
    large = page.locator("dialog[open] img")
    large.wait_for()
    box, small = large.bounding_box(), page.locator("[data-card='1'] img").bounding_box()
    assert box is not None
    assert small is not None
    assert box["height"] > 1.2 * small["height"]
    page.keyboard.press("1")  # answers nothing while the picture is open
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    at_comparison(page, "comparisons", 1)
    assert page.evaluate("document.activeElement.matches(\"[data-card='1'] [data-zoom]\")")
