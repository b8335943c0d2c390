"""What one click in the browser costs: requests, SELECTs, replays and processor time.

    python benchmarks/click.py [--clicks 200]

Drives the application in this process over a SQLite file, as a browser with JavaScript does, and
prints one line of JSON with the medians over all clicks. It uses only the pages' own forms, so the
same file measures older versions of the application.
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
    """Counts SELECTs on all databases, and starts of the method: one for each replay."""

    def __init__(self, method: type[Method]) -> None:
        self.selects = self.replays = 0
        event.listen(Engine, "before_cursor_execute", self._statement)
        start = method.start

        def counted(*args: Any, **options: Any) -> Any:
            self.replays += 1
            return start(*args, **options)

        method.start = counted  # type: ignore[method-assign]

    def _statement(self, _: Any, __: Any, statement: str, *___: Any) -> None:
        self.selects += statement.lstrip().upper().startswith("SELECT")


def _field(page: str, name: str) -> str:
    return str(re.findall(rf'name="{name}" value="(\w+)"', page)[0])


def measure(clicks: int) -> dict[str, Any]:
    """Click through sessions and return medians per click."""
    counter = Counter(type(method_for("useralign")))
    rows: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{Path(folder) / 'click.db'}")
        rates = {"asks_per_hour": 1e9, "answers_per_minute": 1e9, "answers_at_once": 10**9}
        app = create_app(store, Settings(**rates))  # type: ignore[arg-type]
        # The script of the pages fetches; a browser marks that so.
        client = TestClient(app, "http://localhost", headers={"sec-fetch-dest": "empty"})
        page = _begin(client)
        while len(rows) < clicks:
            if "data-compare" not in page:
                page = _begin(client)
            page, row = _click(client, page, counter)
            rows.append(row)
        store.close()
    return {name: statistics.median(row[name] for row in rows) for name in rows[0]}


def _begin(client: TestClient) -> str:
    token = _field(client.get("/you").text, "form_token")
    form = {"form_token": token, "question": QUESTION, "method": "useralign"}
    return client.post("/ask", data=form).text


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
    print(json.dumps(measure(parser.parse_args().clicks)))
