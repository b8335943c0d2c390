"""A browser without a screen, for simulations: connections, cookies, and a page's form.

It is plain asyncio, because on a small machine it shares the processors with the server it tests.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

    Form = Mapping[str, str | list[str]]

TIMEOUT = 60.0
_HEARD = 0.05  # seconds in which a server has read a request whose answer is to be lost


class LostError(Exception):
    """A request or its answer did not arrive."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered."""

    status: int
    location: str | None
    text: str


@dataclass(slots=True)
class Input:
    """A field to fill in: its kind, what can be chosen, and its other attributes."""

    kind: str
    values: list[str] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Page:
    """What can be read from a page."""

    fields: dict[str, str] = field(default_factory=dict)  # the hidden fields of its last form
    # The texts of what can be chosen; of a picture what it shows, or else its id.
    options: list[str] = field(default_factory=list)
    # Texts by the class of their element: `query-text`, `persona-name`, `code`; and the `outcome`
    # that a last page states.
    words: dict[str, str] = field(default_factory=dict)
    boxes: dict[str, str] = field(default_factory=dict)  # what can be ticked
    inputs: dict[str, Input] = field(default_factory=dict)  # what can be filled in, by name
    has_form: bool = False


class _Reader(HTMLParser):
    _WORDS = ("query-text", "persona-name", "code")

    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self._into: str | None = None
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if self._into is not None and tag not in ("br", "hr", "img", "input"):
            self._depth += 1
        if tag == "form" and attributes.get("method") == "post":
            self.page.has_form = True
            self.page.fields = {}
        elif tag == "input" and attributes.get("type") == "hidden":
            self.page.fields[attributes["name"]] = attributes.get("value", "")
        elif tag in ("input", "textarea"):
            self._take_input(attributes, attributes.get("type", "text"))
        elif tag == "article":
            self.page.options.append("")
        elif tag == "img" and self.page.options:
            name = attributes.get("src", "").rpartition("/")[2]
            self.page.options[-1] = attributes.get("alt") or name
        elif "data-outcome" in attributes:
            self.page.words["outcome"] = attributes["data-outcome"]
        elif attributes.get("class") in self._WORDS or (
            tag == "div" and attributes.get("class") == "body"
        ):
            self._into, self._depth = attributes["class"], 1

    def _take_input(self, attributes: dict[str, str], kind: str) -> None:
        if kind == "checkbox":
            self.page.boxes[attributes["name"]] = attributes.get("value", "")
        field = self.page.inputs.setdefault(attributes["name"], Input(kind, [], attributes))
        field.values.append(attributes.get("value", ""))

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - the parser's interface
        if self._into is not None:
            self._depth -= 1
            if self._depth == 0:
                self._into = None

    def handle_data(self, data: str) -> None:
        if self._into == "body" and self.page.options:
            self.page.options[-1] += data
        elif self._into is not None and self._into != "body":
            self.page.words[self._into] = self.page.words.get(self._into, "") + data


def read_page(text: str) -> Page:
    """Parse a page."""
    reader = _Reader()
    reader.feed(text)
    return reader.page


class Browser:
    """One person's browser: one connection, kept open, and their cookies.

    Forms are sent as our script sends them (`scripted`), or as plain forms.
    """

    def __init__(self, url: str, scripted: bool, language: str = "en") -> None:
        parts = urlsplit(url)
        self._language = language
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._scripted = scripted
        self._cookies: dict[str, str] = {}
        self._pipe: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, path: str, fields: Form | None, lost: str | None = None) -> Reply:
        """Send one request: a POST of some fields, or a GET without.

        `lost` is "request" where it never leaves, "reply" where its answer never arrives. LostError
        is raised for these, and where the connection breaks or takes too long.
        """
        if lost == "request":
            raise LostError
        reused = self._pipe is not None
        try:
            return await asyncio.wait_for(self._exchange(path, fields, lost), TIMEOUT)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            self.close()
            if reused:  # the server had closed an idle connection: a browser opens another
                return await self.send(path, fields, lost)
            raise LostError(repr(error)) from error
        except (OSError, TimeoutError) as error:
            self.close()
            raise LostError(repr(error)) from error

    def close(self) -> None:
        """Drop the connection."""
        if self._pipe is not None:
            self._pipe[1].close()
            self._pipe = None

    async def _exchange(self, path: str, fields: Form | None, lost: str | None) -> Reply:
        if self._pipe is None:
            self._pipe = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._pipe
        writer.write(self._request(path, fields))
        await writer.drain()
        if lost == "reply":
            await asyncio.sleep(_HEARD)
            self.close()
            raise LostError
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        lines = [line.partition(": ")[::2] for line in head[1:] if line]
        headers = {name.lower(): value for name, value in lines}
        for name, value in lines:
            if name.lower() == "set-cookie":
                cookie, _, content = value.partition(";")[0].partition("=")
                self._cookies[cookie] = content
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection") == "close":
            self.close()
        return Reply(int(head[0].split(" ")[1]), headers.get("location"), body.decode())

    def _request(self, path: str, fields: Form | None) -> bytes:
        body = b"" if fields is None else urlencode(fields, doseq=True).encode()
        origin = f"{self._host}:{self._port}"
        lines = [
            f"{'GET' if fields is None else 'POST'} {path} HTTP/1.1",
            f"Host: {origin}",
            f"Accept-Language: {self._language}",
        ]
        if fields is not None:
            lines += [
                "Content-Type: application/x-www-form-urlencoded",
                f"Content-Length: {len(body)}",
                f"Origin: http://{origin}",
                "Sec-Fetch-Site: same-origin",
                f"Sec-Fetch-Dest: {'empty' if self._scripted else 'document'}",
            ]
        if self._cookies:
            lines.append("Cookie: " + "; ".join(f"{k}={v}" for k, v in self._cookies.items()))
        return "\r\n".join([*lines, "", ""]).encode() + body
