"""From templates to pages, and from what a model says to HTML that is safe to show.

Markdown is read without HTML, then cleaned by an allowlist. Pictures and links are shown as text:
a page that shows an answer asks for nothing from anywhere. Characters that reorder what follows
them are taken out, and every answer stands in an element of its own direction.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nh3
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse

from useralign import __version__
from useralign.web.identity import FIELD, form_token, set_cookie, visitor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

HERE = Path(__file__).parent
STATIC = HERE / "static"
LONGEST = 20_000  # characters of an answer that a page shows
TAGS = {
    "blockquote", "br", "code", "del", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre",
    "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_HARMLESS = "\n\t\u200c\u200d"  # joiners hold scripts and emoji together
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}  # categories of characters
_DEEPEST = 12  # how deep lists and quotes may nest
# Lines, and marks of emphasis, that a page shows: Markdown takes its time for each of them.
_MOST_PARTS = {re.compile(r"\n"): 1000, re.compile(r"[*_~]"): 3000}
_ABOVE = 2  # how deep the page's own headings go where an answer stands


@cache
def environment() -> Environment:
    """Return the templates: everything is escaped, and a missing value is an error."""
    templates = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals.update(static=static, version=__version__, FORM_FIELD=FIELD)
    templates.filters.update(answer=answer_html, plain=plain, brief=brief)
    return templates


@cache
def static(name: str) -> str:
    """Return the address of a static file; it changes with the content, and is cached for good."""
    content = (STATIC / name).read_bytes()
    return f"/static/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"


def render(template: str, values: Mapping[str, Any], status_code: int = 200) -> HTMLResponse:
    """Return a template, by its name in the folder `templates`, as a reply."""
    return HTMLResponse(environment().get_template(template).render(values), status_code)


def page(request: Request, template: str, *, status_code: int = 200, **values: Any) -> Response:
    """Return a page, which knows `who` asks, their `form_token` and the `path`; set a cookie."""
    who = visitor(request)
    common = {"who": who, "form_token": form_token(who.token), "path": request.url.path}
    return keep_visitor(request, render(template, common | values, status_code))


def to(request: Request, address: str) -> Response:
    """Send a browser on to a page after a form, so that reloading does not send it again."""
    return keep_visitor(request, RedirectResponse(address, 303))


def as_file(name: str) -> dict[str, str]:
    """Return the headers of a reply that a browser stores under a name."""
    return {"Content-Disposition": f'attachment; filename="{name}"'}


def keep_visitor(request: Request, response: Response) -> Response:
    """Set the cookie of someone who has none yet."""
    who = visitor(request)
    if who.fresh:
        set_cookie(request, response, who.token)
    return response


@cache
def _reader() -> MarkdownIt:
    # Without links and pictures their source is shown, which is what a reader should see of them.
    reader = MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": _DEEPEST})
    return reader.enable(["table", "strikethrough"]).disable(
        ["image", "link", "autolink", "reference", "html_block", "html_inline"]
    )


@lru_cache(maxsize=512)
def answer_html(text: str) -> Markup:
    """Return an answer, whatever a model or a user wrote, as HTML."""
    excerpt, note = neutral(text), ""
    if len(excerpt) > (end := _end(excerpt)):
        excerpt = re.sub(r"\s\S*$", "", excerpt[:end]) + " …"
        note = f'<p class="cut">Cut here: the whole answer has {len(text):,} characters.</p>'
    html = nh3.clean(_rendered(excerpt), tags=TAGS, attributes={}, link_rel=None)
    return Markup(html + note)  # noqa: S704 - cleaned by the allowlist


def _rendered(text: str) -> str:
    """Return Markdown as HTML; headings begin below those of the page and leave out no level."""
    tokens = _reader().parse(text)
    level = _ABOVE
    for token in tokens:
        if token.type == "heading_open":
            level = min(int(token.tag[1]) + _ABOVE, level + 1, 6)
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{level}"
    return str(_reader().renderer.render(tokens, _reader().options, {}))


def plain(text: str, longest: int = LONGEST) -> str:
    """Return a text without what could trick a reader, cut to a length; still to be escaped."""
    clean = neutral(text)
    return clean if len(clean) <= longest else clean[:longest].rstrip() + " …"


def brief(text: str, longest: int = 140) -> str:
    """Return the beginning of a text, on one line and without marks."""
    line = " ".join(neutral(text[: 4 * longest]).replace("*", "").replace("#", "").split())
    return line if len(line) <= longest else line[:longest].rsplit(" ", 1)[0] + " …"


def neutral(text: str) -> str:
    """Return a text without control characters and without marks that reorder it."""
    text = text[: 2 * LONGEST]
    if text.replace("\n", "").isprintable():  # as most are: one look is enough
        return text
    return "".join(
        char for char in text if char in _HARMLESS or unicodedata.category(char) not in _INVISIBLE
    )


def _end(text: str) -> int:
    """Return how much of a text a page shows, in characters."""
    parts = (next(islice(p.finditer(text), most, None), None) for p, most in _MOST_PARTS.items())
    return min([LONGEST, *(part.start() for part in parts if part)])
