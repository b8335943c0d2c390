"""Make the golden outputs anew: `python -m tests.golden.make_outputs [PART ...]`.

The files under `v0` were written by version 0.1.0, from before the tree was put in order. They
prove that later versions compute the same, and still read what it wrote. So they are made anew
only when results are meant to change, and then only those parts. What that version saved, see
`make_saved`, is never made anew.
"""

from __future__ import annotations

import json
import lzma
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.golden import outputs
from tests.golden.outputs import ASKS, DATA, VISUAL_ASKS


def write(name: str, value: Any) -> None:
    """Write a value as JSON that a person can compare line by line."""
    whole = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
    (DATA / name).write_text(whole, encoding="utf-8")


def asks(_: Path) -> None:
    """Write whole sessions of `useralign ask`."""
    write("asks.json", {name: outputs.ask(words) for name, words in ASKS.items()})
    write("asks-visual.json", {name: outputs.ask(words) for name, words in VISUAL_ASKS.items()})


def plans(folder: Path) -> None:
    """Write the results of the two plans."""
    for name in ("plan", "plan-visual"):
        path = outputs.run_plan(name, folder / name, 1)
        (DATA / f"{name}-results.json").write_text(outputs.text(path), encoding="utf-8")


def reproduce(folder: Path) -> None:
    """Write results and tables of a small reproduction."""
    write("reproduce.json", outputs.reproduce("large-pool", folder / "large"))
    whole = json.dumps(outputs.reproduce("food2d", folder / "food2d")).encode()
    (DATA / "reproduce-food2d.json.xz").write_bytes(lzma.compress(whole))


def bench(folder: Path) -> None:
    """Write results and tables of a small comparison of methods."""
    outputs.bench(folder, 1)
    write("bench.json", outputs.texts(folder))


def schema(folder: Path) -> None:
    """Write the description of the HTTP API as it is served."""
    with outputs.serving(f"sqlite:///{folder / 'empty.db'}") as address:
        write("openapi.json", outputs.served(f"{address}/openapi.json"))


PARTS = {part.__name__: part for part in (asks, plans, reproduce, bench, schema)}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        with tempfile.TemporaryDirectory() as temporary:
            PARTS[name](Path(temporary))
