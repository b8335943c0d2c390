"""The documentation does what it says: blocks run, commands and settings exist, links lead."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import typer.main
from tools import reference

import useralign.session
import useralign.testing
from useralign.cli.app import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
# Shown, not run: there is nothing to run in them.
SHOWN = {"text", "toml", "json", "html", "yaml", "csv"}
_FENCE = re.compile(
    r"(?:<!-- not run: (?P<why>[^\n]+) -->\n)?"
    r"```(?P<language>\w*)\n(?P<code>.*?)```",
    re.DOTALL,
)


class Block(NamedTuple):
    """A piece of code in a page, and why it is not run, if it is not."""

    page: str
    language: str
    code: str
    why: str | None


def blocks(*languages: str) -> list[Block]:
    return [
        Block(str(page.relative_to(ROOT)), found["language"], found["code"], found["why"])
        for page in PAGES
        for found in _FENCE.finditer(page.read_text("utf-8"))
        if not languages or found["language"] in languages
    ]


def commands(block: Block) -> list[list[str]]:
    """Return the command lines of a block, without comments."""
    lines = (shlex.split(line, comments=True) for line in block.code.splitlines())
    return [line for line in lines if line]


@pytest.mark.parametrize("module", [useralign.session, useralign.testing])
def test_examples_in_docstrings(module: object) -> None:
    result = doctest.testmod(module)  # type: ignore[arg-type]
    assert result.attempted
    assert not result.failed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_says_what_it_is(page: Path) -> None:
    for found in _FENCE.finditer(page.read_text("utf-8")):
        known = {"python", "sh", *SHOWN}
        assert found["language"] in known, f"{page.name}: a block of {found['language']!r}"


@pytest.mark.parametrize("block", [b for b in blocks("python") if not b.why], ids=lambda b: b.page)
def test_python_runs(block: Block, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", block.code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", [b for b in blocks("sh") if not b.why], ids=lambda b: b.page)
def test_commands_run(block: Block, tmp_path: Path) -> None:
    for words in commands(block):
        if words[0] == "make":
            continue  # installs and runs this very suite
        known = {"useralign": "useralign.cli", "python": None}
        assert words[0] in known, f"not run, and not marked so: {words}"
        module = known[words[0]]
        line = [sys.executable, *(["-m", module] if module else []), *words[1:]]
        done = subprocess.run(
            line,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{words}: {done.stderr}"


@pytest.mark.parametrize("block", blocks("sh"), ids=lambda b: b.page)
def test_commands_exist(block: Block) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for words in commands(block):
        if words[0] == "make":
            assert all(f"\n{target}:" in makefile for target in words[1:]), words
        elif words[0] == "useralign":
            _check_command(words)


def _check_command(words: list[str]) -> None:
    """Check that a command exists and has the options that are given to it."""
    command = typer.main.get_command(app)
    rest = words[1:]
    while (children := getattr(command, "commands", None)) and rest:
        assert rest[0] in children or rest[0].startswith("-"), f"no command: {shlex.join(words)}"
        if rest[0].startswith("-"):
            break
        command = children[rest.pop(0)]
    options = {name for p in command.params for name in (*p.opts, *p.secondary_opts)}
    for word in rest:
        if word in ("&&", "|", ">"):
            break
        if word.startswith("-") and word not in ("-h", "--help"):
            assert word.split("=")[0] in options, f"no option {word}: {shlex.join(words)}"


@pytest.mark.parametrize("name", ["command-line", "http"])
def test_the_reference_is_up_to_date(name: str) -> None:
    written = (ROOT / "docs" / "reference" / f"{name}.md").read_text("utf-8")
    made = {"command-line": reference.command_line, "http": reference.http}[name]()
    assert written == made, "run: python -m tools.reference"


def test_every_command_and_route_says_what_it_does() -> None:
    assert not re.findall(r"^## .*\n\n\n", reference.command_line() + reference.http(), re.M)
    bare = re.findall(r"^\| `[^`]+`[^|]*\|\s*\|", reference.command_line(), re.M)
    assert not bare, f"options without a help text: {bare}"


def test_settings_are_documented() -> None:
    table = (ROOT / "docs" / "reference" / "settings.md").read_text("utf-8")
    pattern = re.compile(r"""["']((?:USERALIGN|OPENAI|HF|XDG)_[A-Z_]+)["']""")
    read = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for name in pattern.findall(path.read_text("utf-8"))
    }
    assert read
    assert not {name for name in read if f"`{name}`" not in table}


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\((?!http)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_every_page_is_in_the_site() -> None:
    nav = (ROOT / "mkdocs.yml").read_text("utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        assert str(page.relative_to(ROOT / "docs")) in nav, f"{page.name} is not in mkdocs.yml"
