"""The pages of a study. A participant has one address, which shows where they are.

The address holds an unguessable token, so that the pages work without a cookie, in the frame of a
platform. Only whoever comes back by way of the first page needs the cookie of the browser in which
they began: a platform's id in the address opens nothing. Nothing on the pages differs between
methods but the options themselves.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, Request, Response
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse

from useralign.errors import ConflictError, UseralignError
from useralign.store import digest
from useralign.study import ParticipantFlow, Study
from useralign.study.design import QUERY, split_stage
from useralign.study.flags import LEFT
from useralign.study.flow import MILLISECONDS, ElsewhereError
from useralign.study.pages import DECLINED, QUOTA_FULL, RETURNED, WITHDRAWN, in_language
from useralign.study.recruitment import MTURK_HOSTS, Arrival, arrive, completion
from useralign.study.wording import ENGLISH, PLAIN, RefusedError, Words, choose_language
from useralign.web import form_answers
from useralign.web.identity import TOKEN, set_cookie, visitor
from useralign.web.limits import one_by_one
from useralign.web.problems import describe
from useralign.web.rendering import render
from useralign.web.security import policy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from useralign.study.flow import View

router = APIRouter(prefix="/study", include_in_schema=False, dependencies=[Depends(one_by_one)])
_SCREEN = re.compile(r"\d{1,5}x\d{1,5} \d{1,5}x\d{1,5} \d(\.\d{1,20})?")
_SHARE = 4  # one in so many may begin from one network address, unless the study says otherwise
# Who shows a task in a frame: the pages of workers, and of requesters who look at it.
_FRAMES = {
    "sandbox": ("workersandbox.mturk.com", "requestersandbox.mturk.com"),
    "live": ("worker.mturk.com", "www.mturk.com", "requester.mturk.com"),
}


class AnswerForm(BaseModel):
    """The form of a participant's page, whatever else it has."""

    stage: Annotated[str, Field(max_length=20)] = ""
    step: Annotated[int, Field(ge=0, le=10_000)] = 0
    response: Annotated[int | None, Field(ge=0, le=8)] = None
    milliseconds: Annotated[str, Field(max_length=20)] = ""
    left: Annotated[int, Field(ge=0, le=10_000)] = 0
    leave: Annotated[str, Field(max_length=20)] = ""


class PreviewError(ConflictError):
    """Somebody who looks at a task without having accepted it wants to take part."""

    def __init__(self) -> None:
        super().__init__("accept the task first; a preview takes no place")


def _flow_of(request: Request) -> ParticipantFlow:
    """Return the application's flow, which holds the studies it has read."""
    state = request.app.state
    if not hasattr(state, "flow"):
        state.flow = ParticipantFlow(state.store, state.settings.now)
    flow: ParticipantFlow = state.flow
    return flow


async def _fields(request: Request) -> dict[str, list[str]]:
    """Return the fields of a form, whatever they are called, each with all its values."""
    form = await request.form()
    return {key: [str(value) for value in form.getlist(key)] for key in form}


Flow = Annotated[ParticipantFlow, Depends(_flow_of)]
Fields = Annotated[dict[str, list[str]], Depends(_fields)]


@router.get("/{slug}")
def landing(request: Request, flow: Flow, slug: str) -> Response:
    """Show what the study is about and ask for consent; nothing is recorded here."""
    study = flow.studies.get(slug)
    arrival = arrive(study, request.query_params, request.url.hostname or "")
    token = "" if arrival.preview else arrival.token(study, visitor(request).token) or ""
    returning = not arrival.preview and flow.has_place(study, arrival, token)
    if not (study.open or returning or arrival.preview):
        language = _language(request, study, request.query_params.get("lang", ""))
        return _unrecorded(request, study, arrival, study.state, language=language)
    return first_page(request, study, arrival, request.query_params, token=token, back=returning)


@router.post("/{slug}")
def consent(request: Request, flow: Flow, slug: str, fields: Fields) -> Response:
    """Give a place to someone who agrees, and send them to their page."""
    form = {key: values[-1] for key, values in fields.items()}
    study = flow.studies.get(slug)
    arrival = arrive(study, form, request.url.hostname or "")
    if arrival.preview:
        raise PreviewError
    token = form.get("token", "")
    if not TOKEN.fullmatch(token):
        raise RefusedError("refused_form")
    language = _language(request, study, form.get("lang", ""))
    present = flow.has_place(study, arrival, token)
    if form.get("decline") and not present:
        return _unrecorded(request, study, arrival, f"end_{DECLINED}", language=language)
    if form.get("agree") != "yes" and not present:
        query = {**arrival.details, "lang": language}
        return first_page(request, study, arrival, query, token=token, unticked=True)
    if not (present or arrival.proven):
        _take_newcomer(request, study)
    entered = flow.enter(study, arrival, token, language=language, client=_client(request, form))
    if entered is None:
        end = study.state
        if study.open:
            end = "complete" if flow.is_complete(study) else "full"
        return _unrecorded(request, study, arrival, end, language=language, status=503)
    return RedirectResponse(f"/study/{slug}/{entered[0]}", 303)


def _take_newcomer(request: Request, study: Study) -> None:
    """Count a new participant whom nothing proves to be somebody else than the last one.

    Raises 429 if one more from the same network address would be too many.
    """
    limits, design = request.app.state.limits, study.design
    where = limits.visitor(request)
    limits.asks.take(where)
    most = design.recruitment.per_address
    if most is None:
        most = max(2, design.wanted // _SHARE)
    if most and request.app.state.settings.limit_participants:
        limits.newcomers(study.slug, most, design.window).take(where)


@router.get("/{slug}/{token}")
def show(request: Request, flow: Flow, slug: str, token: str, leave: str = "") -> Response:
    """Show where a participant is: the same at every reload; or ask whether they want to stop."""
    view = flow.look(slug, token)
    if leave and view.study.design.withdraw and view.participant.outcome is None:
        return _page(request, view.study, "study/leave.html", {}, language=view.language)
    return show_view(request, flow, view)


@router.post("/{slug}/{token}")
def answer(
    request: Request,
    flow: Flow,
    slug: str,
    token: str,
    *,
    form: Annotated[AnswerForm, Form()],
    fields: Fields,
) -> Response:
    """Take what was done on a page, and go on; the same again changes nothing."""
    request.app.state.limits.answers.take(digest(token))
    try:
        problems = _take(flow, slug, token, form, fields)
    except ConflictError:
        view = flow.look(slug, token)
        note = "" if view.participant.outcome is not None else view.words("moved")
        return show_view(request, flow, view, note=note, status=409)
    if problems:
        view = flow.look(slug, token)
        return show_view(request, flow, view, status=422, problems=problems, sent=fields)
    if request.headers.get("sec-fetch-dest") == "empty":  # our script: saves it one request
        return show(request, flow, slug, token)
    return RedirectResponse(f"/study/{slug}/{token}", 303)


def _take(
    flow: ParticipantFlow, slug: str, token: str, form: AnswerForm, fields: dict[str, list[str]]
) -> dict[str, str]:
    """Hand what was sent to the flow; return what is wrong with it, by field."""
    time = form_answers.milliseconds(form.milliseconds)
    name = split_stage(form.stage)[0]
    client = {LEFT: str(form.left)} | ({} if time is None else {MILLISECONDS: str(time)})
    if form.leave in (RETURNED, WITHDRAWN):
        flow.leave(slug, token, form.leave)
    elif name == QUERY:
        flow.begin(slug, token, form.stage)
        flow.note(slug, token, form.stage, 0, client)
    elif form.response is not None:
        flow.answer(slug, token, form.stage, form.step, form.response, milliseconds=time)
        if form.left:
            flow.note(slug, token, form.stage, form.step, {LEFT: str(form.left)})
    elif flow.studies.get(slug).design.page(name) is not None:
        return flow.submit(slug, token, form.stage, form.step, fields, client=client)
    return {}


def _client(request: Request, form: Mapping[str, str]) -> dict[str, str]:
    """Return what is kept of a browser: its class of device, and its screen and window."""
    agent = request.headers.get("user-agent", "").lower()
    phone = "mobi" in agent
    tablet = "ipad" in agent or "tablet" in agent or ("android" in agent and not phone)
    device = "tablet" if tablet else "phone" if phone else "desktop"
    screen = form.get("screen", "")
    return {"device": device} | ({"screen": screen} if _SCREEN.fullmatch(screen) else {})


def _language(request: Request, study: Study, wanted: str) -> str:
    accepted = request.headers.get("accept-language", "")
    return choose_language(study.design.languages, wanted, accepted)


def first_page(
    request: Request,
    study: Study,
    arrival: Arrival,
    query: Mapping[str, str],
    *,
    token: str = "",
    back: bool = False,
    unticked: bool = False,
    note: str = "",
) -> Response:
    """Show what the study is about; `query` is what the address says, `back` who has a place."""
    language = _language(request, study, query.get("lang", ""))
    values = {
        "arrival": arrival,
        "token": token,
        "returning": back,
        "unticked": unticked,
        "note": note,
        "queries": {code: urlencode({**query, "lang": code}) for code in study.design.languages},
    }
    status = 422 if unticked else 200
    response = _page(request, study, "study/landing.html", values, language=language, status=status)
    who = visitor(request)
    if who.fresh and not (arrival.proven or arrival.preview):  # who comes back must hold it
        set_cookie(request, response, who.token, framed=study.design.recruitment.mturk != "off")
    return response


def _unrecorded(
    request: Request, study: Study, arrival: Arrival, end: str, *, language: str, status: int = 200
) -> Response:
    """Answer somebody who takes no part; `end` is how the texts that say why begin."""
    outcome = DECLINED if end == f"end_{DECLINED}" else QUOTA_FULL
    back = completion(study, arrival.source, arrival.details, outcome)
    values = {"end": end, "completion": back}
    return _page(request, study, "study/full.html", values, language=language, status=status)


def show_view(
    request: Request,
    flow: ParticipantFlow,
    view: View,
    *,
    note: str = "",
    status: int = 200,
    problems: Mapping[str, str] | None = None,
    sent: Mapping[str, list[str]] | None = None,
) -> Response:
    """Show what a participant sees."""
    values: dict[str, Any] = {"view": view, "note": note}
    if view.participant.outcome is not None:
        name = "study/done.html"
        values["outcome"] = view.participant.outcome
        values["completion"] = flow.completion(view.study, view.participant)
    elif view.page is not None:
        name = "study/page.html"
        wrong = dict.fromkeys(view.wrong, "wrong")
        values |= {"problems": problems or wrong, "sent": sent or {}}
    else:
        name = "study/query.html" if view.stage == QUERY else "study/compare.html"
    return _page(request, view.study, name, values, language=view.language, status=status)


def _page(
    request: Request,
    study: Study,
    template: str,
    values: Mapping[str, Any],
    *,
    language: str,
    status: int = 200,
) -> Response:
    design = study.design
    common = {
        "path": request.url.path,
        "study": study,
        "design": design,
        "lang": language,
        "w": design.words_in(language),
        "local": lambda text: in_language(text, language),
        "evaluated": any(entry.checkpoints for entry in design.domains),
    }
    return _in_frame(render(template, {**common, **values}, status), study)


def _in_frame(response: Response, study: Study | None) -> Response:
    """Let Mechanical Turk show a page in its frame, where the study is there."""
    mode = study.design.recruitment.mturk if study is not None else "off"
    if mode != "off":
        frames = " ".join(f"https://{host}" for host in _FRAMES[mode])
        own_policy = policy(f"'self' {frames}", f"'self' https://{MTURK_HOSTS[mode]}")
        response.headers["content-security-policy"] = own_policy
    return response


def respond(request: Request, error: Exception) -> Response:
    """Answer an error with a page of the study's kind, which leads nowhere else."""
    status, detail, headers = describe(error)
    study, language, contact, words = None, ENGLISH, "", Words(PLAIN, {}, ENGLISH)
    with suppress(UseralignError):
        study = _flow_of(request).studies.get(request.path_params.get("slug", ""))
        language = _language(request, study, request.query_params.get("lang", ""))
        contact = in_language(study.design.contact, language)
        words = study.design.words_in(language)
    heading = words("refused_title")
    if status == 404:
        detail = words("refused_missing")
    elif status == 429:
        heading = words("refused_slow_title")
        detail = words("refused_slow", seconds=headers.get("Retry-After", "60"))
    elif status >= 500:
        heading, detail = words("refused_failed_title"), words("refused_failed")
    elif isinstance(error, RefusedError):
        detail = words(error.key, **error.values)
    elif isinstance(error, ElsewhereError):
        heading, detail = words("elsewhere_title"), words("elsewhere_text")
    elif isinstance(error, PreviewError):
        detail = words("consent_preview")
    values = {
        "path": request.url.path, "status": status, "lang": language, "w": words,
        "heading": heading, "detail": detail, "contact": contact,
    }  # fmt: skip
    response = render("study/problem.html", values, status)
    response.headers.update(headers)
    return _in_frame(response, study)
