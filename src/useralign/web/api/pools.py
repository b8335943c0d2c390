"""Pools over HTTP."""

# ruff: noqa: TC001 - the framework reads annotations when it runs
from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from useralign.errors import OptionError, PoolError
from useralign.pool import Candidate, Pool
from useralign.pooling import PoolRequest, check_question, find_pool
from useralign.web import models as at_hand
from useralign.web.api.caller import Caller
from useralign.web.api.models import MOST_NUMBERS, MakingOut, ModelOut, NewPool, PoolOut
from useralign.web.api.views import making_out, pool_out

if TYPE_CHECKING:
    from useralign.web.makings import Making

router = APIRouter(tags=["pools"])


@router.post(
    "/pools",
    status_code=201,
    responses={202: {"model": MakingOut, "description": "A model is making the pool."}},
)
def make_a_pool(
    request: Request, response: Response, caller: Caller, body: NewPool
) -> PoolOut | MakingOut:
    """Make a pool: of your own answers, at once; or of a model's, in the background."""
    state = request.app.state
    state.limits.asks.take(caller)
    pool = _given(body)
    owner: str | None = caller
    if pool is None:
        wanted = PoolRequest(
            check_question(body.question),
            model=body.model,
            size=body.size,
            images=body.kind == "image",
        )
        found = find_pool(wanted) if wanted.accepts_existing and not wanted.images else None
        if found is None:
            return _begin(request, response, caller, wanted)
        pool, shipped = found
        owner = caller if shipped is None else None
    pool_id = state.store.pools.add(pool, owner)
    response.headers["Location"] = f"/api/pools/{pool_id}"
    return pool_out(pool_id, state.store.pools.get(pool_id, caller))


@router.get("/pools/{pool_id}")
def get_a_pool(request: Request, caller: Caller, pool_id: str) -> PoolOut:
    """Return a pool."""
    return pool_out(pool_id, request.app.state.store.pools.get(pool_id, caller))


@router.get("/makings/{making_id}")
def get_a_making(request: Request, caller: Caller, making_id: str) -> MakingOut:
    """Tell how far a pool is that a model makes."""
    return making_out(request.app.state.makings.get(making_id, caller))


@router.get("/models")
def list_models(_: Caller) -> list[ModelOut]:
    """List the models that can make answers here."""
    return [
        ModelOut(name=choice.name, label=choice.label, makes=sorted(choice.makes))
        for choice in at_hand.at_hand()
    ]


def _begin(request: Request, response: Response, caller: str, wanted: PoolRequest) -> MakingOut:
    """Have a model at work on a pool."""
    if wanted.model is not None and wanted.model not in {c.name for c in at_hand.at_hand()}:
        raise OptionError(
            f"the model {wanted.model!r} is not at hand; GET /api/models lists those that are"
        )
    makings = request.app.state.makings
    wish = {"question": wanted.question, "kind": wanted.kind}
    making_id = makings.begin(caller, wish | {"model": wanted.model, "size": wanted.size})
    making: Making = makings.get(making_id, caller)
    response.status_code = 202
    response.headers["Location"] = f"/api/makings/{making_id}"
    return making_out(making)


def _given(body: NewPool) -> Pool | None:
    """Return the pool of the answers that were given, or None if there are none."""
    if body.texts is not None and body.candidates is not None:
        raise PoolError("texts and candidates were both given; expected one of them")
    if body.texts is None and body.candidates is None and body.features is None:
        return None
    candidates = _candidates(body)
    if body.features is None:
        how = body.normalise or "unit"
        return Pool.from_texts(
            body.question, candidates or [], baseline=body.baseline, normalise=how
        )
    if sum(map(len, body.features)) > MOST_NUMBERS:
        raise PoolError(f"features have more than {MOST_NUMBERS} numbers; give fewer")
    how = body.normalise or "ball"
    return Pool(body.question, candidates, body.features, body.baseline, normalise=how)


def _candidates(body: NewPool) -> list[Candidate] | None:
    if body.texts is not None:
        return [Candidate(text=text, source="given") for text in body.texts]
    if body.candidates is None:
        return None
    ids = [item.id for item in body.candidates if item.id is not None]
    if len(set(ids)) < len(ids):
        raise PoolError("two candidates have the same id; ids must differ")
    return [
        Candidate(text=item.text, id=item.id, source=item.source or "given")
        for item in body.candidates
    ]
