"""All routes of an application, wherever the framework keeps them."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

SAFE = {"GET", "HEAD", "OPTIONS"}


def table(app: FastAPI) -> list[tuple[str, str]]:
    """List methods and paths."""
    found: set[tuple[str, str]] = set()
    for route in app.routes:
        inside = getattr(route, "effective_route_contexts", None)
        items: list[Any] = list(inside()) if inside else [route]
        found |= {(method, item.path) for item in items for method in item.methods or ()}
    assert len(found) > 30, "the walk misses routes"
    return sorted(found)


def unsafe(app: FastAPI) -> list[tuple[str, str]]:
    """List the routes that change something."""
    return [(method, path) for method, path in table(app) if method not in SAFE]


def filled(path: str, **names: str) -> str:
    """Fill in a path; what is not given becomes a word."""
    parts = [
        names.get(part.strip("{}"), "word") if part.startswith("{") else part
        for part in path.split("/")
    ]
    return "/".join(parts)
