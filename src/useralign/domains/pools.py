"""Domains of your own: a folder of pools, and who the people are that ask.

DIR/NAME.json       a question's pool, as `useralign pool` makes it, with a baseline
DIR/people.toml     people by name and description, under [everyone] or the NAME of a pool; not
                    needed where the pools name them, as those of `useralign pool dsp` do
DIR/verdicts.jsonl  how a language model that plays them judged each pair, if it has

A pool may also have its people's rankings, as `meta["rankings"]`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from useralign.domains.questions import Domain, Persona, Question
from useralign.errors import FileFormatError
from useralign.files import parse_object
from useralign.pool import Pool

if TYPE_CHECKING:
    from pathlib import Path

    from useralign.models import Embedder

PEOPLE, VERDICTS = "people.toml", "verdicts.jsonl"
Verdicts = dict[tuple[str, str], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class PoolQuestion(Question):
    """A question whose pool is there already; its features are made anew by another embedder."""

    ready: Pool | None = None

    def pool(self, style: str = "mixed", embedder: str | Embedder | None = None) -> Pool:
        """Return the pool, embedded anew if another embedder is named than it was made with."""
        if self.ready is not None and (embedder is None or embedder == self.ready.embedder):
            return self.ready
        return Question.pool(self, style, embedder)


def load_pools(folder: Path) -> Domain:
    """Load a folder of pools as a domain, named after the folder.

    Raises FileFormatError if there are none, one has no baseline, or nobody asks.
    """
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise FileFormatError(
            f"{folder}: has no pools (NAME.json); `useralign pool generate QUESTION --out "
            f"{folder}/NAME.json` makes one"
        )
    people = _people(folder / PEOPLE)
    verdicts = _verdicts(folder / VERDICTS)
    questions = tuple(_question(path, people, verdicts) for path in paths)
    pool = questions[0].pool()
    return Domain(folder.name, pool.question, questions[0].kind, pool.dimension, questions)


def _question(
    path: Path, people: dict[str, dict[str, str]], verdicts: dict[tuple[str, str], Verdicts]
) -> PoolQuestion:
    pool = Pool.load(path)
    if pool.baseline is None:
        raise FileFormatError(
            f"{path}: has no baseline to measure win-rates against; pools that a model makes have "
            "one, others take it as baseline="
        )
    baseline = replace(pool.baseline, id="baseline")
    users = people.get(path.stem) or people.get("everyone") or pool.meta.get("users")
    if not isinstance(users, dict) or not users:
        raise FileFormatError(
            f"{path.parent / PEOPLE}: says nothing about who asks {path.stem}; write a line "
            'NAME = "who they are and what they like" for each under [everyone]'
        )
    return PoolQuestion(
        path.stem,
        pool.question,
        baseline,
        tuple(pool.candidates),
        tuple(
            Persona(
                name,
                str(text),
                tuple(pool.meta.get("rankings", {}).get(name, ())),
                verdicts.get((path.stem, name), {}),
            )
            for name, text in users.items()
        ),
        kind="image" if pool[0].image else "text",
        whole=True,
        ready=pool.with_candidates(pool.candidates, baseline),
    )


def _people(path: Path) -> dict[str, dict[str, str]]:
    if not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileFormatError(f"{path}: cannot be read as TOML ({error})") from error


def read_verdicts(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file of verdicts; one that was cut short is left out."""
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [entry for line in lines if (entry := parse_object(line))]


def _verdicts(path: Path) -> dict[tuple[str, str], Verdicts]:
    """Return the two verdicts on each pair, by question and person."""
    verdicts: dict[tuple[str, str], Verdicts] = {}
    for entry in read_verdicts(path):
        whose = verdicts.setdefault((entry["question"], entry["person"]), {})
        whose[entry["first"], entry["second"]] = entry["verdicts"][0], entry["verdicts"][1]
    return verdicts
