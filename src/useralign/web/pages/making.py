"""Watching a pool being made."""

# ruff: noqa: TC001 - the framework reads annotations when it runs
from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from useralign.web import markdown
from useralign.web.identity import Here
from useralign.web.makings import Making
from useralign.web.rendering import page, to

router = APIRouter(prefix="/making/{making_id}")


@router.get("")
def making(request: Request, who: Here, making_id: str) -> Response:
    """Show how far it is; without JavaScript the page comes again by itself."""
    found = _get(request, who, making_id)
    if found.state == "ready" and found.session_id:
        return to(request, f"/s/{found.session_id}")
    return page(request, "making.html", making=found)


@router.get("/state")
def state(request: Request, who: Here, making_id: str) -> dict[str, Any]:
    """Tell a script how far it is."""
    found = _get(request, who, making_id)
    return {
        "state": found.state,
        "made": found.made,
        "wanted": found.wanted,
        "note": found.note,
        "arrived": [markdown.brief(text, 220) for text in found.arrived],
        "next": f"/s/{found.session_id}" if found.session_id else None,
    }


@router.post("/retry")
def retry(request: Request, who: Here, making_id: str) -> Response:
    """Try again; what the model said so far is not paid for twice."""
    limits = request.app.state.limits
    limits.asks.take(limits.visitor(request))
    request.app.state.makings.retry(making_id, who.owner)
    return to(request, f"/making/{making_id}")


def _get(request: Request, who: Here, making_id: str) -> Making:
    found: Making = request.app.state.makings.get(making_id, who.owner)
    return found
