"""What a model says, as HTML that is safe to show.

Markdown is read without HTML, then cleaned by an allowlist. Pictures and links are shown as text:
a page that shows an answer asks for nothing from anywhere. Characters that reorder what follows
them are taken out, and every answer stands in an element of its own direction.
"""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

LONGEST = 20_000  # characters of an answer that a page shows
TAGS = {
    "blockquote", "br", "code", "del", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre",
    "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_KEPT_FORMATS = "\u200c\u200d"  # joiners hold scripts and emoji together
_DEEPEST = 12  # how deep lists and quotes may nest
_ABOVE = 2  # how deep the page's own headings go where an answer stands


@cache
def _reader() -> MarkdownIt:
    # Without links and pictures their source is shown, which is what a reader should see of them.
    reader = MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": _DEEPEST})
    return reader.enable(["table", "strikethrough"]).disable(
        ["image", "link", "autolink", "reference", "html_block", "html_inline"]
    )


@lru_cache(maxsize=512)
def answer(text: str) -> Markup:
    """Return an answer as HTML.

    Parameters
    ----------
    text : str
        Whatever a model or a user wrote.
    """
    shown, cut = _cut(neutral(text))
    html = nh3.clean(_rendered(shown), tags=TAGS, attributes={}, link_rel=None)
    note = (
        f'<p class="cut">Cut here: the whole answer has {len(text):,} characters.</p>'
        if cut
        else ""
    )
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
    shown = neutral(text)
    return shown if len(shown) <= longest else shown[:longest].rstrip() + " …"


def brief(text: str, longest: int = 140) -> str:
    """Return the beginning of a text, on one line and without marks."""
    line = " ".join(neutral(text[: 4 * longest]).replace("*", "").replace("#", "").split())
    return line if len(line) <= longest else line[:longest].rsplit(" ", 1)[0] + " …"


def neutral(text: str) -> str:
    """Return a text without control characters and without marks that reorder it."""
    return "".join(char for char in text[: 2 * LONGEST] if _shown(char))


def _shown(char: str) -> bool:
    if char in "\n\t" or char in _KEPT_FORMATS:
        return True
    return unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def _cut(text: str) -> tuple[str, bool]:
    if len(text) <= LONGEST:
        return text, False
    return text[:LONGEST].rsplit(" ", 1)[0] + " …", True
