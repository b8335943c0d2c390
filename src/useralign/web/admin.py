"""The administration pages: how studies are going, their results, exports, and deleting.

They are open to whoever knows the server's secret, for half a day. What the cookie holds is a time
and a signature under the secret, so that nothing is stored, and a new secret ends all log-ins.
"""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Form, Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, StreamingResponse

from useralign.store.studies import reading
from useralign.study import export, results
from useralign.study.forget import forget as forget_participant
from useralign.web import charts
from useralign.web.identity import check_form_token, form_token
from useralign.web.rendering import environment
from useralign.web.security import SAFE_METHODS
from useralign.web.study import Flow  # noqa: TC001 - FastAPI reads it

if TYPE_CHECKING:
    from useralign.study import Study
    from useralign.web.settings import Settings

COOKIE = "useralign_admin"
LASTS = 12 * 3600
PATH = "/admin"
CLOSED = (
    "The administration pages are closed. Start the server with a secret: set USERALIGN_SECRET, "
    "or give --secret-file."
)
router = APIRouter(prefix=PATH, include_in_schema=False)
_RECENT = 25


async def _only_admin(request: Request) -> str:
    """Return the cookie of someone who is logged in; a form must carry its token."""
    if request.app.state.settings.secret is None:
        raise HTTPException(403, CLOSED)
    if not _is_in(request):
        raise HTTPException(401, "Log in first, at /admin.")
    held = request.cookies[COOKIE]
    if request.method not in SAFE_METHODS:
        await check_form_token(request, held)
    return held


Admin = Annotated[str, Depends(_only_admin)]


@router.get("")
def studies(request: Request, flow: Flow) -> Response:
    """List the studies; before that, ask for the secret."""
    settings = request.app.state.settings
    if settings.secret is None:
        return _page(request, "admin/login.html", {"closed": CLOSED, "wrong": False}, 403)
    if not _is_in(request):
        return _page(request, "admin/login.html", {"closed": "", "wrong": False})
    store, now = request.app.state.store, settings.now()
    states = [results.status(store, flow.studies.get(s), now) for s in flow.studies.names()]
    return _page(request, "admin/studies.html", {"studies": states})


@router.post("/login")
def login(request: Request, secret: Annotated[str, Form(max_length=1000)]) -> Response:
    """Log in with the secret; only a few wrong tries a minute are allowed."""
    state = request.app.state
    if state.settings.secret is None:
        raise HTTPException(403, CLOSED)
    visitor = state.limits.visitor(request)
    state.limits.tries.check(visitor)
    if not _is_secret(state.settings, secret):
        state.limits.tries.take(visitor)
        return _page(request, "admin/login.html", {"closed": "", "wrong": True}, 401)
    return _set_login(request, RedirectResponse(PATH, 303))


@router.post("/logout")
def logout(_: Admin) -> Response:
    """Delete the cookie."""
    response = RedirectResponse(PATH, 303)
    response.delete_cookie(COOKIE, path=PATH)
    return response


@router.get("/studies/{slug}")
def study(request: Request, _: Admin, flow: Flow, slug: str, note: str = "") -> Response:
    """Show one study: places, times, attention, win-rates, people."""
    about = flow.studies.get(slug)
    store, now = request.app.state.store, request.app.state.settings.now()
    state = results.status(store, about, now)
    outcomes = results.outcomes(store, about)
    with reading(store, slug) as records:
        finish_times, recent = records.finish_times(), records.recent_participants(_RECENT)
    values = {
        "study": about,
        "design": about.design,
        "status": state,
        "table": _table(about, outcomes),
        "labels": results.LABELS,
        "note": results.table(about.design, outcomes).note,
        "places": charts.places(state),
        "over_time": charts.over_time(finish_times, state),
        "rates": charts.rates(outcomes),
        "recent": recent,
        "formats": list(export.FORMATS),
        "datasets": list(export.COLUMNS),
        "notice": {"forgotten": "The participant was deleted."}.get(note, ""),
        "now": now,
    }
    return _page(request, "admin/study.html", values)


@router.get("/studies/{slug}/codebook.md")
def codebook_file(_: Admin, flow: Flow, slug: str) -> Response:
    """Return the codebook of the exports."""
    text = export.codebook(flow.studies.get(slug), tuple(export.COLUMNS))
    return PlainTextResponse(text, headers=_as_file(f"{slug}-codebook.md"))


@router.get("/studies/{slug}/{dataset}.{form}")
def download(
    request: Request, _: Admin, flow: Flow, slug: str, dataset: str, form: str
) -> Response:
    """Return an export, as it is read from the database."""
    about = flow.studies.get(slug)
    if dataset not in export.COLUMNS or form not in export.FORMATS:
        raise HTTPException(404, "There is no such export.")
    pieces = export.stream(request.app.state.store, about, dataset, form)
    headers = _as_file(f"{slug}-{dataset}.{form}")
    return StreamingResponse(pieces, media_type=export.FORMATS[form], headers=headers)


@router.post("/studies/{slug}/open")
def set_open(_: Admin, flow: Flow, slug: str, value: Annotated[bool, Form()]) -> Response:
    """Take new participants, or no more."""
    flow.studies.set_open(slug, value)
    return RedirectResponse(f"{PATH}/studies/{slug}", 303)


@router.post("/studies/{slug}/forget")
def forget(
    request: Request,
    _: Admin,
    flow: Flow,
    slug: str,
    name: Annotated[str, Form(max_length=40)],
) -> Response:
    """Delete a participant and all their answers."""
    forget_participant(request.app.state.store, flow.studies.get(slug), name)
    return RedirectResponse(f"{PATH}/studies/{slug}?note=forgotten", 303)


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
    common = {
        "path": request.url.path,
        "form_token": form_token(held),
        "logged_in": _is_in(request),
    }
    text = environment().get_template(template).render(common | values)
    return HTMLResponse(text, status_code)


def _is_secret(settings: Settings, text: str) -> bool:
    """Return whether a text is the server's secret, in a time that tells nothing."""
    secret = settings.secret or secrets.token_hex()
    return hmac.compare_digest(sha256(text.encode()).digest(), sha256(secret.encode()).digest())


def _set_login(request: Request, response: Response) -> Response:
    """Set the cookie that opens the pages."""
    settings: Settings = request.app.state.settings
    until = f"{int(settings.now()) + LASTS}.{secrets.token_urlsafe(16)}"
    response.set_cookie(
        COOKIE,
        f"{until}.{_signature(settings, until)}",
        max_age=LASTS,
        path=PATH,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


def _is_in(request: Request) -> bool:
    """Return whether a request carries a cookie that opens the pages."""
    settings: Settings = request.app.state.settings
    until, _, signature = request.cookies.get(COOKIE, "").rpartition(".")
    if settings.secret is None or not until:
        return False
    expected = _signature(settings, until)
    moment = until.partition(".")[0]
    signed = hmac.compare_digest(signature.encode(), expected.encode())
    return signed and moment.isdigit() and settings.now() < int(moment)


def _signature(settings: Settings, until: str) -> str:
    key = sha256(f"admin {settings.secret}".encode()).digest()
    return hmac.new(key, until.encode(), sha256).hexdigest()
