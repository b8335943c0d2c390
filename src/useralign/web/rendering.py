"""From templates to pages."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse

from useralign import __version__
from useralign.web import markdown
from useralign.web.identity import FIELD, set_cookie, visitor

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

AnyResponse = TypeVar("AnyResponse", bound="Response")
HERE = Path(__file__).parent
STATIC = HERE / "static"


@cache
def environment() -> Environment:
    """Return the templates: everything is escaped, and a missing value is an error."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(static=static, version=__version__, FORM_FIELD=FIELD)
    made.filters.update(answer=markdown.answer, plain=markdown.plain, brief=markdown.brief)
    return made


@cache
def static(name: str) -> str:
    """Return the address of a static file; it changes with the content, so it is cached for good.

    Parameters
    ----------
    name : str
        Its name in the folder `static`.
    """
    content = (STATIC / name).read_bytes()
    return f"/static/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"


def page(request: Request, template: str, *, status_code: int = 200, **values: Any) -> HTMLResponse:
    """Return a page, and give a stranger their cookie.

    Parameters
    ----------
    request : Request
    template : str
        Its name in the folder `templates`.
    status_code : int
    **values
        For the template. `who` (the visitor) and `form_token` are there already.
    """
    who = visitor(request)
    values = {"who": who, "form_token": who.form_token, "path": request.url.path} | values
    response = HTMLResponse(environment().get_template(template).render(values), status_code)
    return keep_visitor(request, response)


def to(request: Request, address: str) -> Response:
    """Send a browser on to a page after a form, so that reloading does not send it again."""
    return keep_visitor(request, RedirectResponse(address, 303))


def keep_visitor(request: Request, response: AnyResponse) -> AnyResponse:
    """Set the cookie of someone who has none yet."""
    who = visitor(request)
    if who.fresh:
        set_cookie(request, response, who.token)
    return response
