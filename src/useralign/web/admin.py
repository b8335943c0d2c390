"""The administration pages: how studies are going, their results, exports, and deleting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, Request, Response
from sqlalchemy import select
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, StreamingResponse

from useralign.store.schema import participants
from useralign.study import codebook, export, results
from useralign.study.forget import forget as forget_participant
from useralign.study.participants import participant_of
from useralign.study.status import finish_times, status
from useralign.web import admin_pictures as pictures
from useralign.web.admin_access import CLOSED, COOKIE, PATH, Admin, is_in, is_secret, let_in
from useralign.web.identity import form_token
from useralign.web.rendering import environment
from useralign.web.study import Reception, desk_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from useralign.study import Study
    from useralign.study.participants import Participant

router = APIRouter(prefix=PATH, include_in_schema=False)
_RECENT = 25


@router.get("")
def studies(request: Request, desk: Reception) -> Response:
    """List the studies; before that, ask for the secret."""
    settings = request.app.state.settings
    if settings.secret is None:
        return _page(request, "admin/login.html", {"closed": CLOSED, "wrong": False}, 403)
    if not is_in(request):
        return _page(request, "admin/login.html", {"closed": "", "wrong": False})
    with request.app.state.store.reading() as connection:
        now = settings.now()
        found = [status(connection, desk.studies.get(slug), now) for slug in desk.studies.names()]
    return _page(request, "admin/studies.html", {"studies": found})


@router.post("/login")
def login(request: Request, secret: Annotated[str, Form(max_length=1000)]) -> Response:
    """Let in who knows the secret; a few wrong tries a minute, no more."""
    state = request.app.state
    if state.settings.secret is None:
        raise HTTPException(403, CLOSED)
    visitor = state.limits.visitor(request)
    state.limits.tries.check(visitor)
    if not is_secret(state.settings, secret):
        state.limits.tries.take(visitor)
        return _page(request, "admin/login.html", {"closed": "", "wrong": True}, 401)
    return let_in(request, RedirectResponse(PATH, 303))


@router.post("/logout")
def logout(_: Admin) -> Response:
    """Take the cookie back."""
    response = RedirectResponse(PATH, 303)
    response.delete_cookie(COOKIE, path=PATH)
    return response


@router.get("/studies/{slug}")
def study(request: Request, _: Admin, desk: Reception, slug: str, said: str = "") -> Response:
    """Show one study: places, times, attention, win-rates, people."""
    about = desk.studies.get(slug)
    now = request.app.state.settings.now()
    with request.app.state.store.reading() as connection:
        state = status(connection, about, now)
        outcomes = results.outcomes(connection, about)
        values = {
            "study": about,
            "design": about.design,
            "status": state,
            "table": _table(about, outcomes),
            "labels": results.LABELS,
            "note": results.table(about.design, outcomes).note,
            "places": pictures.places(state),
            "over_time": pictures.over_time(finish_times(connection, about), state),
            "rates": pictures.rates(outcomes),
            "recent": _recent(connection, slug),
            "formats": list(export.FORMATS),
            "datasets": list(codebook.COLUMNS),
            "said": {"forgotten": "The participant was deleted."}.get(said, ""),
            "now": now,
        }
    return _page(request, "admin/study.html", values)


@router.get("/studies/{slug}/codebook.md")
def codebook_file(_: Admin, desk: Reception, slug: str) -> Response:
    """Give the codebook of the exports."""
    text = codebook.codebook(desk.studies.get(slug), tuple(codebook.COLUMNS))
    return PlainTextResponse(text, headers=_as_file(f"{slug}-codebook.md"))


@router.get("/studies/{slug}/{dataset}.{form}")
def download(
    request: Request, _: Admin, desk: Reception, slug: str, dataset: str, form: str
) -> Response:
    """Give an export, as it is read from the database."""
    about = desk.studies.get(slug)
    if dataset not in codebook.COLUMNS or form not in export.FORMATS:
        raise HTTPException(404, "There is no such export.")
    pieces = export.stream(request.app.state.store, about, dataset, form)
    headers = _as_file(f"{slug}-{dataset}.{form}")
    return StreamingResponse(pieces, media_type=export.FORMATS[form], headers=headers)


@router.post("/studies/{slug}/open")
def set_open(_: Admin, desk: Reception, slug: str, value: Annotated[bool, Form()]) -> Response:
    """Take new participants, or no more."""
    desk.studies.set_open(slug, value)
    return RedirectResponse(f"{PATH}/studies/{slug}", 303)


@router.post("/studies/{slug}/forget")
def forget(
    request: Request,
    _: Admin,
    slug: str,
    name: Annotated[str, Form(max_length=40)],
) -> Response:
    """Delete a participant and all their answers."""
    forget_participant(request.app.state.store, desk_of(request).studies.get(slug), name)
    return RedirectResponse(f"{PATH}/studies/{slug}?said=forgotten", 303)


def _recent(connection: Connection, slug: str) -> list[Participant]:
    mine = select(participants).where(participants.c.study_id == slug)
    rows = connection.execute(mine.order_by(participants.c.number.desc()).limit(_RECENT))
    return [participant_of(row) for row in rows]


def _table(
    about: Study, outcomes: list[results.Outcome]
) -> list[tuple[str, list[results.Outcome]]]:
    return [
        (method, [outcome for outcome in outcomes if outcome.method == method])
        for method in results.methods_of(about.design)
    ]


def _as_file(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


def _page(
    request: Request, template: str, values: dict[str, Any], status_code: int = 200
) -> Response:
    held = request.cookies.get(COOKIE, "")
    known = {"path": request.url.path, "form_token": form_token(held), "logged_in": is_in(request)}
    return HTMLResponse(environment().get_template(template).render(known | values), status_code)
