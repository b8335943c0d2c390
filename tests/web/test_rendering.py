"""What a model says cannot harm who reads it."""

from __future__ import annotations

import re

import pytest

from useralign.web import rendering

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![picture](https://evil.example/x.png)",
    "![picture][ref]\n\n[ref]: https://evil.example/x.png",
    "[click](javascript:alert(1))",
    "[click](https://evil.example 'title')",
    "<https://evil.example>",
    "<svg onload=alert(1)><a xlink:href='javascript:alert(1)'>x</a></svg>",
    "<style>body{display:none}</style>",
    "<iframe src='https://evil.example'></iframe>",
    "<form action='/you/delete' method=post><button>win</button></form>",
    "<a href='data:text/html,x'>x</a>",
    '"><script src=//evil.example/x.js></script>',
    "```html\n<script>alert(1)</script>\n```",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "# <b onmouseover=alert(1)>x</b>",
    "|a|b|\n|-|-|\n|<script>x</script>|![i](//e.example/i.png)|",
    "javascript:alert(1) https://evil.example/auto",
    "\x00\x1b[31m<script>\x00",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_but_plain_marks_comes_out(text: str) -> None:
    html = str(rendering.answer_html(text))
    tags = re.findall(r"<\s*/?\s*([a-zA-Z0-9]+)([^>]*)>", html)
    assert {name for name, _ in tags} <= rendering.TAGS
    assert all(not rest.strip(" /") for _, rest in tags)  # no attribute at all


def test_marks_are_kept() -> None:
    html = str(rendering.answer_html("# Title\n\n**Bold** and *soft*\n\n- one\n- two\n\n`code`"))
    for tag in ("<h3>", "<strong>", "<em>", "<ul>", "<li>", "<code>"):
        assert tag in html


def test_headings_stand_below_those_of_the_page() -> None:
    html = str(rendering.answer_html("## One\n\n##### Deep\n\n# Two\n\nThree\n===\n\n> ### Quoted"))
    assert re.findall(r"<h(\d)>", html) == re.findall(r"</h(\d)>", html)
    assert re.findall(r"<h(\d)>", html) == ["3", "4", "3", "3", "4"]


def test_links_are_shown_as_they_are_written() -> None:
    assert "https://example.org" in rendering.answer_html("[here](https://example.org)")


@pytest.mark.parametrize(
    "mark", "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u202c\u2069\u200e\u200f\u061c"
)
def test_nothing_reorders_the_text(mark: str) -> None:
    assert mark not in rendering.answer_html(f"pay {mark}gnp.exe")
    assert mark not in rendering.plain(f"pay {mark}gnp.exe")
    assert mark not in rendering.brief(f"pay {mark}gnp.exe")


def test_scripts_and_families_stay_together() -> None:
    family = "👨\u200d👩\u200d👧"
    assert family in rendering.answer_html(family)
    assert "עברית" in rendering.answer_html("עברית")


@pytest.mark.parametrize(
    "text",
    ["a" * 10**6, "word " * 200_000, "> " * 10**5, "- " * 10**5, "*" * 500_000, "[" * 200_000,
     "* a\n" * 2000, "**a** " * 2000],
    ids=["letters", "words", "quotes", "lists", "stars", "brackets", "lines", "emphasis"],
)  # fmt: skip
def test_a_megabyte_is_cut_and_says_so(text: str) -> None:
    html = str(rendering.answer_html(text))
    assert len(html) < 10 * rendering.LONGEST
    assert "the whole answer has" in html
    assert f"{len(text):,}" in html


def test_long_lists_of_single_words_are_cut_at_a_word() -> None:
    html = rendering.answer_html("Shopping list:\n" + "carrots\n" * 1500)
    assert html.count("carrots") > 900
    assert "Cut here" in html


def test_a_line_is_one_line() -> None:
    assert rendering.brief("# One\n\n**two**\tthree " + "four " * 100).startswith(
        "One two three four"
    )
    assert len(rendering.brief("x " * 1000)) <= 142
