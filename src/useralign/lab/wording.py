"""The words of the report, from `data/report.toml`: what it says around the numbers."""

from __future__ import annotations

import tomllib
from functools import cache, reduce
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


@cache
def load_words() -> dict[str, Any]:
    """Load all texts as the file has them."""
    return tomllib.loads((DATA / "report.toml").read_text(encoding="utf-8"))


def words(*path: str, **values: Any) -> str:
    """Return the text at a path of keys with the values filled in; empty if there is none."""
    text = reduce(lambda table, key: table.get(key, {}), path, load_words())
    return str(text or "").format(**values)
