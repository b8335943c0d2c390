"""A study in a browser: the whole way, on every screen, by keys alone, in a frame."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route

from tests.browser.conftest import Visit
from tests.browser.people import CODE, at_comparison, enter, participant, participants_of
from tests.browser.places import DESKTOP, SIZES, Place

MTURK = "https://workersandbox.mturk.com"
# What would tell a participant, or a clever page, how their options came about.
MARKERS = re.compile(
    r"useralign_|iidbest|baseline|attention|checkpoint|incumbent|challenger|unbiased|interest"
    r"|matchup|earlier|later|\bside\b|\bcell\b|food-0|\bu\d\d\b",
    re.IGNORECASE,
)


def blind(page: Page, asked: list[str]) -> None:
    """Check that nothing but the texts of the options differs, and no code is there early."""
    shown = page.evaluate(
        """() => { const copy = document.documentElement.cloneNode(true);
        for (const text of copy.querySelectorAll(".body, .query, .persona, .panel")) text.remove();
        return copy.outerHTML }"""
    )
    assert not MARKERS.search(shown), MARKERS.search(shown)
    assert not [address for address in asked if MARKERS.search(address)]


@pytest.mark.parametrize("slug", ["played", "own"])
@pytest.mark.parametrize("size", SIZES)
def test_the_whole_way(place: Place, visit: Visit, size: str, slug: str) -> None:
    page = visit(SIZES[size])
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(place.at(f"/study/{slug}"))
    choose = page.tap if size == "phone" else page.click
    choose("text=I have read this")
    choose("button:text-is('Begin')")
    page.wait_for_selector("text=Go on to the comparisons")
    token = page.url.rpartition("/")[2]
    assert page.locator(".persona").count() == (slug == "played")
    choose("text=Go on to the comparisons")
    for number in range(8):
        at_comparison(page, "comparisons" if number < 4 else "evaluation", number % 4 + 1)
        assert page.locator(".persona").count() == (slug == "played")
        assert participant(place.store, token).code is None
        assert CODE not in page.content()
        blind(page, asked)
        # Taps that follow at once on the same spot are one double tap, and count once.
        choose(f"[data-card='{number % 2}'] .choose", position={"x": 20 + 30 * number, "y": 20})
    page.wait_for_selector(f"text={CODE}")
    found = participant(place.store, token)
    assert (found.stage, found.compared, found.evaluated) == ("done", 4, 4)
    assert found.code is not None
    assert page.inner_text(".code") == found.code
    assert len(found.code) >= 22


def test_by_keys_alone(place: Place, visit: Visit) -> None:
    page = visit(DESKTOP)
    page.goto(place.at("/study/played"))
    _tab_to(page, "input[name=agree]")
    page.keyboard.press("Space")
    _tab_to(page, "button")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Go on to")
    _tab_to(page, "button")
    page.keyboard.press("Enter")
    for number, keys in enumerate(("1", "2", "ArrowLeft", "ArrowRight", "Tab", "1", "2", "1")):
        at_comparison(page, "comparisons" if number < 4 else "evaluation", number % 4 + 1)
        if keys == "Tab":  # with the buttons themselves, too
            _tab_to(page, "button[value='1']")
            keys = "Enter"
        page.keyboard.press(keys)
    page.wait_for_selector(f"text={CODE}")


def _tab_to(page: Page, query: str) -> None:
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("query => document.activeElement.matches(query)", query):
            return
    raise AssertionError(f"Tab does not reach {query}")


def framed(page: Page, place: Place, assignment: str) -> list[str]:
    """Show the task as Mechanical Turk does; return what is handed in to it."""
    handed: list[str] = []
    query = f"assignmentId={assignment}&hitId=H1&workerId=W1&turkSubmitTo={MTURK}"
    source = place.at(f"/study/crowd?{query}").replace("&", "&amp;")

    def serve(route: Route) -> None:
        if "externalSubmit" in route.request.url:
            handed.append(route.request.post_data or "")
        body = f'<title>HIT</title><iframe src="{source}" width="1000" height="700"></iframe>'
        route.fulfill(content_type="text/html", body=body)

    page.route(f"{MTURK}/**", serve)
    page.goto(f"{MTURK}/projects/1/tasks/1")
    return handed


def test_a_preview_in_a_frame_takes_no_place(place: Place, visit: Visit) -> None:
    page = visit(elsewhere=("workersandbox.mturk.com",))
    before = participants_of(place.store, "crowd")
    framed(page, place, "ASSIGNMENT_ID_NOT_AVAILABLE")
    task = page.frame_locator("iframe")
    task.get_by_text("This is a preview").wait_for()
    assert task.get_by_role("button").count() == 0
    assert participants_of(place.store, "crowd") == before


def test_a_task_in_a_frame(place: Place, visit: Visit) -> None:
    page = visit(elsewhere=("workersandbox.mturk.com",))
    handed = framed(page, place, "A1")
    task = page.frame_locator("iframe")
    task.get_by_label("I have read this").check()
    task.get_by_role("button", name="Begin").click()
    task.get_by_role("button", name="Go on").click()
    for number in range(8):
        task.get_by_text(f"Comparison {number % 4 + 1} of 4").wait_for()
        title = "training" if number < 4 else "evaluation"
        task.get_by_role("heading", name=title).wait_for()
        task.get_by_role("button", name="option 1").click()
    # Nothing is pressed: the task is submitted by itself.
    task.get_by_role("button", name="Submit the task now").wait_for()
    with page.expect_request(lambda request: "externalSubmit" in request.url):
        pass
    page.wait_for_timeout(200)
    assert handed == ["assignmentId=A1&outcome=completed"]


def test_back_to_prolific_by_itself(place: Place, visit: Visit) -> None:
    page = visit(elsewhere=("app.prolific.com",))
    page.route("https://app.prolific.com/**", lambda route: route.fulfill(body="Prolific"))
    enter(page, place, "crowd", "?PROLIFIC_PID=p1&STUDY_ID=s1&SESSION_ID=x1")
    for number in range(8):
        at_comparison(page, "comparisons" if number < 4 else "evaluation", number % 4 + 1)
        page.keyboard.press("1")
    page.wait_for_url("https://app.prolific.com/submissions/complete?cc=C0DE")
