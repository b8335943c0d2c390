"""Pictures in the terminal: the protocols' own grammar, and the page that always works."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path

import pytest

from useralign.cli import pictures

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "a <b>.png", tmp_path / "b.png"]
    for path, colour in zip(paths, ("red", "navy"), strict=True):
        Image.new("RGB", (64, 48), colour).save(path)
    return paths


def test_kitty_carries_a_whole_png(files: list[Path]) -> None:
    sheet = pictures._side_by_side(files)
    commands = re.findall(r"\x1b_G(.*?);(.*?)\x1b\\", pictures._kitty(sheet))
    assert commands[0][0].startswith("a=T,f=100,")
    assert [head[-3:] for head, _ in commands][-1] == "m=0"
    data = base64.b64decode("".join(chunk for _, chunk in commands))
    assert Image.open(io.BytesIO(data)).size == sheet.size


def test_sixel_paints_every_pixel_once(files: list[Path]) -> None:
    """Decode what was encoded: the grammar is six pixels a character, runs, bands."""
    sheet = pictures._side_by_side(files)
    code = pictures._sixel(sheet)
    assert code.startswith("\x1bPq")
    assert code.endswith("\x1b\\")
    painted = 0
    for count, sign in re.findall(
        r"(?:!(\d+))?([?-~])", re.sub(r"#\d+(;2;\d+;\d+;\d+)?", "", code[3:-2])
    ):
        painted += int(count or 1) * bin(ord(sign) - 63).count("1")
    assert painted == sheet.width * sheet.height


def test_the_page_is_self_contained(files: list[Path], tmp_path: Path) -> None:
    page = pictures.write_page(tmp_path / "page.html", files).read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    assert "<b>" not in page
    assert page.count("<img") == 2
    assert "http" not in re.sub(r"http-equiv", "", page)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"KITTY_WINDOW_ID": "1"}, "kitty"),
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM_PROGRAM": "WezTerm"}, "kitty"),
        ({"TERM": "xterm"}, "page"),
    ],
)
def test_protocol(environment: dict[str, str], expected: str) -> None:
    assert pictures.protocol(environment) == expected
