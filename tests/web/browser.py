"""A browser without a screen: it keeps cookies and fills in forms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI
from starlette.testclient import TestClient

DINNER = "What should I cook for dinner tonight?"


@dataclass
class Page:
    """What came back, and where from."""

    status: int
    text: str
    path: str
    headers: Mapping[str, str]

    @property
    def token(self) -> str:
        found = re.search(r'name="form_token" value="(\w+)"', self.text)
        assert found, self.text[:2000]
        return found[1]

    @property
    def step(self) -> int:
        found = re.search(r'name="step" value="(\d+)"', self.text)
        assert found, self.text[:2000]
        return int(found[1])

    @property
    def over(self) -> bool:
        return "data-result" in self.text

    @property
    def bodies(self) -> list[str]:
        return re.findall(r'<div class="body" dir="auto">(.*?)</div>', self.text, re.DOTALL)


class Browser:
    """One visitor."""

    def __init__(self, app: FastAPI, base: str = "http://localhost") -> None:
        self.client = TestClient(app, base_url=base, raise_server_exceptions=False)

    def get(self, path: str, **headers: str) -> Page:
        return self._page(self.client.get(path, headers=headers))

    def post(self, path: str, token: str | None = None, **fields: object) -> Page:
        if token is None:
            token = self.get("/you").token
        data = {"form_token": token} | {key: str(value) for key, value in fields.items()}
        return self._page(self.client.post(path, data=data))

    def begin(self, question: str = DINNER, **fields: Any) -> Page:
        """Ask a question, in pairs until it is certain unless the fields say otherwise."""
        return self.post("/ask", question=question, **({"method": "useralign"} | fields))

    def bring(self, *files: tuple[str, bytes], **fields: Any) -> Page:
        """Ask as a form with files does."""
        data = {"form_token": self.get("/you").token} | fields
        parts = [("files", file) for file in files] or [("files", ("", b""))]
        return self._page(self.client.post("/ask", data=data, files=parts))

    def answer(self, page: Page, response: object = 0, **fields: Any) -> Page:
        path = page.path.split("?")[0]
        values: dict[str, Any] = {"step": page.step, "response": response, **fields}
        return self.post(path, page.token, **values)

    def finish(self, page: Page) -> Page:
        for _ in range(60):
            if page.over:
                return page
            page = self.answer(page)
        raise AssertionError("it does not end")

    def _page(self, reply: Any) -> Page:
        path = str(reply.url).removeprefix(str(self.client.base_url).rstrip("/"))
        return Page(reply.status_code, reply.text, path, reply.headers)
