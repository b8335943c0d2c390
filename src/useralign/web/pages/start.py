"""The first page: a question, or one of those that come with useralign."""

# ruff: noqa: TC001 - the framework reads annotations when it runs
from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, Request, Response

from useralign import domains
from useralign.errors import ModelUnavailableError, OptionError
from useralign.pooling import PoolRequest, check_question, find_pool
from useralign.web import beginning, models
from useralign.web.identity import Here
from useralign.web.kept import unfinished
from useralign.web.rendering import page, to

if TYPE_CHECKING:
    from useralign.domains import Domain

router = APIRouter()
# Offered on the start page, in this order, with a heading.
SHELVES = (
    ("food64d", "Food"),
    ("travel64d", "Travel"),
    ("visual512d", "Pictures"),
    ("dsp64d", "Anything"),
)
FEW = 3  # questions of a shelf that are shown at once


@router.get("/")
def start(request: Request, who: Here) -> Response:
    """Show the question box, the examples, and what was left unfinished."""
    return show_start(request, who.owner)


@router.post("/ask")
def ask(
    request: Request,
    who: Here,
    *,
    question: Annotated[str, Form()] = "",
    kind: Annotated[str, Form(pattern="^(text|image)$")] = "text",
    model: Annotated[str, Form(max_length=200)] = "",
    shown: Annotated[int, Form(ge=2, le=4)] = 2,
    rank: Annotated[bool, Form()] = False,
    budget: Annotated[str, Form(pattern=r"^\d{0,3}$")] = "",
    method: Annotated[str, Form(pattern=f"^({beginning.CERTAIN}|{beginning.QUICK})?$")] = "",
    fresh: Annotated[bool, Form()] = False,
) -> Response:
    """Begin: at once if the answers are there, else by having them made."""
    state = request.app.state
    state.limits.asks.take(state.limits.visitor(request))
    begin = {
        "method": method or beginning.usual_method(state.store, who.owner),
        "shown": shown,
        "rank": rank,
        "budget": int(budget) if budget else None,
        "fresh": fresh,
        "seed": None,
    }
    try:
        wanted = _wanted(question, kind, model)
        found = find_pool(wanted) if wanted.accepts_existing else None
        if found is None:
            _check_makable(wanted, allowed=state.settings.visitors_may_make)
    except (OptionError, ModelUnavailableError) as error:
        return show_start(request, who.owner, trouble=str(error), question=question, status=422)
    state.store.persons.visit(who.owner, state.settings.now())
    if found is not None:
        pool_id = state.store.pools.add(found[0], None if found[1] else who.owner)
        screen = beginning.begin(state.store, state.live, pool_id, who.owner, begin)
        return to(request, f"/s/{screen.session_id}")
    wish = {"question": wanted.question, "kind": wanted.kind, "model": wanted.model}
    return to(request, f"/making/{state.makings.begin(who.owner, wish | {'begin': begin})}")


def show_start(
    request: Request, owner: str, *, trouble: str = "", question: str = "", status: int = 200
) -> Response:
    """Return the start page, with what went wrong and what was typed, if anything."""
    store = request.app.state.store
    allowed = request.app.state.settings.visitors_may_make
    return page(
        request,
        "start.html",
        shelves=shelves(),
        few=FEW,
        choices=models.at_hand() if allowed else [],
        missing=models.missing() if allowed else _CLOSED,
        unfinished=unfinished(store, owner, most=3),
        remembers=store.persons.get(owner).remember,
        others_share=beginning.others_share(store, owner),
        trouble=trouble,
        question=question,
        status_code=status,
    )


_CLOSED = "Here, the questions below can be answered. New answers are not made for visitors."


@cache
def shelves() -> list[dict[str, Any]]:
    """Return the shipped questions by theme; those that ask for pictures say so."""
    return [
        {"title": title, "kind": _kind(name), "questions": _texts(domains.load(name))}
        for name, title in SHELVES
    ]


def _kind(name: str) -> str:
    return domains.load(name).kind


def _texts(domain: Domain) -> list[str]:
    return [question.text for question in domain.questions]


def _wanted(question: str, kind: str, model: str) -> PoolRequest:
    """Return what a person wants; a question that ships with its answers has its own kind."""
    if not question.strip():
        raise OptionError("Type a question first, or take one of those below.")
    text = check_question(question)
    shipped = domains.find_question(text)
    if model or shipped is None:
        return PoolRequest(text, model=model or None, images=kind == "image")
    return PoolRequest(text, images=shipped[0].kind == "image")


def _check_makable(wanted: PoolRequest, *, allowed: bool) -> None:
    """Raise if answers would have to be made and cannot be."""
    if wanted.accepts_existing and domains.find_question(wanted.question) is not None:
        return
    if not allowed:
        raise ModelUnavailableError(_CLOSED)
    offered = models.at_hand()
    if wanted.model is not None and wanted.model not in {choice.name for choice in offered}:
        raise OptionError("That model is not at hand here; choose one of those offered.")
    named = [choice for choice in offered if wanted.model in (None, choice.name)]
    if not any(wanted.kind in choice.makes for choice in named):
        what = "draw pictures" if wanted.images else "write answers"
        which = "That model cannot" if wanted.model else "There is no model here that can"
        raise ModelUnavailableError(f"{which} {what}. {models.missing()}")
