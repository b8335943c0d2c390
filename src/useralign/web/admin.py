"""The administration pages: how studies are going, their results, exports, and deleting.

They are open to whoever knows the server's secret, for half a day. What the cookie holds is a time
and a signature under the secret, so that a new secret ends all log-ins; what is stored are the
hashes of cookies that were logged out, until their time is over.
"""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Form, Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse, StreamingResponse

from useralign.store import digest
from useralign.store.studies import reading
from useralign.study import export, results, submissions
from useralign.study.flags import measure_people
from useralign.study.recruitment import LINK, Arrival
from useralign.study.studies import still_held
from useralign.web import rehearsal
from useralign.web.identity import check_form_token, form_token
from useralign.web.rendering import as_file, render
from useralign.web.security import SAFE_METHODS
from useralign.web.study import Flow, first_page, show_view

if TYPE_CHECKING:
    from useralign.web.settings import Settings

COOKIE = "useralign_admin"
LASTS = 12 * 3600
PATH = "/admin"
CLOSED = (
    "The administration pages are closed. Start the server with a secret: set USERALIGN_SECRET, "
    "or give --secret-file."
)
router = APIRouter(prefix=PATH, include_in_schema=False)
_RECENT, _ALL = 25, 2000  # participants in the table


def _only_reader(request: Request) -> str:
    """Return the cookie of someone who is logged in; for what changes nothing."""
    if request.app.state.settings.secret is None:
        raise HTTPException(403, CLOSED)
    if not _is_in(request):
        raise HTTPException(401, "Log in first, at /admin.")
    return request.cookies[COOKIE]


Reader = Annotated[str, Depends(_only_reader)]


async def _only_admin(request: Request, cookie: Reader) -> str:
    """Return the same; a form must carry its token."""
    if request.method not in SAFE_METHODS:
        await check_form_token(request, cookie)
    return cookie


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
    state.limits.tries.take(visitor)
    hashes = [sha256(text.encode()).digest() for text in (secret, state.settings.secret)]
    if not hmac.compare_digest(*hashes):  # in a time that tells nothing
        return _page(request, "admin/login.html", {"closed": "", "wrong": True}, 401)
    state.limits.tries.give_back(visitor)
    response = RedirectResponse(PATH, 303)
    until = f"{int(state.settings.now()) + LASTS}.{secrets.token_urlsafe(16)}"
    response.set_cookie(
        COOKIE,
        f"{until}.{_signature(state.settings, until)}",
        max_age=LASTS,
        path=PATH,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


@router.post("/logout")
def logout(request: Request, cookie: Admin) -> Response:
    """Delete the cookie, and take it no more."""
    request.app.state.store.rate_limits.block(_log_out_key(cookie), LASTS)
    response = RedirectResponse(PATH, 303)
    response.delete_cookie(COOKIE, path=PATH)
    return response


@router.get("/studies/{slug}")
def study(
    request: Request, _: Admin, flow: Flow, slug: str, note: str = "", people: str = ""
) -> Response:
    """Show one study: places, times, attention, win-rates, people."""
    about = flow.studies.get(slug)
    store, now = request.app.state.store, request.app.state.settings.now()
    state = results.status(store, about, now)
    outcomes = results.outcomes(store, about)
    with reading(store, slug) as records:
        finish_times = records.finish_times()
        recent = records.recent_participants(_ALL if people == "all" else _RECENT)
        measures = measure_people(records, about.design.pages, [who.id for who in recent])
    values = {
        "study": about,
        "design": about.design,
        "status": state,
        "table": [
            (method, [outcome for outcome in outcomes if outcome.method == method])
            for method in results.methods_of(about.design)
        ],
        "headings": results.headings(about.design),
        "label": results.label,
        "labels": results.LABELS,
        "note": results.table(about.design, outcomes).note,
        "published": any(outcome.paper for outcome in outcomes),
        "finish_times": finish_times,
        "recent": [(who, measures[who.id].flags(about.design.flags)) for who in recent],
        "everybody": people == "all" or len(recent) < _RECENT,
        "most_simulated": min(rehearsal.MOST, about.design.wanted),
        "submissions": [
            (platform, submissions.list_submissions(store, about, platform))
            for platform in about.design.recruitment.platforms
        ],
        "platform_files": submissions.platform_files,
        "formats": list(export.FORMATS),
        "datasets": list(export.COLUMNS),
        "notice": {
            "forgotten": "The participant was deleted.",
            "simulating": "Simulated people are on their way. Reload to see how far they are.",
            "held": still_held(["the database's files"], slug),
        }.get(note, ""),
        "now": now,
    }
    return _page(request, "admin/study.html", values)


@router.get("/studies/{slug}/codebook.md")
def codebook_file(_: Admin, flow: Flow, slug: str) -> Response:
    """Return the codebook of the exports."""
    text = export.codebook(flow.studies.get(slug), tuple(export.COLUMNS))
    return PlainTextResponse(text, headers=as_file(f"{slug}-codebook.md"))


@router.get("/studies/{slug}/submissions/{name}")
def submissions_file(request: Request, _: Admin, flow: Flow, slug: str, name: str) -> Response:
    """Return whom to approve, to reject and to ask, as a file that their platform takes."""
    about = flow.studies.get(slug)
    for platform in about.design.recruitment.platforms:
        rows = submissions.list_submissions(request.app.state.store, about, platform)
        text = submissions.platform_files(platform, rows).get(name)
        if text is not None:
            return PlainTextResponse(text, headers=as_file(f"{slug}-{name}"))
    raise HTTPException(404, "There is no such file.")


@router.get("/studies/{slug}/{dataset}.{form}")
def download(
    request: Request, _: Admin, flow: Flow, slug: str, dataset: str, form: str
) -> Response:
    """Return an export, as it is read from the database."""
    about = flow.studies.get(slug)
    if dataset not in export.COLUMNS or form not in export.FORMATS:
        raise HTTPException(404, "There is no such export.")
    pieces = export.stream(request.app.state.store, about, dataset, form)
    headers = as_file(f"{slug}-{dataset}.{form}")
    return StreamingResponse(pieces, media_type=export.FORMATS[form], headers=headers)


@router.post("/studies/{slug}/open")
def set_open(
    _: Admin,
    flow: Flow,
    slug: str,
    value: Annotated[bool, Form()],
    paused: Annotated[bool, Form()] = False,
) -> Response:
    """Take new participants, nobody for a while, or no more."""
    flow.studies.set_open(slug, value, paused=paused)
    return RedirectResponse(f"{PATH}/studies/{slug}", 303)


@router.post("/studies/{slug}/pilot")
def open_pilot(_: Admin, flow: Flow, slug: str) -> Response:
    """Open the pilot of a study, and show it."""
    return RedirectResponse(f"{PATH}/studies/{flow.studies.rehearse(slug, 'pilot').slug}", 303)


@router.post("/studies/{slug}/simulate")
def simulate(
    request: Request,
    _: Admin,
    flow: Flow,
    slug: str,
    people: Annotated[int, Form(ge=1, le=rehearsal.MOST)],
) -> Response:
    """Send simulated people to the simulated twin of a study, anew, and show it."""
    store = request.app.state.store
    twin = rehearsal.start(store, lambda: flow.studies.rehearse(slug, "simulated"), people)
    return RedirectResponse(f"{PATH}/studies/{twin.slug}?note=simulating", 303)


@router.api_route("/studies/{slug}/preview/{lang}/{cell}/{index}", methods=["GET", "POST"])
def preview(
    request: Request, _: Reader, flow: Flow, slug: str, lang: str, *, cell: int, index: int
) -> Response:
    """Show what somebody of a cell would see; a form leads to the next page, nothing is stored."""
    about = flow.studies.get(slug)
    if not 0 <= cell < len(about.design.cells) or lang not in about.design.languages:
        raise HTTPException(404, "There is no such cell.")
    if request.method == "POST":
        return RedirectResponse(f"{PATH}/studies/{slug}/preview/{lang}/{cell}/{index + 1}", 303)
    note = f"Preview, nothing is stored: {' · '.join(about.design.cells[cell])}"
    if index == 0:
        return first_page(request, about, Arrival(LINK, proven=True), {"lang": lang}, note=note)
    view = flow.preview(about, cell, index - 1, lang)
    return show_view(request, flow, view, note=note)


@router.post("/studies/{slug}/forget")
def forget(_: Admin, flow: Flow, slug: str, name: Annotated[str, Form(max_length=40)]) -> Response:
    """Delete a participant and all their answers."""
    note = "held" if flow.studies.forget(slug, name) else "forgotten"
    return RedirectResponse(f"{PATH}/studies/{slug}?note={note}", 303)


def _page(
    request: Request, template: str, values: dict[str, Any], status_code: int = 200
) -> Response:
    common = {
        "path": request.url.path,
        "form_token": form_token(request.cookies.get(COOKIE, "")),
        "logged_in": _is_in(request),
    }
    return render(template, common | values, status_code)


def _is_in(request: Request) -> bool:
    """Whether a request carries a cookie that opens the pages."""
    state, cookie = request.app.state, request.cookies.get(COOKIE, "")
    until, _, signature = cookie.rpartition(".")
    expected = _signature(state.settings, until)
    if state.settings.secret is None or not hmac.compare_digest(
        signature.encode(), expected.encode()
    ):
        return False
    in_time = state.settings.now() < int(until.partition(".")[0])  # as it was signed
    return in_time and not state.store.rate_limits.is_blocked(_log_out_key(cookie))


def _log_out_key(cookie: str) -> str:
    return digest(f"logged out {cookie}")


def _signature(settings: Settings, until: str) -> str:
    key = sha256(f"admin {settings.secret}".encode()).digest()
    return hmac.new(key, until.encode(), sha256).hexdigest()
