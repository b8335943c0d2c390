"""Every page in every state that it can be in, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from playwright.sync_api import Page

from tests.browser.people import CODE, DINNER, arrived, at_comparison, begin, enter
from tests.browser.places import SECRET, Place, prepared
from tests.models.scripted_service import Reply, ScriptedService, chat
from tests.study.conftest import Walker, small_design
from useralign.study import ParticipantFlow, Studies, read_design

EXAMPLE = Path(__file__).parents[2] / "examples" / "studies" / "texts" / "study.toml"
QUESTION = "Which bicycle should I buy?"
_KINDS = (
    "a steel touring bicycle with racks at both ends; it is heavy and it lasts for decades",
    "a light carbon racing machine for fast hours on a smooth road, and nothing else",
    "a folding bicycle that goes under the flow and onto the train without a ticket",
    "a cargo bicycle that carries two children, the shopping, and a dog in the rain",
    "an electric city bicycle with a belt instead of a chain, so that trousers stay clean",
    "a gravel bicycle, which does everything well enough and asks for no garage",
)


@dataclass(frozen=True)
class Service:
    """A model that writes a few answers and then takes its time, or refuses."""

    server: ScriptedService

    def writes(self) -> None:
        quick = [Reply(chat(f"Take {kind}.")) for kind in _KINDS]
        self.server.will(*quick, Reply(chat("Walk."), delay=4.0))

    def refuses(self) -> None:
        self.server.will(Reply({"error": {"message": "This key is not valid."}}, 401))


@contextmanager
def furnished(folder: Path, **more: str) -> Iterator[tuple[Place, Service]]:
    """Serve a place with a model at hand, and studies in which some have taken part.

    `more` are variables of the server's environment.
    """
    server = ScriptedService()
    thread = Thread(target=server.serve_forever)
    thread.start()
    environment = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none", **more}
    try:
        with prepared(f"sqlite:///{folder / 'place.db'}", folder, **environment) as place:
            _people(place)
            yield place, Service(server)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _people(place: Place) -> None:
    flow = ParticipantFlow(place.store)
    walker = Walker(flow, flow.studies.add(small_design(slug="paper", participants=16)))
    for k in range(9):
        walker.finish(walker.enter(), lambda view, k=k: (view.step + k) % 2)  # type: ignore[misc]
    walker.answer(walker.enter())
    Studies(place.store).add(small_design(slug="full", participants=1))
    Studies(place.store).add(read_design(EXAMPLE))
    full = Walker(flow, flow.studies.get("full"))
    while (entered := _try_to_enter(full)) is not None:
        full.finish(entered)


def _try_to_enter(walker: Walker) -> str | None:
    from useralign.store import token
    from useralign.study.recruitment import Arrival

    entered = walker.flow.enter(walker.study, Arrival("link"), token())
    return None if entered is None else entered[0]


def personal(page: Page, place: Place, service: Service) -> Iterator[str]:
    """Walk through the pages of a person; at each yield the page is in the state of that name."""
    page.goto(place.at("/"))
    yield "start"
    page.click("summary:has-text('Options')")
    page.click(".examples summary >> nth=0")
    yield "start-options"
    page.goto(place.at("/"))
    page.fill("#question", "   ")
    page.get_by_role("button", name="Find my answer").click()
    page.wait_for_selector("[role=alert]")
    yield "start-trouble"
    yield from _making(page, place, service)
    yield from _comparing(page, place)
    page.goto(place.at("/"))
    yield "start-again"
    page.goto(place.at("/you"))
    yield "you"
    page.check("[name=remember]")
    page.get_by_role("button", name="Keep this choice").click()
    page.wait_for_selector("text=Your choice is kept")
    yield "you-remembered"
    begin(page, place)
    yield "compare-remembered"
    page.goto(place.at("/docs"))
    yield "docs"
    page.goto(place.at("/s/nothing"))
    yield "problem"


def _making(page: Page, place: Place, service: Service) -> Iterator[str]:
    service.writes()
    _ask(page, place, QUESTION)
    page.wait_for_selector(".arriving li >> nth=2")
    yield "making"
    service.refuses()
    _ask(page, place, "Which tent should I buy?")
    page.wait_for_selector("text=This did not work out")
    yield "making-failed"


def _ask(page: Page, place: Place, question: str) -> None:
    page.goto(place.at("/"))
    page.fill("#question", question)
    page.get_by_role("button", name="Find my answer").click()


def _comparing(page: Page, place: Place) -> Iterator[str]:
    begin(page, place)
    yield "compare"
    page.click("button.chip:has-text('spicy')")
    arrived(page, 1)
    yield "compare-wish"
    page.keyboard.press("2")
    arrived(page, 2)
    yield "compare-later"
    page.keyboard.press("u")
    page.wait_for_selector("text=Taken back")
    yield "compare-undone"
    page.get_by_role("button", name="Good enough").click()
    page.wait_for_selector("[data-result]")
    yield "result"
    page.get_by_role("button", name="This one").first.click()
    page.wait_for_selector("text=Change my mind")
    yield "result-chosen"
    for shown in ("2", "3"):
        page.goto(place.at("/"))
        page.fill("#question", DINNER)
        page.click("summary:has-text('Options')")
        page.select_option("#shown", label=shown)
        page.get_by_role("button", name="Find my answer").click()
        arrived(page, 0)
        yield f"compare-{shown}"
    yield from _ranking(page, place)


def _ranking(page: Page, place: Place) -> Iterator[str]:
    page.goto(place.at("/"))
    page.fill("#question", DINNER)
    page.click("summary:has-text('Options')")
    page.select_option("#shown", label="3")
    page.select_option("#rank", "true")
    page.get_by_role("button", name="Find my answer").click()
    arrived(page, 0)
    page.click("[data-card='1'] .body")
    yield "compare-ranking"


def pictures(page: Page, place: Place) -> Iterator[str]:
    """Walk through a question whose answers are pictures."""
    page.goto(place.at("/"))
    page.click(".examples h3:has-text('Pictures') ~ form li button >> nth=0")
    page.wait_for_selector("[data-compare]", timeout=180_000)
    page.wait_for_load_state("networkidle")
    yield "pictures-compare"
    page.keyboard.press("1")
    arrived(page, 1)
    page.get_by_role("button", name="Good enough").click()
    page.wait_for_selector("[data-result]")
    page.wait_for_load_state("networkidle")
    yield "pictures-result"


def study(page: Page, place: Place) -> Iterator[str]:
    """Walk through a study, in both of its conditions."""
    page.goto(place.at("/study/played"))
    yield "study-landing"
    page.goto(place.at("/study/crowd?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE"))
    yield "study-preview"
    for slug in ("played", "own"):
        page.goto(place.at(f"/study/{slug}"))
        page.check("input[name=agree]")
        page.get_by_role("button", name="Begin").click()
        page.wait_for_selector("text=Go on to")
        yield f"study-{slug}-query"
        page.get_by_role("button", name="Go on").click()
        at_comparison(page, "comparisons", 1)
        yield f"study-{slug}-compare"
        page.context.clear_cookies()
    enter(page, place)
    for number in range(8):
        at_comparison(page, "comparisons" if number < 4 else "evaluation", number % 4 + 1)
        if number == 5:
            yield "study-evaluate"
        page.keyboard.press("1")
    page.wait_for_selector(f"text={CODE}")
    yield "study-done"
    page.goto(place.at("/study/played"))
    yield "study-known"
    page.context.clear_cookies()
    page.goto(place.at("/study/full"))
    page.check("input[name=agree]")
    page.get_by_role("button", name="Begin").click()
    page.wait_for_selector("text=Nothing was recorded")
    yield "study-full"
    yield from _pages(page, place)
    page.goto(place.at("/study/played/nobody"))
    yield "study-problem"


def _pages(page: Page, place: Place) -> Iterator[str]:
    """Walk through the pages of a study of its own, and stop on the way."""
    page.goto(place.at("/study/weekend"))
    page.check("input[name=agree]")
    page.get_by_role("button", name="Begin").click()
    page.fill("input[name=age]", "30")
    page.check("input[name=works] >> nth=0")
    yield "study-page"
    page.get_by_role("button", name="Go on").click()
    page.wait_for_selector("text=What you will do")
    page.get_by_role("button", name="Go on").click()
    page.check("input[name=aim] >> nth=1")
    page.get_by_role("button", name="Go on").click()
    page.wait_for_selector("text=That is not right")
    yield "study-page-wrong"
    page.check("input[name=aim] >> nth=0")
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("button", name="Go on to").click()
    at_comparison(page, "comparisons", 1)
    page.get_by_role("link", name="Stop taking part").click()
    page.wait_for_selector("text=Do you want to stop?")
    yield "study-leave"
    page.get_by_role("button", name="delete my answers").click()
    page.wait_for_selector("text=You have withdrawn")
    yield "study-withdrawn"


def admin(page: Page, place: Place) -> Iterator[str]:
    """Walk through the administration of studies."""
    page.goto(place.at("/admin"))
    yield "admin-login"
    page.fill("#secret", "something else")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector("[role=alert]")
    yield "admin-wrong"
    page.fill("#secret", SECRET)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector("text=Log out")
    page.goto(place.at("/admin"))
    yield "admin"
    page.goto(place.at("/admin/studies/paper"))
    yield "admin-study"
    page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true })")
    yield "admin-study-open"
