"""The HTTP API: its routes, its description (OpenAPI), and the page that shows the description."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response
from fastapi.openapi.utils import get_openapi

from useralign.web.api.models import OpenAIProblem, Problem
from useralign.web.api.routes import router
from useralign.web.identity import OPENAI
from useralign.web.rendering import page

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["describe", "reference_router", "router"]

reference_router = APIRouter(include_in_schema=False)
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
    made = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    schemas = made["components"]["schemas"]
    for name in _FRAMEWORKS:
        schemas.pop(name, None)
    schemas |= {model.__name__: model.model_json_schema() for model in (Problem, OpenAIProblem)}
    for path, operations in made["paths"].items():
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
    return made


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
