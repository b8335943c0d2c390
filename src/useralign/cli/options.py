"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

Embedder = Annotated[str | None, typer.Option(help="What turns answers into features.")]
Care = Annotated[
    bool | None,
    typer.Option(
        "--care/--no-care",
        help="List and weigh ideas before answers are written: slower, more varied. A local "
        "model does it unless told not to.",
        show_default=False,
    ),
]
