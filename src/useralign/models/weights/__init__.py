"""Weights of models that run here: a catalogue, and a folder they are kept in."""

from useralign.models.weights.entries import DEFAULT_TEXT_MODEL, Hub, Part, Weights, catalogue, find
from useralign.models.weights.shelf import ensure, path_of, pulled, remove

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
