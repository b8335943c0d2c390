"""A process of its own that makes a pool slowly, for a test to kill."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.pooling.conftest import QUESTION, Fingerprints, Scripted
from useralign.pooling import Recipe, generate_pool

if TYPE_CHECKING:
    from useralign.models import Text, TextRequest


class OneByOne(Scripted):
    """Reaches the model one call at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.delay = 0.05
        self.gate = asyncio.Semaphore(1)

    async def text(self, request: TextRequest) -> Text:
        async with self.gate:
            return await super().text(request)


if __name__ == "__main__":
    generate_pool(QUESTION, OneByOne(), Fingerprints(), Recipe(size=40), draft=sys.argv[1])
