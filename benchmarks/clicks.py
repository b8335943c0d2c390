"""What one click in the browser costs: requests, SELECTs, replays and processor time.

    python -m benchmarks.clicks [--clicks 200] [--method few] [--question TEXT]
    python -m benchmarks.clicks --browser [--model local:smollm2-135m]

Drives the application in this process over a SQLite file, as a browser with JavaScript does, and
prints JSON: medians over all clicks that led to another screen and over those that led to the last
page, and the slowest. It uses only the pages' own forms.

With `--browser` a real Chromium goes the whole way, from opening the page to an answer taken: with
a shipped question, a pasted list, and a question of one's own that a model on this machine writes
answers to. Clicks and seconds, without any to read: the first card is taken on every screen. For
the last one also when all answers were there, which is when comparing would begin if it waited.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, event
from starlette.testclient import TestClient

from useralign.domains import load
from useralign.methods import Method, method_for
from useralign.store import open_store
from useralign.web import Settings
from useralign.web.app import create_app

if TYPE_CHECKING:
    from playwright.sync_api import Page

QUESTION = "What should I cook for dinner tonight?"


class Counter:
    """Counts SELECTs on all databases, and starts of methods: one for each replay."""

    def __init__(self, *methods: type[Method]) -> None:
        self.selects = self.replays = 0
        event.listen(Engine, "before_cursor_execute", self._statement)
        for method in methods:
            self._watch(method)

    def _watch(self, method: type[Method]) -> None:
        start = method.start

        def counted(*args: Any, **options: Any) -> Any:
            self.replays += 1
            return start(*args, **options)

        method.start = counted  # type: ignore[method-assign]

    def _statement(self, _: Any, __: Any, statement: str, *___: Any) -> None:
        self.selects += statement.lstrip().upper().startswith("SELECT")


def _field(page: str, name: str) -> str:
    return str(re.findall(rf'name="{name}" value="(\w+)"', page)[0])


def measure(clicks: int, form: dict[str, str]) -> dict[str, dict[str, float]]:
    """Click through sessions and return medians per click, by where it led."""
    counter = Counter(type(method_for("useralign")), type(method_for("frugal")))
    rows: dict[str, list[dict[str, float]]] = {"screen": [], "end": []}
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{Path(folder) / 'click.db'}")
        rates = {"asks_per_hour": 1e9, "answers_per_minute": 1e9, "answers_at_once": 10**9}
        app = create_app(store, Settings(**rates))  # type: ignore[arg-type]
        # The script of the pages fetches; a browser marks that so.
        client = TestClient(app, "http://localhost", headers={"sec-fetch-dest": "empty"})
        page = _begin(client, form)
        while sum(map(len, rows.values())) < clicks:
            if "data-compare" not in page:
                page = _begin(client, form)
            page, row = _click(client, page, counter)
            rows["screen" if "data-compare" in page else "end"].append(row)
        store.close()
    return {led_to: _medians(some) for led_to, some in rows.items() if some}


def _medians(rows: list[dict[str, float]]) -> dict[str, float]:
    medians = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
    return medians | {"slowest": max(row["milliseconds"] for row in rows), "clicks": len(rows)}


def _begin(client: TestClient, form: dict[str, str]) -> str:
    token = _field(client.get("/you").text, "form_token")
    return client.post("/ask", data={"form_token": token, **form}).text


def _click(client: TestClient, page: str, counter: Counter) -> tuple[str, dict[str, float]]:
    action = re.findall(r'action="(/s/[^"]+)"', page)[0]
    button = re.findall(r'type="submit" name="(\w+)" value="0"', page)[0]
    data = {"form_token": _field(page, "form_token"), "step": _field(page, "step")}
    counter.selects = counter.replays = 0
    began = time.process_time()
    reply = client.post(action, data=data | {button: "0", "milliseconds": "900"})
    spent = 1000 * (time.process_time() - began)
    reply.raise_for_status()
    row = {"requests": 1 + len(reply.history), "selects": counter.selects}
    return reply.text, {**row, "replays": counter.replays, "milliseconds": round(spent, 3)}


def journeys(model: str) -> dict[str, dict[str, float]]:
    """Go the whole way in a browser, three times, and return clicks and seconds of each."""
    from tests.browser.places import DESKTOP, launched
    from tests.servers import Server

    dishes = [candidate.text for candidate in load("food64d").questions[1].candidates]
    with (
        tempfile.TemporaryDirectory() as folder,
        Server(f"sqlite:///{Path(folder) / 'way.db'}") as server,
        launched() as browser,
    ):
        results = {}
        for name, fields in {
            "shipped question": {"question": QUESTION},
            "pasted list": {"list": "\n".join(dishes)},
            "own question": {"question": "How should I spend a rainy Sunday?", "model": model},
        }.items():
            page = browser.new_context(**DESKTOP).new_page()
            page.set_default_timeout(1_200_000)
            results[name] = _journey(page, server.address, fields)
        return results


def _journey(page: Page, address: str, fields: dict[str, str]) -> dict[str, float]:
    began = time.monotonic()
    page.goto(address)
    clicks = 1
    for name, value in fields.items():
        if name == "list":
            page.click("[data-own] summary")
        if name == "model":
            page.click("summary:has-text('Options')")
            page.select_option("#model", value)
        else:
            page.fill(f"#{name}", value)
        clicks += {"list": 1, "model": 2}.get(name, 0)
    page.get_by_role("button", name="Find my answer").click()
    page.wait_for_selector("[data-making], [data-compare]")
    making = page.url if "/making/" in page.url else ""
    page.wait_for_selector("[data-compare]")
    result = {"first screen": round(time.monotonic() - began, 2)}
    while making and (state := page.request.get(f"{making}/state").json())["state"] != "ready":
        if state["state"] == "failed":
            raise SystemExit(f"the model failed: {state['note']}")
        time.sleep(0.2)
    waited = time.monotonic() - began if making else 0.0
    began += max(0.0, waited - result["first screen"])  # nobody waits for the rest
    while step := page.locator("[data-compare]").get_attribute("data-step"):
        page.keyboard.press("1")
        page.wait_for_selector(f"[data-result], [data-compare]:not([data-step='{step}'])")
        clicks += 1
        if page.locator("[data-result]").count():
            break
    page.get_by_role("button", name="This one").first.click()
    page.wait_for_selector("text=Change my mind")
    result |= {"answer": round(time.monotonic() - began, 2), "clicks": clicks + 1}
    return result | ({"all answers there": round(waited, 2)} if making else {})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--browser", action="store_true")
    parser.add_argument("--model", default="local:smollm2-135m")
    parser.add_argument("--clicks", type=int, default=200)
    parser.add_argument("--method", choices=("few", "useralign"), default="few")
    parser.add_argument("--question", default=QUESTION)
    given = parser.parse_args()
    form = {"question": given.question, "method": given.method}
    report = journeys(given.model) if given.browser else measure(given.clicks, form)
    print(json.dumps(report, indent=2))
