"""The documentation does what it says: blocks run, commands and settings exist, links lead."""

from __future__ import annotations

import doctest
import json
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer.main
from tools import reference

import useralign.one_call
import useralign.session
import useralign.testing
from tests.processes import Command
from tests.web.routes import table
from useralign.cli.app import build
from useralign.models.providers import providers
from useralign.store import open_store
from useralign.web.app import create_app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
RECIPES = [ROOT / "Dockerfile", ROOT / "compose.yaml"]
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
        Block(str(page.relative_to(ROOT)), fence["language"], fence["code"], fence["why"])
        for page in PAGES
        for fence in _FENCE.finditer(page.read_text("utf-8"))
        if not languages or fence["language"] in languages
    ]


def commands(block: Block) -> list[list[str]]:
    """Return the command lines of a block, without comments."""
    lines = (shlex.split(line, comments=True) for line in block.code.splitlines())
    return [line for line in lines if line]


@pytest.mark.parametrize("module", [useralign.session, useralign.one_call, useralign.testing])
def test_examples_in_docstrings(module: object) -> None:
    result = doctest.testmod(module)  # type: ignore[arg-type]
    assert result.attempted
    assert not result.failed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_says_what_it_is(page: Path) -> None:
    for fence in _FENCE.finditer(page.read_text("utf-8")):
        languages = {"python", "sh", *SHOWN}
        assert fence["language"] in languages, f"{page.name}: a block of {fence['language']!r}"


@pytest.mark.parametrize("block", [b for b in blocks("python") if not b.why], ids=lambda b: b.page)
def test_python_runs(block: Block, tmp_path: Path) -> None:
    process = Command("-c", block.code, folder=tmp_path, errors=True)
    output = process.output.read()
    assert process.wait() == 0, output


@pytest.mark.parametrize("block", [b for b in blocks("sh") if not b.why], ids=lambda b: b.page)
def test_commands_run(block: Block, tmp_path: Path) -> None:
    for words in commands(block):
        if words[0] == "make":
            continue  # installs and runs this very suite
        assert words[0] == "useralign", f"not run, and not marked so: {words}"
        process = Command(*words[1:], folder=tmp_path, errors=True)
        output = process.output.read()
        assert process.wait() == 0, f"{words}: {output}"


@pytest.mark.parametrize("block", blocks("sh"), ids=lambda b: b.page)
def test_commands_exist(block: Block) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for words in commands(block):
        if words[0] == "make":
            assert all(f"\n{target}:" in makefile for target in words[1:]), words
        elif words[0] == "useralign":
            _check_command(words)


@cache
def _command_line() -> Any:
    return typer.main.get_command(build())


def _check_command(words: list[str]) -> None:
    """Check that a command exists and has the options that are given to it."""
    command = _command_line()
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
    assert "[" not in reference.command_line(), "brackets are markup to --help, which hides them"


def test_settings_are_documented() -> None:
    table = (ROOT / "docs" / "reference" / "settings.md").read_text("utf-8")
    pattern = re.compile(r"""["']((?:USERALIGN|OPENAI|HF|XDG)_[A-Z_]+)["']""")
    read = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for name in pattern.findall(path.read_text("utf-8"))
    }
    assert read
    for provider in providers().values():
        read |= {provider.key, f"{provider.key}_FILE", provider.address} - {""}
    assert not {name for name in read if f"`{name}`" not in table}


def test_settings_that_are_named_are_read() -> None:
    table = (ROOT / "docs" / "reference" / "settings.md").read_text("utf-8")
    source = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    read = set(re.findall(r"""["'](USERALIGN_[A-Z_]+)["']""", source))
    for provider in providers().values():
        read |= {provider.key, f"{provider.key}_FILE"}
    for path in (*PAGES, *RECIPES):
        names = set(re.findall(r"\bUSERALIGN_[A-Z_]+\b", path.read_text("utf-8")))
        assert names <= read, f"{path.name}: nothing reads {sorted(names - read)}"
        assert all(f"`{name}`" in table for name in names), path.name


def test_routes_that_are_named_exist(routes: set[str]) -> None:
    seen = set()
    for path in (*PAGES, *RECIPES):
        for route in _routes_in(path.read_text("utf-8")):
            seen.add(route)
            assert route in routes, f"{path.name}: there is no route {route}"
    assert {"/healthz", "/api/sessions/{}/answers", "/study/{}"} <= seen


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """All routes, with {} for what varies."""
    store = open_store(f"sqlite:///{tmp_path_factory.mktemp('routes') / 'x.db'}")
    paths = {re.sub(r"\{\w+\}", "{}", path) for _, path in table(create_app(store))}
    store.close()
    return paths


def _routes_in(text: str) -> list[str]:
    """Return the routes that a page names: in code, and in addresses of a server of ours."""
    code = re.findall(r"`(?:GET |POST |DELETE )?(/[a-z][^`\s?]*)[^`]*`", text)
    addresses = re.findall(r"(?:127\.0\.0\.1|localhost):8000(/[^\s\"'`)?]+)", text)
    shell = [f"/api{path}" for path in re.findall(r"\$API(/[^\s\"'?]+)", text)]
    named = [*code, *addresses, *shell]
    plain = [re.sub(r"<\w+>|\{\w+\}|\b[A-Z][A-Z_]+\b", "{}", path) for path in named]
    # The API as a whole, somebody else's server, folders.
    return [path for path in plain if not re.match(r"/(api$|v1|path|tmp|usr)", path)]


def test_commands_in_running_text_exist() -> None:
    count = 0
    for page in PAGES:
        text = _FENCE.sub("", page.read_text("utf-8"))
        for line in re.findall(r"`(useralign [a-z][^`]*)`", text):
            words = line.replace("...", "").replace("[", "").replace("]", "")
            _check_command(shlex.split(words))
            count += 1
    assert count > 30


def test_commands_of_the_container_exist() -> None:
    docker, compose = (path.read_text("utf-8") for path in RECIPES)
    (command,) = re.findall(r"^CMD (\[.*\])$", docker, re.M)
    _check_command(json.loads(command))
    (line,) = re.findall(r"exec (useralign .*?)\n    secrets", compose, re.DOTALL)
    _check_command(line.split())


def test_providers_are_documented() -> None:
    page = (ROOT / "docs" / "models.md").read_text("utf-8")
    for provider in providers().values():
        for part in (provider.label, provider.key, provider.base_url, provider.model):
            assert part in page, f"{provider.name}: {part}"


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\((?!http)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_every_page_is_in_the_site() -> None:
    nav = (ROOT / "mkdocs.yml").read_text("utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        assert str(page.relative_to(ROOT / "docs")) in nav, f"{page.name} is not in mkdocs.yml"
