"""What the API takes and gives, and how the library's objects become what it gives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt, StrictStr

from useralign.answers import losers_to
from useralign.reasons import why
from useralign.store import FEW
from useralign.web import tokens, words
from useralign.web.form_answers import proposals

if TYPE_CHECKING:
    from useralign.pool import Candidate, Pool
    from useralign.session import Session
    from useralign.store import PoolJob, Screen

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
    pool: str | None = Field(description="The pool's id, once it is ready.")


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
    seconds: int = Field(
        tokens.USUAL, ge=tokens.SHORTEST, le=tokens.LONGEST, description="How long it is good for."
    )


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


def making_out(job: PoolJob) -> MakingOut:
    """Return how far a pool is."""
    names = ("id", "state", "made", "wanted", "note")
    values = {name: getattr(job, name) for name in names}
    return MakingOut.model_validate(values | {"pool": job.pool_id})


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


def wishes_out(session: Session) -> WishesOut:
    """Return the wishes in force, and those to propose."""
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
            for chip in proposals(session)
        ],
    )


def session_out(screen: Screen, session: Session) -> SessionOut:
    """Return a session."""
    return SessionOut(
        id=screen.session_id,
        pool=screen.pool_id,
        method=session.method.name,
        epsilon=session.epsilon,
        budget=session.budget,
        shown=session.per_screen,
        seed=session.seed,
        comparison=comparison_out(screen, session),
    )


def result_out(screen: Screen, session: Session) -> ResultOut:
    """Return how a session ended, or how it stands."""
    label = [candidate.label for candidate in session.pool]
    return ResultOut(
        session=screen.session_id,
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


def finite(value: float) -> float | None:
    """Return a number that JSON can hold."""
    return value if math.isfinite(value) else None
