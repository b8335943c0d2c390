"""Which models can make answers here, for a person to choose from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec

from useralign.models import KEY_VARIABLES, weights
from useralign.models.weights import DEFAULT_TEXT_MODEL

SERVICE = (*KEY_VARIABLES, "OPENAI_BASE_URL")


@dataclass(frozen=True, slots=True)
class Choice:
    """A model at hand.

    Parameters
    ----------
    name : str
        As `generator_for` takes it.
    label : str
        As a person reads it.
    makes : frozenset of str
        `"text"`, `"image"`.
    """

    name: str
    label: str
    makes: frozenset[str]


def at_hand() -> list[Choice]:
    """List the models that can be used now, the best first; nothing is loaded or called."""
    found = []
    if any(os.environ.get(variable) for variable in SERVICE):
        where = "OpenAI-compatible service" if os.environ.get("OPENAI_BASE_URL") else "OpenAI"
        found.append(Choice("openai", where, frozenset({"text", "image"})))
    if find_spec("xllamacpp") is not None:
        pulled = sorted(weights.pulled("text"), key=lambda name: name != DEFAULT_TEXT_MODEL)
        found += [
            Choice(f"local:{name}", f"{name}, on this machine", frozenset({"text"}))
            for name in pulled
        ]
    return found


def missing() -> str:
    """Say how to get a model."""
    return (
        "No model is set up here, so only the questions below can be answered. To ask anything, "
        f"run `useralign models pull {DEFAULT_TEXT_MODEL}`, or set OPENAI_API_KEY, and start the "
        "server again."
    )
