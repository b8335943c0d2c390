"""The compiled kernel when it was built, else None.

Installing compiles `_kernel.c` if the machine has a C compiler. Where it has none, the NumPy
twins in `mle` and `cone` do the same work, more slowly. `USERALIGN_KERNEL=numpy` chooses them.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any


def _load() -> Any:
    if os.environ.get("USERALIGN_KERNEL") == "numpy":
        return None
    try:
        return import_module("useralign.geometry._kernel")
    except ImportError:
        return None


compiled: Any = _load()


def name() -> str:
    """Return which kernel is in use: `"compiled"` or `"numpy"`."""
    return "compiled" if compiled else "numpy"
