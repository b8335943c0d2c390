"""The routes of the HTTP API: pools, and sessions with their answers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fastapi import APIRouter, Depends, Request, Response

from useralign import models
from useralign.errors import AnswerError, NotFoundError, OptionError, PoolError, UseralignError
from useralign.pool import Candidate, Pool
from useralign.pooling import PoolRequest, check_question, find_pool
from useralign.store import UserResponse
from useralign.web import form_answers, tokens
from useralign.web.api.models import (
    MOST_NUMBERS,
    ComparisonOut,
    MakingOut,
    ModelOut,
    NewAnswer,
    NewPool,
    NewSession,
    NewToken,
    PoolOut,
    ResultOut,
    SessionOut,
    TokenOut,
    WishesOut,
    comparison_out,
    making_out,
    pool_out,
    result_out,
    session_out,
    wishes_out,
)
from useralign.web.identity import Caller, Granted, Person, person_owner
from useralign.web.limits import in_turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from useralign.models import Generator
    from useralign.store import StoredSession
    from useralign.web.pool_jobs import JobRunner

router = APIRouter(prefix="/api", dependencies=[Depends(in_turn)])


@router.post(
    "/pools",
    tags=["pools"],
    status_code=201,
    responses={202: {"model": MakingOut, "description": "A model is making the pool."}},
)
def make_a_pool(
    request: Request, response: Response, caller: Person, grant: Granted, body: NewPool
) -> PoolOut | MakingOut:
    """Make a pool: of your own answers, at once; or of a model's, in the background."""
    state = request.app.state
    state.limits.asks.take(caller)
    pool = _pool_in(body)
    owner: str | None = caller
    if grant is not None and (pool is None or grant.pool is not None):
        raise PoolError("a token makes pools of given texts alone, and none if it is for one pool")
    if pool is None:
        pool_request = PoolRequest(
            check_question(body.question),
            model=body.model,
            size=body.size,
            images=body.kind == "image",
        )
        ready = None if pool_request.images else find_pool(pool_request)
        if ready is None:
            return _start_job(request, response, caller, pool_request)
        pool, shipped = ready
        owner = caller if shipped is None else None
    pool_id = state.store.pools.add(pool, owner)
    response.headers["Location"] = f"/api/pools/{pool_id}"
    return pool_out(pool_id, state.store.pools.get(pool_id, caller))


@router.get("/pools/{pool_id}", tags=["pools"])
def get_a_pool(request: Request, caller: Caller, pool_id: str) -> PoolOut:
    """Return a pool."""
    return pool_out(pool_id, request.app.state.store.pools.get(pool_id, caller))


@router.delete("/pools/{pool_id}", tags=["pools"], status_code=204)
def delete_a_pool(request: Request, caller: Caller, pool_id: str) -> Response:
    """Delete a pool of your own, with every session over it and everything told in them."""
    request.app.state.store.pools.delete(pool_id, caller)
    return Response(status_code=204)


@router.get("/makings/{making_id}", tags=["pools"])
def get_a_making(request: Request, caller: Caller, making_id: str) -> MakingOut:
    """Return how far a pool is that a model makes."""
    return making_out(request.app.state.pool_jobs.get(making_id, caller))


@router.get("/models", tags=["pools"])
def list_models(_: Caller) -> list[ModelOut]:
    """List the models that can make answers here."""
    return [
        ModelOut(name=choice.name, label=choice.label, makes=sorted(choice.makes))
        for choice in models.available()
    ]


def _start_job(
    request: Request, response: Response, caller: str, pool_request: PoolRequest
) -> MakingOut:
    """Start a job in which a model makes a pool."""
    model = pool_request.model
    if model is not None and model not in {choice.name for choice in models.available()}:
        raise OptionError(
            f"the model {model!r} is not at hand; GET /api/models lists those that are"
        )
    jobs: JobRunner = request.app.state.pool_jobs
    names = ("question", "kind", "model", "size")
    job_id = jobs.start(caller, {name: getattr(pool_request, name) for name in names})
    response.status_code = 202
    response.headers["Location"] = f"/api/makings/{job_id}"
    return making_out(jobs.get(job_id, caller))


def _pool_in(body: NewPool) -> Pool | None:
    """Return the pool of the answers in a request, or None if there are none."""
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


@router.post("/tokens", tags=["tokens"], status_code=201)
def make_a_token(request: Request, caller: Caller, body: NewToken) -> TokenOut:
    """Make a token with which one person may hold sessions in a page of another site."""
    state = request.app.state
    if body.pool is not None:
        state.store.pools.get(body.pool, caller)
    expires = state.settings.now() + body.seconds
    grant = tokens.Grant(person_owner(request, body.person), caller, body.pool, expires)
    token = tokens.sign(grant, state.settings.signing)
    return TokenOut(token=token, expires=expires, pool=body.pool)


@router.post("/sessions", tags=["sessions"], status_code=201)
def begin_a_session(
    request: Request, response: Response, caller: Person, grant: Granted, body: NewSession
) -> SessionOut:
    """Begin a session over a pool."""
    state = request.app.state
    if grant is not None and grant.pool not in (None, body.pool):
        raise NotFoundError("this token is for another pool")
    state.limits.asks.take(caller)
    settings = body.model_dump(exclude={"pool"}, exclude_unset=True)
    if settings.get("shown", 2) is None:
        del settings["shown"]
    settings |= {"method": body.method, "seed": body.seed}
    try:
        screen = state.live.create(
            body.pool, caller, settings, lender=grant.issuer if grant else None
        )
    except UseralignError:
        raise
    except (TypeError, ValueError, OverflowError) as error:  # an option of a wrong kind
        raise OptionError(f"the options do not fit the method: {error}") from error
    response.headers["Location"] = f"/api/sessions/{screen.session_id}"
    return session_out(screen, state.live.open(screen.session_id, caller).session)


@router.get("/sessions/{session_id}", tags=["sessions"])
def get_a_session(request: Request, caller: Person, session_id: str) -> SessionOut:
    """Return a session and what to show now."""
    stored: StoredSession = request.app.state.live.open(session_id, caller)
    return session_out(stored.screen, stored.session)


@router.get("/sessions/{session_id}/comparison", tags=["sessions"])
def get_the_comparison(request: Request, caller: Person, session_id: str) -> ComparisonOut:
    """Return what to show now: always the same candidates in the same order, until answered."""
    stored: StoredSession = request.app.state.live.open(session_id, caller)
    return comparison_out(stored.screen, stored.session)


@router.post("/sessions/{session_id}/answers", tags=["sessions"])
def answer(
    request: Request, caller: Person, grant: Granted, session_id: str, body: NewAnswer
) -> ComparisonOut:
    """Send what the person did, and get what to show next.

    The same answer to the same step again changes nothing and returns the same reply, so it is
    safe to send it until it is answered. A different answer to an answered step is a conflict.
    """
    state = request.app.state
    state.limits.answers.take(f"{caller} {session_id}")
    stored: StoredSession = state.live.open(session_id, caller)
    may_ask = state.settings.visitors_may_make or grant is None
    judge = partial(form_answers.judge_for, request, caller, may_ask=may_ask)
    response = _response_in(body, stored, judge)
    screen = stored.answer(body.step, response, milliseconds=body.milliseconds)
    return comparison_out(screen, stored.session)


@router.get("/sessions/{session_id}/result", tags=["sessions"])
def get_the_result(request: Request, caller: Person, session_id: str) -> ResultOut:
    """Return the answer that fits; before the end, the favourite so far."""
    stored: StoredSession = request.app.state.live.open(session_id, caller)
    return result_out(stored.screen, stored.session)


@router.get("/sessions/{session_id}/wishes", tags=["sessions"])
def get_the_wishes(request: Request, caller: Person, session_id: str) -> WishesOut:
    """Return what matters to the person and what it does, and wishes to propose.

    A wish is told as an answer of the kind `wish`, and taken back by one of the kind `withdraw`.
    """
    stored: StoredSession = request.app.state.live.open(session_id, caller)
    return wishes_out(stored.session)


@router.delete("/sessions/{session_id}", tags=["sessions"], status_code=204)
def delete_a_session(request: Request, caller: Person, session_id: str) -> Response:
    """Delete a session with everything that was told in it."""
    request.app.state.live.forget(session_id, caller)
    request.app.state.store.rinse()
    return Response(status_code=204)


def _response_in(
    body: NewAnswer, stored: StoredSession, model: Callable[[], Generator | None]
) -> UserResponse:
    """Return the response in a request, with candidates as positions on that screen."""
    if body.kind == "remark":
        return form_answers.remark_on(stored.session, body.text or "")
    if body.kind in ("wish", "withdraw"):
        return form_answers.wish(body.kind, body.text or "", model)
    if body.kind == "choice":
        if body.winner is None:
            raise AnswerError("a choice needs winner, the index or id of one of those shown")
        return UserResponse("choice", position=_position(body.winner, body.step, stored))
    if body.kind == "final":
        return UserResponse("final", position=_index(body.winner, stored))
    if body.kind == "ranking":
        order = [_position(which, body.step, stored) for which in body.ranking or []]
        return UserResponse("ranking", order=tuple(order))
    return UserResponse(body.kind)


def _position(which: int | str, step: int, stored: StoredSession) -> int:
    candidates, pool = stored.candidates_at(step), stored.session.pool
    for position, k in enumerate(candidates):
        if which == (k if isinstance(which, int) else pool[k].label):
            return position
    names = ", ".join(f"{k} ({pool[k].label})" for k in candidates) or "none: the session is over"
    raise AnswerError(f"{which!r:.60} is not on that screen; expected one of {names}")


def _index(which: int | str | None, stored: StoredSession) -> int:
    """Return the index of a candidate that is named by its index or id."""
    for candidate in stored.session.pool:
        if which is not None and which in (candidate.index, candidate.label):
            return candidate.index
    raise AnswerError(
        f"a final choice needs winner, the index or id of any candidate; got {which!r:.60}"
    )
