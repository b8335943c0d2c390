"""Pictures in the terminal: what a real one would be sent, decoded back to the picture."""

from __future__ import annotations

import base64
import io
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.terminal import Terminal
from useralign import Candidate, Pool
from useralign.cli import pictures
from useralign.cli.saved import Saved

Image = pytest.importorskip("PIL.Image")

COLOURS = ("red", "navy", "green", "orange")
WINDOW = pictures.Window(80, 40, (10, 20))
KITTY = "\x1b_Gi=31;OK\x1b\\\x1b[?62;c"  # what terminals answer when asked
SIXEL = "\x1b[?62;4;22c"
NEITHER = "\x1b[?62;22c"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "a <b>.png", *(tmp_path / f"{name}.png" for name in "bcd")]
    for path, colour in zip(paths, COLOURS, strict=True):
        Image.new("RGB", (64, 48), colour).save(path)
    return paths


@pytest.fixture
def pool(files: list[Path], tmp_path: Path) -> Path:
    candidates = [Candidate(text=name, image=str(p)) for name, p in zip("abcd", files, strict=True)]
    features = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.5]]
    return Pool("Which picture?", candidates, features).save(tmp_path / "pool.json")


def read_png(data: str) -> Any:
    return Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")


def read_kitty(output: str) -> list[Any]:
    """Return the pictures of the commands, which come in chunks."""
    shown: list[Any] = []
    data = ""
    for head, chunk in re.findall(r"\x1b_G([^;\x1b]*);([^\x1b]*)\x1b\\", output):
        if "a=q" in head:
            continue
        assert len(chunk) <= 4096
        assert ("a=T,f=100,q=2" in head) == (data == "")
        data += chunk
        if head.endswith("m=0"):
            shown.append(read_png(data))
            data = ""
    assert not data, "the last chunk says that it is the last"
    return shown


def read_iterm2(output: str) -> list[Any]:
    found = re.findall(r"\x1b\]1337;File=([^:]*):([^\x07]*)\x07", output)
    for head, data in found:
        options = dict(option.split("=") for option in head.split(";"))
        assert options["inline"] == "1"
        assert int(options["size"]) == len(base64.b64decode(data))
        assert 0 < int(options["width"]) <= 80
    return [read_png(data) for _, data in found]


def read_sixel(output: str) -> list[Any]:
    """Paint what the codes say: six pixels a character, runs, colours, bands."""
    return [
        _paint(*found) for found in re.findall(r'\x1bPq"1;1;(\d+);(\d+)([^\x1b]*)\x1b\\', output)
    ]


def _paint(width: str, height: str, code: str) -> Any:
    pixels = np.zeros((int(height), int(width), 3), dtype=np.uint8)
    painted = np.zeros(pixels.shape[:2], dtype=int)
    palette: dict[str, list[int]] = {}
    colour, top, left = "", 0, 0
    tokens = re.findall(r"#(\d+)(?:;2;(\d+);(\d+);(\d+))?|!(\d+)([?-~])|([?-~])|(\$)|(-)", code)
    for number, red, green, blue, run, repeated, single, back, band in tokens:
        if red:
            palette[number] = [int(v) * 255 // 100 for v in (red, green, blue)]
        elif number:
            colour = number
        elif back or band:
            top, left = top + 6 * bool(band), 0
        else:
            count, bits = int(run or 1), ord(repeated or single) - 63
            for row in range(6):
                if bits >> row & 1:
                    pixels[top + row, left : left + count] = palette[colour]
                    painted[top + row, left : left + count] += 1
            left += count
    assert (painted == 1).all(), "every pixel once"
    return Image.fromarray(pixels)


READERS = {"kitty": read_kitty, "iterm2": read_iterm2, "sixel": read_sixel}


def colours(picture: Any, tolerance: int = 12) -> set[str]:
    """Return which of the test's colours fill a part of a picture."""
    pixels = np.asarray(picture).reshape(-1, 3).astype(int)
    near = {
        name: (
            abs(pixels - Image.new("RGB", (1, 1), name).getpixel((0, 0))).max(axis=1) <= tolerance
        )
        for name in COLOURS
    }
    return {name for name, rows in near.items() if rows.mean() > 0.05}


@pytest.mark.parametrize(
    ("env", "reply", "kind"),
    [
        ({"TERM": "xterm-256color"}, KITTY, "kitty"),
        ({"TERM": "xterm-256color"}, SIXEL, "sixel"),
        ({"TERM": "xterm-kitty"}, None, "kitty"),
        ({"TERM_PROGRAM": "iTerm.app"}, None, "iterm2"),
        # Within tmux the environment is that of the terminal around it.
        ({"TERM_PROGRAM": "iTerm.app", "TMUX": "x"}, SIXEL, "sixel"),
    ],
)
def test_a_session_with_pictures_in_the_terminal(
    pool: Path, tmp_path: Path, env: dict[str, str], reply: str | None, kind: str
) -> None:
    file = tmp_path / "session.json"
    words = ("ask", "--pool", str(pool), "--budget", "1", "--save", str(file))
    with Terminal(*words, env={"TMUX": "", **env}) as terminal:
        if reply is not None:
            terminal.wait_for("AAAA")
            terminal.press(reply)
        terminal.wait_for("good enough")
        terminal.press("2")
        terminal.wait_for("q quit")
        terminal.press("x")  # now it is clear that no number was meant for the screen before
        terminal.wait_for("q quit")
        terminal.press("1")
        terminal.wait_for("this one it is")
        assert terminal.finish() == 0
    first, end = READERS[kind](terminal.output)
    assert colours(first) == set(COLOURS)
    assert len(colours(end)) == 3, "the shortlist"
    assert first.width <= 80 * 10
    assert first.height <= 35 * 20
    assert [answer.kind for answer in Saved(file).read().answers] == ["choice", "final"]
    assert not [r for name, r in READERS.items() if name != kind and r(terminal.output)]
    assert "file://" not in terminal.output


@pytest.mark.parametrize("late", ["", KITTY, SIXEL])
def test_a_terminal_that_cannot_has_a_page(pool: Path, tmp_path: Path, late: str) -> None:
    """What a slow terminal answers too late is no key: `=` in it is no answer."""
    file, opened = tmp_path / "session.json", tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    env = {"DISPLAY": ":9", "BROWSER": str(browser), "SSH_CONNECTION": "", "TMUX": ""}
    words = ("ask", "--pool", str(pool), "--budget", "1", "--save", str(file))
    with Terminal(*words, env=env) as terminal:
        terminal.wait_for("AAAA")
        if not late:
            terminal.press(NEITHER)
        shown = terminal.wait_for("good enough")
        if late:
            terminal.press(late)
        terminal.press("q")
        terminal.wait_for("q quit")
        terminal.press("q")
        assert terminal.finish() == 0
    address = re.search(r"Open beside this: (file://\S+)", shown)
    assert address
    assert opened.read_text().strip() == address[1]
    assert not Saved(file).read().answers
    assert not any(reader(terminal.output) for reader in READERS.values())


def test_over_ssh_no_browser_opens(pool: Path, tmp_path: Path) -> None:
    env = {"DISPLAY": ":9", "BROWSER": "/bin/false", "SSH_CONNECTION": "1.2.3.4 1 2", "TMUX": ""}
    with Terminal("ask", "--pool", str(pool), env=env) as terminal:
        terminal.wait_for("AAAA")
        terminal.press(NEITHER)
        assert "See them at: file://" in terminal.wait_for("good enough")
        terminal.press("\x03")
        assert terminal.finish() == 130


@pytest.mark.parametrize(("count", "columns"), [(1, 1), (2, 2), (4, 2), (6, 3), (9, 3)])
def test_as_large_as_the_window_has_room_for(count: int, columns: int) -> None:
    wide = pictures._grid(count, 1200, 800)
    assert wide[0] == columns
    assert wide[1] * columns <= 1200
    assert pictures._grid(count, 80, 8000)[0] == 1


def test_the_page_is_self_contained(files: list[Path], tmp_path: Path) -> None:
    page = pictures.write_page(tmp_path / "page.html", files).read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    assert "<b>" not in page
    assert page.count("<img") == 4
    assert "http" not in re.sub(r"http-equiv", "", page)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"KITTY_WINDOW_ID": "1"}, "kitty"),
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM_PROGRAM": "ghostty"}, "kitty"),
        ({"LC_TERMINAL": "iTerm2"}, "iterm2"),
        ({"TERM": "xterm-kitty", "TMUX": "x"}, "page"),
        ({"TERM": "xterm"}, "page"),
    ],
)
def test_protocol(environment: dict[str, str], expected: str) -> None:
    assert pictures.protocol(environment) == expected
