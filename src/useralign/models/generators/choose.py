"""Which model to use: the one that is named, or the best one that is at hand."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from useralign import registry
from useralign.errors import ModelUnavailableError, OptionError
from useralign.models import weights
from useralign.models.generators.base import Generator

if TYPE_CHECKING:
    from pathlib import Path

KEY_VARIABLES = ("OPENAI_API_KEY", "OPENAI_API_KEY_FILE")


def generator_for(name: str | Path | Generator | None = None, **options: Any) -> Generator:
    """Return a generator.

    Parameters
    ----------
    name : str, Path, Generator or None
        "openai", "openai:gpt-4o", "local:smollm2-135m" or a plug-in's name, with or without a
        model after a colon; the name of a model in the catalogue; the path of a .gguf file; or
        a generator, which is returned as it is. None takes OpenAI when a key is set, else a
        local model that has been pulled.
    **options
        For the generator.

    Raises
    ------
    OptionError
        If nothing of that name is known.
    ModelUnavailableError
        If nothing is named, no key is set, and no model has been pulled.
    """
    if isinstance(name, Generator):
        return name
    if name is None:
        name = default_name()
    kind, model = _split(str(name))
    maker = registry.load("generators", kind)
    made = maker(model, **options) if model else maker(**options)
    if not isinstance(made, Generator):
        raise OptionError(f"the generator {kind!r} made a {type(made).__name__}, not a Generator")
    return made


def default_name() -> str:
    """Return the name of the best generator at hand.

    Raises
    ------
    ModelUnavailableError
        If there is none; the message says how to get one.
    """
    if any(os.environ.get(variable) for variable in KEY_VARIABLES):
        return "openai"
    here = weights.pulled("text")
    if here:
        best = weights.DEFAULT_TEXT_MODEL
        return f"local:{best if best in here else here[0]}"
    size = weights.find(weights.DEFAULT_TEXT_MODEL).size / 1e9
    raise ModelUnavailableError(
        "there is no model to write the answers. Either get a local one, once, "
        f"{size:.1f} GB: useralign models pull {weights.DEFAULT_TEXT_MODEL}; "
        "or set OPENAI_API_KEY"
    )


def _split(name: str) -> tuple[str, str]:
    # Before the colon is looked for: a path may have one of its own.
    if name.lower().endswith(".gguf"):
        return "local", name.removeprefix("local:")
    entry = weights.catalogue().get(name)
    if entry is not None and entry.kind == "text":
        return "local", name
    kind, _, model = name.partition(":")
    return kind, model
