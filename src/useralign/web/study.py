"""The pages of a study. A participant has one address, which shows where they are.

No cookie is needed: the address holds an unguessable token, so that the pages also work in the
frame of a crowd service. Nothing on them differs between methods but the options themselves.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Form, Request, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse

from useralign.errors import ConflictError, InputError, UseralignError
from useralign.store import digest
from useralign.study import ParticipantFlow, Study
from useralign.study.design import MTURK_HOSTS
from useralign.study.flow import DONE, QUERY
from useralign.study.recruiting import MTURK, Arrival, arrive, keyed_token, submit_address
from useralign.web import form_answers
from useralign.web.identity import visitor
from useralign.web.problems import describe
from useralign.web.rendering import environment, keep_visitor
from useralign.web.security import policy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from useralign.study import Design
    from useralign.study.flow import View

router = APIRouter(prefix="/study", include_in_schema=False)
MOVED = "You had answered that one already. Your first answer counts; here is where you are now."
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
# Who shows a task in a frame: the pages of workers, and of requesters who look at it.
_FRAMES = {
    "sandbox": ("workersandbox.mturk.com", "requestersandbox.mturk.com"),
    "live": ("worker.mturk.com", "www.mturk.com", "requester.mturk.com"),
}


class AnswerForm(BaseModel):
    """The form of a participant's page."""

    stage: Annotated[str, Field(max_length=20)]
    step: Annotated[int, Field(ge=0, le=10_000)] = 0
    response: Annotated[int | None, Field(ge=0, le=1)] = None
    milliseconds: Annotated[str, Field(max_length=20)] = ""


def _flow_of(request: Request) -> ParticipantFlow:
    """Return the application's flow, which holds the studies it has read."""
    state = request.app.state
    if not hasattr(state, "flow"):
        state.flow = ParticipantFlow(state.store, state.settings.now)
    flow: ParticipantFlow = state.flow
    return flow


async def _fields(request: Request) -> dict[str, str]:
    """Return the fields of a form, whatever they are called."""
    return {key: str(value) for key, value in (await request.form()).items()}


Flow = Annotated[ParticipantFlow, Depends(_flow_of)]
Fields = Annotated[dict[str, str], Depends(_fields)]


@router.get("/{slug}")
def landing(request: Request, flow: Flow, slug: str) -> Response:
    """Show what the study is about and ask for consent; nothing is recorded here."""
    try:
        study = flow.studies.get(slug)
        arrival = arrive(study, request.query_params)
    except UseralignError as error:
        return _problem(request, error)
    token = _token_for(request, study, arrival)
    returning = not arrival.preview and flow.has_place(study, arrival, token)
    values = {"arrival": arrival, "token": token, "returning": returning}
    return _first_page(request, study, arrival, values)


@router.post("/{slug}")
def consent(request: Request, flow: Flow, slug: str, form: Fields) -> Response:
    """Give a place to someone who agrees, and send them to their page."""
    try:
        study = flow.studies.get(slug)
        arrival = arrive(study, form)
        token = _token_in(form, arrival)
        if form.get("agree") != "yes" and not flow.has_place(study, arrival, token):
            values = {"arrival": arrival, "token": token, "returning": False, "unticked": True}
            return _first_page(request, study, arrival, values, status=422)
        if arrival.worker is None and not flow.has_place(study, arrival, token):
            request.app.state.limits.asks.take(request.app.state.limits.visitor(request))
        entered = flow.enter(study, arrival, token)
    except (UseralignError, HTTPException) as error:
        return _problem(request, error)
    if entered is None:
        later = study.open and not flow.is_complete(study)
        return _page(request, study, "study/full.html", {"later": later}, status=503)
    return RedirectResponse(f"/study/{slug}/{entered[0]}", 303)


@router.get("/{slug}/{token}")
def show(request: Request, flow: Flow, slug: str, token: str) -> Response:
    """Show where a participant is: the same at every reload."""
    try:
        return _view(request, flow.look(slug, token))
    except UseralignError as error:
        return _problem(request, error)


@router.post("/{slug}/{token}")
def answer(
    request: Request, flow: Flow, slug: str, token: str, form: Annotated[AnswerForm, Form()]
) -> Response:
    """Take what was done on a page, and go on; the same again changes nothing."""
    try:
        request.app.state.limits.answers.take(digest(token))
        if form.stage == QUERY:
            flow.begin(slug, token)
        elif form.response is not None:
            time = form_answers.milliseconds(form.milliseconds)
            flow.answer(slug, token, form.stage, form.step, form.response, milliseconds=time)
    except ConflictError:
        return _view(request, flow.look(slug, token), note=MOVED, status=409)
    except (UseralignError, HTTPException) as error:
        return _problem(request, error)
    if request.headers.get("sec-fetch-dest") == "empty":  # our script: saves it one request
        return show(request, flow, slug, token)
    return RedirectResponse(f"/study/{slug}/{token}", 303)


def _token_in(form: Mapping[str, str], arrival: Arrival) -> str:
    """Return the token that a form of the first page carries."""
    if arrival.preview:
        raise ConflictError("accept the task first; a preview takes no place")
    token = form.get("token", "")
    if not _TOKEN.fullmatch(token):
        raise InputError("this form is not whole; open the study's page again")
    return token


def _token_for(request: Request, study: Study, arrival: Arrival) -> str:
    """Return the token to come in with: a worker's own, or one that follows from the cookie."""
    if arrival.preview:
        return ""
    return arrival.token(study) or keyed_token(study, f"visitor {visitor(request).token}")


def _first_page(
    request: Request, study: Study, arrival: Arrival, values: dict[str, Any], status: int = 200
) -> Response:
    response = _page(request, study, "study/landing.html", {"unticked": False} | values, status)
    # An open link is held by the cookie; a worker or an invitation needs none.
    return keep_visitor(request, response) if arrival.worker is None else response


def _view(request: Request, view: View, note: str = "", status: int = 200) -> Response:
    template = {QUERY: "study/query.html", DONE: "study/done.html"}
    values: dict[str, Any] = {"view": view, "note": note}
    if view.stage == DONE and view.participant.source == MTURK:
        values["submit_to"] = submit_address(view.study, view.participant.recruitment)
    name = template.get(view.stage, "study/compare.html")
    return _page(request, view.study, name, values, status)


def _page(
    request: Request, study: Study, template: str, values: Mapping[str, Any], status: int = 200
) -> Response:
    common = {"path": request.url.path, "study": study, "design": study.design, "MTURK": MTURK}
    text = environment().get_template(template).render({**common, **values})
    response = HTMLResponse(text, status)
    if framed := _framed_policy(study.design):
        response.headers["content-security-policy"] = framed
    return response


def _framed_policy(design: Design) -> str | None:
    """Return the content security policy of pages in Mechanical Turk's frame; None elsewhere."""
    mode = design.recruitment.mturk
    if mode == "off":
        return None
    frames = " ".join(f"https://{host}" for host in _FRAMES[mode])
    whole = policy(frame_ancestors=f"'self' {frames}")
    return whole.replace("form-action 'self'", f"form-action 'self' https://{MTURK_HOSTS[mode]}")


def _problem(request: Request, error: Exception) -> Response:
    """Answer an error with a page of the study's kind, which leads nowhere else."""
    status, detail, headers = describe(error)
    if status == 404:
        detail = "There is no such page in this study. Open the link that you were given."
    values = {"path": request.url.path, "status": status, "detail": detail}
    text = environment().get_template("study/problem.html").render(values)
    return HTMLResponse(text, status, headers)
