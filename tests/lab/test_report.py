"""The report: one page that needs nothing else."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.lab.test_tables import results
from useralign.lab import claims, tables
from useralign.lab.claims import Verdict
from useralign.lab.report import Report, Section
from useralign.lab.tables import Table, Value

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
BAD = Verdict("Pigs <fly>", "food64d", False, "1 & 2", "3", "Because of gravity.")


class _Checker(HTMLParser):
    """Notes what is loaded from elsewhere, and tags left open."""

    VOID = frozenset({"meta", "img", "br", "link"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in {"script", "link", "iframe"}
        self.sources += [str(v) for k, v in attrs if k in {"src", "href", "srcset"}]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def report(tmp_path: Path) -> Report:
    picture = tmp_path / "figures" / "one.png"
    picture.parent.mkdir()
    picture.write_bytes(PIXEL)
    cells = results()
    part = Section("Tables", "Words.", [tables.trade_off(cells, "food64d")], [(picture, "A dot")])
    return Report("Reproduced", {"seeds": "4"}, [*claims.check(cells), BAD], [part])


def test_page_is_whole_and_self_contained(report: Report) -> None:
    page = report.to_html()
    checker = _Checker()
    checker.feed(page)
    assert checker.open == []
    assert all(s.startswith(("data:image/png;base64,", "#")) for s in checker.sources)
    assert not re.search(r"url\(|@import|https?://", page)


def test_page_escapes_and_shows_both_numbers(report: Report) -> None:
    page = report.to_html()
    assert "Pigs &lt;fly&gt;" in page
    assert "98.67 (0.94)" in page
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page


def test_failures_come_first_and_open(report: Report) -> None:
    assert next(iter(report.by_claim())) == BAD.claim
    page = report.to_html()
    assert page.index('<details class="claim" open>') < page.index('<details class="claim">')
    assert "do not, with the reasons below" in report.summary()


def test_long_tables_are_folded_and_empty_columns_left_out(report: Report) -> None:
    rows: list[tuple[Value, ...]] = [
        ("food64d", "UserAlign", 1.0, None),
        ("food64d", "Random", 2.0, None),
    ]
    report.sections[0].tables.append(Table("few", "Few rows", ("Domain", "how", "t", "gap"), rows))
    page = report.to_html()
    assert '<details class="more">\n<summary>food64d: win-rate and cost</summary>' in page
    assert "<h3>Few rows</h3>" in page
    few = page[page.index("<h3>Few rows</h3>") :]
    assert '<th scope="row" class=same>food64d</th>' in few
    assert "<td class=text>Random</td>" in few
    assert ">gap</th>" not in few


def test_what_holds_is_folded_beside_a_failure(report: Report) -> None:
    report.verdicts.append(Verdict(BAD.claim, "travel64d", True, "4", "4", "Wings."))
    page = report.to_html()
    assert page.index("<summary>1 more holds</summary>") < page.index("<h4>travel64d: holds</h4>")


def test_summary_of_good_news_and_of_none() -> None:
    assert Report("x").summary() == "No claim was checked by this run."
    summary = Report("x", verdicts=claims.check(results())).summary()
    assert summary == (
        "4 of 4 checks of the paper's claims that could fail hold on our data. 5 more are true by "
        "definition or implied by others."
    )


def test_only_what_can_fail_is_counted(report: Report) -> None:
    report.verdicts.append(Verdict("Two is two", "here", False, "3", "2", "Odd.", "definition"))
    assert "4 of 5 checks" in report.summary()
    assert "6 more are true by definition or implied by others, of which 1 fail all the same" in (
        report.summary()
    )
    text = report.to_markdown(report.sections[0].pictures[0][0].parent.parent)
    headings = ["### Able to fail", "### Implied by others", "### True by definition"]
    assert [text.index(h) for h in headings] == sorted(text.index(h) for h in headings)
    assert text.index("Pigs <fly>") < text.index(headings[1])
    assert text.index("Two is two") > text.index(headings[2])


def test_files(report: Report, tmp_path: Path) -> None:
    names = [path.name for path in report.write(tmp_path)]
    assert names == ["report.html", "report.md", "verdicts.json"]
    text = (tmp_path / "report.md").read_text()
    assert "![A dot](figures/one.png)" in text
    assert "food64d: DOES NOT HOLD. Ours: 1 & 2. Paper: 3. Because of gravity." in text
    assert json.loads((tmp_path / "verdicts.json").read_text())[-1]["holds"] is False
