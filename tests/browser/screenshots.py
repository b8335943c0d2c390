"""Pictures of every page in every state: `python -m tests.browser.screenshots FOLDER [NAME...]`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page

from tests.browser.places import SIZES, Place, launched
from tests.browser.states import Service, admin, furnished, personal, pictures, study
from useralign.files import cache_dir


def states(page: Page, place: Place, service: Service, parts: list[str]) -> Iterator[str]:
    """Walk through what was asked for: personal, pictures, study, admin; or all."""
    walks = {
        "personal": lambda: personal(page, place, service),
        "pictures": lambda: pictures(page, place),
        "study": lambda: study(page, place),
        "admin": lambda: admin(page, place),
    }
    for name in parts or walks:
        yield from walks[name]()


def main(out: str, *parts: str) -> None:
    """Write the pictures into a folder."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as kept,
        # Measuring pictures takes a model, which is in the cache of whoever runs this.
        furnished(Path(kept), USERALIGN_CACHE=str(cache_dir())) as (place, service),
        launched() as browser,
    ):
        for size, options in SIZES.items():
            for scheme in ("light", "dark"):
                context = browser.new_context(**options, color_scheme=scheme)
                page = context.new_page()
                for name in states(page, place, service, list(parts)):
                    page.mouse.move(0, 0)
                    picture = folder / f"{name}-{size}-{scheme}.png"
                    page.screenshot(path=picture, full_page=True, animations="disabled")
                context.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
