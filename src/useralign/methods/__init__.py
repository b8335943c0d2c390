"""Ways of choosing what to ask: the paper's, its baselines, and plug-ins."""

from __future__ import annotations

import inspect
from typing import Any

from useralign import registry
from useralign.errors import OptionError
from useralign.methods.base import Confidence, Decision, Method, Run

__all__ = ["Confidence", "Decision", "Method", "Run", "list_methods", "method_for"]


def list_methods() -> list[str]:
    """List the names of all registered methods, sorted."""
    return registry.names("methods")


def method_for(method: str | Method, **options: Any) -> Method:
    """Return a method object for a name, or the object itself.

    Parameters
    ----------
    method : str or Method
    **options
        The constructor's arguments, when a name is given.

    Raises
    ------
    OptionError
        If the name is not known, or the method does not take an option.
    """
    if isinstance(method, Method):
        if options:
            raise OptionError(
                f"options {sorted(options)} were given together with a method object; "
                "give them to its constructor"
            )
        return method
    if not isinstance(method, str):
        raise OptionError(f"method must be a name or a Method, got {type(method).__name__}")
    factory = registry.load("methods", method)
    parameters = list(inspect.signature(factory).parameters)
    if unknown := sorted(set(options) - set(parameters)):
        raise OptionError(
            f"method {method!r} takes no option {unknown[0]!r}; it takes "
            + (", ".join(parameters) or "none")
        )
    built: Method = factory(**options)
    return built
