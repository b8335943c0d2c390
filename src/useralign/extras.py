"""Optional dependencies: importing them, or naming the extra that brings them."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from useralign.errors import MissingExtraError, ModelUnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence


def import_extra(module: str, feature: str, extra: str) -> Any:
    """Import an optional dependency of a feature.

    Raises `MissingExtraError` if it is not installed, and `ModelUnavailableError` if it is but
    fails to start, as torchvision does beside another build of torch.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(feature, extra) from None
    except (RuntimeError, OSError) as error:
        raise ModelUnavailableError(
            f"{feature} needs {module}, which is installed but cannot be imported ({error}): "
            f"pip install --force-reinstall 'useralign[{extra}]'"
        ) from error


def require_extra(modules: Sequence[str], feature: str, extra: str) -> None:
    """Raise `MissingExtraError` unless the modules are installed; none of them is imported."""
    if absent_modules(modules):
        raise MissingExtraError(feature, extra)


def install_hint(modules: Sequence[str], extra: str | None = None) -> str | None:
    """Return which top-level modules are not installed and how to get them, or None.

    Without an extra they belong to the base installation.
    """
    absent = absent_modules(modules)
    if not absent:
        return None
    package = f"'useralign[{extra}]'" if extra else "useralign"
    return f"{', '.join(absent)} not installed: pip install {package}"


def absent_modules(modules: Sequence[str]) -> list[str]:
    """Return those top-level modules that are not installed; none of them is imported."""
    return [module for module in modules if importlib.util.find_spec(module) is None]
