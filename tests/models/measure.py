"""The figures of docs/decisions/0002-embedders.md: `python -m tests.models.measure`."""

from __future__ import annotations

import sys
from time import perf_counter, process_time

from tests.models.quality import CONTRASTS, sides, topics
from useralign import registry
from useralign.models import Embedder, embedder_statuses

LONG = " It takes about an hour, costs little, and leaves you with something to tell the others."


def speed(embedder: Embedder, suffix: str) -> tuple[float, float]:
    """Seconds, and CPU seconds, for 1,000 different texts."""
    short = [text for pair in CONTRASTS.values() for side in pair for text in side]
    texts = [f"{short[i % len(short)]} {i}.{suffix}" for i in range(1000)]
    wall, cpu = perf_counter(), process_time()
    embedder.embed_texts(texts)
    return perf_counter() - wall, process_time() - cpu


def main() -> None:
    """Write one line an embedder that can work here."""
    for status in embedder_statuses():
        if not status.usable or "text" not in status.embeds:
            continue
        # Straight from the registry: the cache would be measured instead.
        make = registry.load("embedders", status.name)
        cold = speed(make(), "")
        # Another one, because a tokeniser remembers texts that it has seen.
        embedder: Embedder = make()
        embedder.embed_texts(["first"])
        short, long = speed(embedder, ""), speed(embedder, LONG)
        sys.stdout.write(
            f"{status.name:14} {status.dimension:4}-d  sides {sides(embedder):.3f}  "
            f"topics {topics(embedder):.3f}  1,000 short {short[0]:.2f} s ({short[1]:.1f} CPU), "
            f"with loading {cold[0]:.2f} s ({cold[1]:.1f} CPU)  1,000 long {long[0]:.2f} s "
            f"({long[1]:.1f} CPU)\n"
        )


if __name__ == "__main__":
    main()
