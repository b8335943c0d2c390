"""What one click in the browser costs: requests, SELECTs, replays and processor time.

    python benchmarks/clicks.py [--clicks 200] [--method few] [--question TEXT]

Drives the application in this process over a SQLite file, as a browser with JavaScript does, and
prints one line of JSON: medians over all clicks that led to another screen and over those that
led to the last page, and the slowest. It uses only the pages' own forms.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event
from starlette.testclient import TestClient

from useralign.methods import Method, method_for
from useralign.store import open_store
from useralign.web import Settings
from useralign.web.app import create_app

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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clicks", type=int, default=200)
    parser.add_argument("--method", choices=("few", "useralign"), default="few")
    parser.add_argument("--question", default=QUESTION)
    given = parser.parse_args()
    form = {"question": given.question, "method": given.method}
    print(json.dumps(measure(given.clicks, form), indent=2))
