"""Weights of models that run here: a catalogue, and a folder they are kept in."""

from useralign.weights.entries import DEFAULT_TEXT_MODEL, Hub, Part, Weights, catalogue, find
from useralign.weights.shelf import ensure, path_of, pulled, remove

__all__ = [
    "DEFAULT_TEXT_MODEL",
    "Hub",
    "Part",
    "Weights",
    "catalogue",
    "ensure",
    "find",
    "path_of",
    "pulled",
    "remove",
]
