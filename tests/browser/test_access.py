"""Everybody can use every page: a program looks it over, and tabs through it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Visit
from tests.browser.places import SIZES, Place
from tests.browser.states import Service, admin, furnished, personal, study

Scheme = Literal["light", "dark"]
HERE = Path(__file__).parent
CHECKER = (HERE / "checker.js").read_text(encoding="utf-8")
TABBING = (HERE / "tabbing.js").read_text(encoding="utf-8")
# What Tab should stop at: everything that can be operated, but one of each group of radios.
CONTROLS = """() => [...document.querySelectorAll(
    "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")]
    .filter((node) => node.checkVisibility() && !node.disabled
        && !(node.type === "radio" && !node.checked)).length"""


@pytest.fixture(scope="module")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, Service]]:
    with furnished(tmp_path_factory.mktemp("rooms")) as found:
        yield found


def states(page: Page, rooms: tuple[Place, Service]) -> Iterator[str]:
    yield from personal(page, *rooms)
    yield from study(page, rooms[0])
    yield from admin(page, rooms[0])


def looked_over(page: Page) -> list[str]:
    """Return what is wrong with a page."""
    found: list[str] = page.evaluate(CHECKER)
    return found


def tabbed_through(page: Page) -> list[str]:
    """Go through a page with Tab; return what is wrong on the way."""
    page.evaluate(  # begin at the very top, wherever the last click was
        """() => { const top = document.documentElement; top.tabIndex = -1; top.focus();
        top.removeAttribute("tabindex"); }"""
    )
    wanted = int(page.evaluate(CONTROLS))
    stops: list[dict[str, Any]] = []
    for _ in range(wanted + 2):
        page.keyboard.press("Tab")
        stop = page.evaluate(TABBING)
        if stop is None or (stops and stop["place"] == stops[0]["place"]):
            break
        stops.append(stop)
    places = [stop["place"] for stop in stops]
    wrong = [
        f"where the keyboard is cannot be seen: {s['what']}" for s in stops if not s["visible"]
    ]
    if places != sorted(places):
        wrong.append(f"Tab jumps about: {places}")
    if len(set(places)) < wanted:
        wrong.append(f"Tab reaches {len(set(places))} of {wanted} controls: {places}")
    return wrong


@pytest.mark.parametrize(
    ("size", "schemes"),
    [
        ("desktop", ("light", "dark")),
        ("phone", ("light",)),  # colours are those of the desktop
        pytest.param("phone", ("dark",), marks=pytest.mark.soak),
    ],
)
def test_every_page(
    rooms: tuple[Place, Service], visit: Visit, size: str, schemes: tuple[Scheme, ...]
) -> None:
    page = visit(SIZES[size], reduced_motion="reduce")
    wrong: dict[str, list[str]] = {}
    for name in states(page, rooms):
        found = []
        for scheme in schemes:
            page.emulate_media(color_scheme=scheme)
            found += [f"{scheme}: {what}" for what in looked_over(page)]
        if size == "desktop":
            found += tabbed_through(page)
        if found:
            wrong[name] = found
    assert wrong == {}


def test_the_checker_finds_what_it_should(rooms: tuple[Place, Service], visit: Visit) -> None:
    page = visit()
    page.goto(rooms[0].at("/you"))
    page.evaluate(
        """() => {
        document.documentElement.lang = "";
        document.querySelector("h2").outerHTML = "<h4>Too deep</h4><h1>A second one</h1>";
        document.querySelector("main").insertAdjacentHTML("beforeend",
            "<img src='/static/icon.svg'><input type=text><button></button>"
            + "<p class=faint>Hard to read</p><p id=main class=long>" + "x".repeat(900) + "</p>");
        document.querySelector(".faint").style.color = "#aaa";
        document.querySelector("main").style.overflow = "visible";
        }"""
    )
    found = "\n".join(looked_over(page))
    for what in (
        "no language",
        "not one h1",
        "h4 after h1",
        "no alternative text",
        "no label",
        "no name",
        "contrast",
        "px too wide",
        "the id main is there twice",
    ):
        assert what in found, f"{what} is not in:\n{found}"
