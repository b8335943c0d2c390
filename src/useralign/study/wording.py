"""The texts that participants read, by key and language: built in, or a study's own."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from useralign.errors import InputError
from useralign.study.pages import in_language

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FILE = Path(__file__).parent / "data" / "wording.toml"
PLAIN, ENGLISH = "plain", "en"


@cache
def _built_in() -> dict[str, Any]:
    """Return the texts by wording, language and key."""
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


def list_keys() -> list[str]:
    """List the keys of all texts."""
    return list(_built_in()[PLAIN][ENGLISH])


def built_in_languages() -> list[str]:
    """List the languages that need no texts of a study's own."""
    return list(_built_in()[PLAIN])


class Words:
    """The texts of a study in one language: its own, by key, or those of a built-in wording."""

    def __init__(
        self, wording: str, own: Mapping[str, str | Mapping[str, str]], language: str
    ) -> None:
        self._own, self._language = own, language
        tables = _built_in()
        self._texts = tables[PLAIN][ENGLISH] | tables[PLAIN].get(language, {})
        self._texts |= tables[wording].get(language, {})

    def __call__(self, key: str, **values: Any) -> str:
        """Return a text; `{number}` and the like in it stand for the values."""
        own = self._own.get(key)
        text = self._texts[key] if own is None else in_language(own, self._language)
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", str(value))
        return text


class RefusedError(InputError):
    """Somebody cannot take part; `key` is the text that says why, for their own language."""

    def __init__(self, key: str, **values: str) -> None:
        super().__init__(Words(PLAIN, {}, ENGLISH)(key, **values))
        self.key, self.values = key, values


def check_words(own: Mapping[str, Any], wording: str, languages: Sequence[str]) -> list[str]:
    """List what is wrong with a study's own texts: unknown keys, languages without a text."""
    keys = list_keys()
    problems = [
        f"words.{key}: is no text of a page; `useralign study words` prints them all"
        for key in own
        if key not in keys
    ]
    tables = _built_in()
    for language in languages:
        texts = tables[PLAIN].get(language, {}) | tables[wording].get(language, {})
        missing = [key for key in keys if key not in texts and not _has(own.get(key), language)]
        if missing:
            problems.append(
                f"languages: {language!r} is not built in, and [words] has no text in it for "
                f"{', '.join(missing)}; built in are {', '.join(built_in_languages())}"
            )
    return problems


def _has(text: Any, language: str) -> bool:
    return isinstance(text, dict) and language in text


def choose_language(languages: Sequence[str], wanted: str, accepted: str) -> str:
    """Return the language for somebody: what the link says, what the browser likes, or the first.

    `wanted` is from the link, or nothing; `accepted` the browser's header `Accept-Language`.
    """
    if wanted in languages:
        return wanted
    ranked = []
    for part in accepted[:500].split(","):
        name, _, weight = part.strip().partition(";q=")
        try:
            ranked.append((-float(weight or 1), name.lower()))
        except ValueError:
            continue
    for _, name in sorted(ranked):
        for language in languages:
            if language.lower() in (name, name.partition("-")[0]):
                return language
    return languages[0]
