"""The HTTP API: what it takes and gives, its routes, and its description (OpenAPI)."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request, Response
from fastapi.openapi.utils import get_openapi
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt, StrictStr

from useralign import models
from useralign.answers import losers_to
from useralign.errors import AnswerError, NotFoundError, OptionError, PoolError, UseralignError
from useralign.pool import Candidate, Pool
from useralign.pooling import PoolRequest, check_question
from useralign.reasons import why
from useralign.store import FEW, StoredSession, UserResponse
from useralign.web import form_answers, words
from useralign.web.identity import OPENAI, Caller, Grant, Granted, Person, person_owner
from useralign.web.limits import in_turn
from useralign.web.rendering import page

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import FastAPI

    from useralign.models import Generator
    from useralign.session import Session
    from useralign.store import Screen
    from useralign.web.pool_jobs import JobRunner

router = APIRouter(prefix="/api", dependencies=[Depends(in_turn)])
reference_router = APIRouter(include_in_schema=False)
MOST_CANDIDATES = 2000
MOST_NUMBERS = 400_000
_OWN_ARGUMENTS = {
    "pool", "method", "epsilon", "budget", "seed", "limit", "shown", "per_screen", "answers",
}  # fmt: skip


def _storable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain the character U+0000")
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError("must not contain half a character (a lone surrogate)")
    return text


# The options of methods that may be chosen from outside: none that makes a request costly, such as
# the reference solver.
OPTIONS = frozenset(
    ("delta", "gain", "norm_bound", "prior", "reask", "spread", "sure", "top", "utilities")
)


def _not_ours(options: dict[str, Any]) -> dict[str, Any]:
    if reserved := sorted(_OWN_ARGUMENTS & options.keys()):
        raise ValueError(f"{reserved[0]!r} is a field of its own, not an option of the method")
    if others := sorted(options.keys() - OPTIONS):
        raise ValueError(
            f"{others[0]!r} cannot be chosen here; options are {', '.join(sorted(OPTIONS))}"
        )
    return options


Text = Annotated[str, AfterValidator(_storable)]
Which = StrictInt | Annotated[StrictStr, Field(max_length=500)]


class Strict(BaseModel):
    """What takes the fields it has, and no others."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = Field(description="`about:blank`: the status says it all.")
    title: str = Field(description="The name of the status.")
    status: int
    detail: str = Field(description="What was received, what was expected, and what to do.")
    instance: str = Field(description="The address that was called.")


class OpenAIProblem(BaseModel):
    """What went wrong, as OpenAI's clients expect it under `/v1`."""

    error: dict[str, Any] = Field(
        description="`message`: what was received, what was expected, and what to do; `type`."
    )


class NewCandidate(Strict):
    """A candidate answer that you have."""

    text: Text = Field("", max_length=100_000, description="The answer.")
    id: Text | None = Field(None, min_length=1, max_length=200, description="A name of yours.")
    source: Text | None = Field(None, max_length=200, description="Where it comes from.")


class NewPool(Strict):
    """A pool of answers: your own, or made by a model.

    Give `texts` or `candidates`, with or without `features`; or `features` alone; or none of
    them, and the answers are found or made.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "question": "What should I cook for dinner tonight?",
                    "texts": [
                        "A mild vegetable curry with rice.",
                        "Steak with pepper sauce.",
                        "A quick miso soup.",
                    ],
                },
                {"question": "What should I cook for dinner tonight?"},
            ]
        },
    )

    question: Text = Field(max_length=4000, description="What the answers answer.")
    texts: list[Annotated[Text, Field(max_length=100_000)]] | None = Field(
        None, max_length=MOST_CANDIDATES, description="The answers, as texts."
    )
    candidates: list[NewCandidate] | None = Field(
        None, max_length=MOST_CANDIDATES, description="The answers, with ids."
    )
    features: list[list[float]] | None = Field(
        None,
        max_length=MOST_CANDIDATES,
        description="One row of numbers an answer, all of the same length; embedded when absent.",
    )
    baseline: Text | None = Field(
        None, max_length=100_000, description="The answer without personalisation."
    )
    normalise: Literal["ball", "unit", "diameter", "none"] | None = Field(
        None, description="How features are scaled; `ball` for given ones, `unit` for embedded."
    )
    kind: Literal["text", "image"] = Field("text", description="What a model shall make.")
    model: Text | None = Field(
        None, max_length=200, description="Which model makes the answers; see `GET /api/models`."
    )
    size: int | None = Field(None, ge=2, le=200, description="How many answers to make.")


class CandidateOut(BaseModel):
    """A candidate answer."""

    index: int = Field(description="Its place in the pool.")
    id: str = Field(description="Its name.")
    text: str
    picture: str | None = Field(None, description="The address of its picture, if it has one.")


class PoolOut(BaseModel):
    """A pool."""

    id: str
    question: str
    dimension: int = Field(description="Numbers of a row of features.")
    embedder: str | None = Field(description="What made the features; null if they were given.")
    candidates: list[CandidateOut]
    baseline: CandidateOut | None


class MakingOut(BaseModel):
    """A pool that a model is making."""

    id: str
    state: Literal["waiting", "making", "ready", "failed"]
    made: int = Field(description="How many answers there are.")
    wanted: int = Field(description="How many there shall be.")
    note: str = Field(description="What it is doing, or why it failed.")
    pool: str | None = Field(
        validation_alias="pool_id", description="The pool's id, once it is ready."
    )


class ModelOut(BaseModel):
    """A model that can make answers here."""

    name: str
    label: str
    makes: list[str]


class NewSession(Strict):
    """A session with one person over one pool."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"pool": "POOL_ID"}]})

    pool: Text = Field(max_length=200, description="The pool's id.")
    method: Text = Field(
        FEW,
        max_length=100,
        description="How to ask: `few`, a few screens of a few candidates; or a method, such as "
        "`useralign`, which proves the best.",
    )
    options: Annotated[dict[str, Any], AfterValidator(_not_ours)] = Field(
        default_factory=dict, description="Options of the method, such as `delta`."
    )
    epsilon: float | None = Field(
        0.0, description="Stop when the bound is at most this; null runs for the whole budget."
    )
    budget: int | None = Field(
        None, ge=0, le=10_000, description="Ask at most this many; `few` asks at most 5."
    )
    shown: int | None = Field(
        None,
        ge=2,
        le=9,
        description="How many candidates a comparison has: 2, or for `few` what a glance takes.",
    )
    seed: int | None = Field(
        None, ge=0, le=2**53, description="All randomness comes from it; drawn when null."
    )


class NewToken(Strict):
    """Permission for one person of yours to hold sessions in a page of yours, for a while."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"person": "17"}]})

    person: Text = Field(
        min_length=1,
        max_length=200,
        description="What you call the person; not stored. By the same name they come back.",
    )
    pool: Text | None = Field(
        None,
        max_length=200,
        description="The only pool that it is for; null: your pools, and lists of texts.",
    )
    seconds: int = Field(900, ge=30, le=3600, description="How long it is good for.")


class TokenOut(BaseModel):
    """A token for the element `<user-align>`, which sends it as `Authorization: Bearer TOKEN`."""

    token: str
    expires: float = Field(description="Seconds since 1970.")
    pool: str | None


class Sure(BaseModel):
    """How likely the favourite is among the best few."""

    probability: float
    top: int


class Shown(CandidateOut):
    """A candidate on the screen."""

    position: int = Field(description="Its place on the screen, from 0.")


class WishOut(BaseModel):
    """Something that matters to the person, and what it does."""

    text: str
    effect: str = Field(description="In words, such as `hiding 9 with meat or fish`.")
    hidden: list[str] = Field(description="Ids of candidates that are not shown because of it.")
    favoured: list[str] = Field(description="Ids of candidates that come first.")


class ChipOut(BaseModel):
    """A wish to propose, as the text of a `wish`."""

    text: str
    hides: int = Field(description="How many candidates it would hide.")
    favours: int = Field(description="How many it would put first.")


class WishesOut(BaseModel):
    """What matters to the person, and what might."""

    wishes: list[WishOut]
    chips: list[ChipOut]


class ComparisonOut(BaseModel):
    """What to show now."""

    session: str
    step: int = Field(description="The number of this screen; give it back with the answer.")
    question: str
    candidates: list[Shown] = Field(description="In the order to show them; empty when over.")
    takes: list[str] = Field(description="The kinds of answer that the method can use.")
    cost: int = Field(description="How many comparisons were answered.")
    bound: float | None = Field(description="How much better another can be than the favourite.")
    viable: int = Field(description="How many candidates may still be the best.")
    sure: Sure | None
    expected_screens: int = Field(description="About how many it takes in all; it never falls.")
    finished: str | None = Field(description="Why the session is over; null while it is not.")


class SessionOut(BaseModel):
    """A session."""

    id: str
    pool: str
    method: str
    epsilon: float | None
    budget: int | None
    shown: int
    seed: int
    comparison: ComparisonOut


Kind = Literal[
    "choice", "ranking", "equal", "neither", "skip", "remark", "wish", "withdraw", "undo", "stop",
    "final", "go_on", "prove",
]  # fmt: skip


class NewAnswer(Strict):
    """What the person did on a screen."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"step": 0, "winner": "c1"}]})

    step: int = Field(description="The screen that it was done on.")
    kind: Kind = Field(
        "choice",
        description="`choice` unless said otherwise. At any time: `final`, the person takes "
        "`winner`; `go_on`, two more screens; `prove`, ask until the best is proven.",
    )
    winner: Which | None = Field(
        None,
        description="For a choice: the better one, by its index or id in the pool; for `final`: "
        "any candidate.",
    )
    ranking: list[Which] | None = Field(
        None, max_length=9, description="For a ranking: all that are shown, best first."
    )
    text: Text | None = Field(
        None,
        max_length=1000,
        description="For a remark or a wish: what was said, such as `no fish`. For `withdraw`: the "
        "wish to take back.",
    )
    milliseconds: int | None = Field(
        None, ge=0, le=86_400_000, description="How long it took, if you measured it."
    )


class Told(BaseModel):
    """One thing that was told."""

    kind: str
    shown: list[str] = Field(description="The candidates' ids.")
    winner: str | None


class ResultOut(BaseModel):
    """The answer that fits."""

    session: str
    question: str
    answer: CandidateOut
    shortlist: list[CandidateOut] = Field(description="The answer and two runners-up.")
    ranking: list[str] = Field(description="The ids of all candidates in the person's order.")
    why: str = Field(description="Why it was found, one sentence.")
    proof_price: int = Field(description="About how many more questions a proof takes.")
    finished: str | None = Field(description="Why it is over; null: the favourite so far.")
    certainty: str = Field(description="What is certain, in words.")
    cost: int
    bound: float | None
    viable: list[str] = Field(description="The ids of those that may still be the best.")
    preferred_to: list[str] = Field(description="The ids of those that it was preferred to.")
    scores: list[float | None] = Field(description="The estimated utility of every candidate.")
    transcript: list[Told]


def candidate_out(candidate: Candidate) -> CandidateOut:
    """Return a candidate; where it comes from is nobody's business while it is compared."""
    media = candidate.meta.get("media")
    return CandidateOut(
        index=candidate.index,
        id=candidate.label,
        text=candidate.text,
        picture=f"/media/{media}" if media else None,
    )


def pool_out(pool_id: str, pool: Pool) -> PoolOut:
    """Return a pool."""
    return PoolOut(
        id=pool_id,
        question=pool.question,
        dimension=pool.dimension,
        embedder=pool.embedder,
        candidates=[candidate_out(candidate) for candidate in pool],
        baseline=candidate_out(pool.baseline) if pool.baseline else None,
    )


def comparison_out(screen: Screen, session: Session) -> ComparisonOut:
    """Return what to show now."""
    candidates = [
        Shown(position=position, **candidate_out(session.pool[k]).model_dump())
        for position, k in enumerate(screen.candidates)
    ]
    return ComparisonOut(
        session=screen.session_id,
        step=screen.step,
        question=session.pool.question,
        candidates=candidates,
        takes=sorted(session.takes),
        cost=screen.cost,
        bound=finite(screen.bound),
        viable=screen.viable,
        expected_screens=session.expected_screens,
        sure=Sure(probability=screen.sure[0], top=screen.sure[1]) if screen.sure else None,
        finished=screen.finished,
    )


def session_out(stored: StoredSession) -> SessionOut:
    """Return a session."""
    session = stored.session
    return SessionOut(
        id=stored.id,
        pool=stored.screen.pool_id,
        method=session.method.name,
        epsilon=session.epsilon,
        budget=session.budget,
        shown=session.per_screen,
        seed=session.seed,
        comparison=comparison_out(stored.screen, session),
    )


def finite(value: float) -> float | None:
    """Return a number that JSON can hold."""
    return value if math.isfinite(value) else None


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
    if grant is not None and (pool is None or grant.pool is not None):
        raise PoolError("a token makes pools of given texts alone, and none if it is for one pool")
    pool_id: str | None
    if pool is not None:
        pool_id = state.store.pools.add(pool, caller)
    else:
        jobs: JobRunner = state.pool_jobs
        pool_request = PoolRequest(
            check_question(body.question),
            model=body.model,
            size=body.size,
            images=body.kind == "image",
        )
        pool_id = None if pool_request.images else jobs.find_ready(caller, pool_request)
        if pool_id is None:
            if body.model not in {None, *(choice.name for choice in models.available())}:
                raise OptionError(
                    f"the model {body.model!r} is not at hand; GET /api/models lists those that are"
                )
            job = jobs.get(jobs.start(caller, pool_request), caller)
            response.status_code = 202
            response.headers["Location"] = f"/api/makings/{job.id}"
            return MakingOut.model_validate(job, from_attributes=True)
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
    job = request.app.state.pool_jobs.get(making_id, caller)
    return MakingOut.model_validate(job, from_attributes=True)


@router.get("/models", tags=["pools"])
def list_models(_: Caller) -> list[ModelOut]:
    """List the models that can make answers here."""
    return [
        ModelOut(name=choice.name, label=choice.label, makes=sorted(choice.makes))
        for choice in models.available()
    ]


def _pool_in(body: NewPool) -> Pool | None:
    """Return the pool of the answers in a request, or None if there are none."""
    candidates: list[Candidate] | None = None
    if body.texts is not None:
        if body.candidates is not None:
            raise PoolError("texts and candidates were both given; expected one of them")
        candidates = [Candidate(text=text, source="given") for text in body.texts]
    elif body.candidates is not None:
        candidates = [
            Candidate(text=item.text, id=item.id, source=item.source or "given")
            for item in body.candidates
        ]
        ids = [item.id for item in body.candidates if item.id is not None]
        if len(set(ids)) < len(ids):
            raise PoolError("two candidates have the same id; ids must differ")
    if body.features is not None:
        if sum(map(len, body.features)) > MOST_NUMBERS:
            raise PoolError(f"features have more than {MOST_NUMBERS} numbers; give fewer")
        how = body.normalise or "ball"
        return Pool(body.question, candidates, body.features, body.baseline, normalise=how)
    if candidates is None:
        return None
    how = body.normalise or "unit"
    return Pool.from_texts(body.question, candidates, baseline=body.baseline, normalise=how)


@router.post("/tokens", tags=["tokens"], status_code=201)
def make_a_token(request: Request, caller: Caller, body: NewToken) -> TokenOut:
    """Make a token with which one person may hold sessions in a page of another site."""
    state = request.app.state
    if body.pool is not None:
        state.store.pools.get(body.pool, caller)
    expires = state.settings.now() + body.seconds
    grant = Grant(person_owner(request, body.person), caller, body.pool, expires)
    token = grant.sign(state.settings.signing)
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
    return session_out(state.live.open(screen.session_id, caller))


def _opened(request: Request, caller: Person, session_id: str) -> StoredSession:
    """Return the session of a request."""
    stored: StoredSession = request.app.state.live.open(session_id, caller)
    return stored


Opened = Annotated[StoredSession, Depends(_opened)]


@router.get("/sessions/{session_id}", tags=["sessions"])
def get_a_session(stored: Opened) -> SessionOut:
    """Return a session and what to show now."""
    return session_out(stored)


@router.get("/sessions/{session_id}/comparison", tags=["sessions"])
def get_the_comparison(stored: Opened) -> ComparisonOut:
    """Return what to show now: always the same candidates in the same order, until answered."""
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
def get_the_result(stored: Opened) -> ResultOut:
    """Return the answer that fits; before the end, the favourite so far."""
    screen, session = stored.screen, stored.session
    label = [candidate.label for candidate in session.pool]
    return ResultOut(
        session=stored.id,
        question=session.pool.question,
        answer=candidate_out(session.pool[screen.best]),
        shortlist=[candidate_out(candidate) for candidate in session.shortlist],
        ranking=[candidate.label for candidate in session.ranking],
        why=why(session),
        proof_price=session.proof_price(),
        finished=screen.finished,
        certainty=words.ending(screen, session),
        cost=screen.cost,
        bound=finite(screen.bound),
        viable=[candidate.label for candidate in session.viable],
        preferred_to=[label[k] for k in losers_to(session.best.index, session.answers)],
        scores=[finite(float(score)) for score in session.scores],
        transcript=[
            Told(
                kind=answer.kind,
                shown=[label[k] for k in answer.candidates],
                winner=None if answer.winner is None else label[answer.winner],
            )
            for answer in session.answers
        ],
    )


@router.get("/sessions/{session_id}/wishes", tags=["sessions"])
def get_the_wishes(stored: Opened) -> WishesOut:
    """Return what matters to the person and what it does, and wishes to propose.

    A wish is told as an answer of the kind `wish`, and taken back by one of the kind `withdraw`.
    """
    session = stored.session
    label = [candidate.label for candidate in session.pool]
    return WishesOut(
        wishes=[
            WishOut(
                text=wish.text,
                effect=wish.effect,
                hidden=[label[k] for k in wish.hidden],
                favoured=[label[k] for k in wish.favoured],
            )
            for wish in session.wishes
        ],
        chips=[
            ChipOut(text=chip.text, hides=chip.hides, favours=chip.favours)
            for chip in form_answers.proposals(session)
        ],
    )


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


PROBLEMS = {
    "400": "The body cannot be read.",
    "401": "A key is needed.",
    "403": "The request came from another site.",
    "404": "There is no such thing, or it is somebody else's.",
    "409": "It contradicts what is recorded, or came out of turn.",
    "413": "The body is too large.",
    "422": "Something given is not usable; nothing has changed.",
    "429": "Too many at once; Retry-After says when to try again.",
    "501": "An optional part of the server is not installed.",
    "502": "A model answered with nothing usable.",
    "503": "A model or the database cannot be reached.",
}
_FRAMEWORKS = ("HTTPValidationError", "ValidationError")


def _describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI description of an application."""
    description = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    schemas = description["components"]["schemas"]
    for name in _FRAMEWORKS:
        schemas.pop(name, None)
    schemas |= {model.__name__: model.model_json_schema() for model in (Problem, OpenAIProblem)}
    for path, operations in description["paths"].items():
        kind, model = (
            ("json", OpenAIProblem) if path.startswith(OPENAI) else ("problem+json", Problem)
        )
        reference = {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}
        for operation in operations.values():
            if app.state.settings.loopback:  # here a key may be sent, but none is needed
                operation["security"] = [{}, *operation.get("security", [])]
            for status, meaning in PROBLEMS.items():
                operation["responses"][status] = {
                    "description": meaning,
                    "content": {f"application/{kind}": reference},
                }
    return description


@reference_router.get("/docs")
def reference(request: Request) -> Response:
    """Show every operation with its fields, an example and its replies."""
    description = request.app.openapi()
    schemas: dict[str, Any] = description["components"]["schemas"]

    def resolved(schema: dict[str, Any]) -> dict[str, Any]:
        reference = schema.get("$ref", "").rpartition("/")[2]
        return dict(schemas.get(reference, schema))

    return page(
        request,
        "docs.html",
        description=description,
        resolved=resolved,
        loopback=request.app.state.settings.loopback,
        base=str(request.base_url).rstrip("/"),
    )


def describe(app: FastAPI) -> None:
    """Let an application describe itself in our words; the description is built once."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _describe(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
