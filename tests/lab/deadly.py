"""A cell that kills the worker that computes it."""

from __future__ import annotations

import multiprocessing
import os
from dataclasses import fields
from pathlib import Path

from useralign.lab.cell import PlanCell


class Deadly(PlanCell):
    """Dies once, leaving a mark at the path in the environment, or always."""

    __slots__ = ()

    @classmethod
    def of(cls, cell: PlanCell) -> Deadly:
        return cls(**{f.name: getattr(cell, f.name) for f in fields(cell)})

    @property
    def key(self) -> str:
        mark = os.environ["DEADLY"]
        worker = multiprocessing.parent_process() is not None
        if worker and (mark == "always" or not Path(mark).exists()):
            if mark != "always":
                Path(mark).touch()
            os._exit(9)
        return PlanCell.key.fget(self)  # type: ignore[attr-defined, no-any-return]
