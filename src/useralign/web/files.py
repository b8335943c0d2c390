"""Files that pages refer to: style, script, icons, and the pictures of pools."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, PlainTextResponse, Response

from useralign.web.rendering import STATIC

router = APIRouter(include_in_schema=False)
FOR_GOOD = "public, max-age=31536000, immutable"
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@router.get("/static/{name}")
def static_file(name: str) -> Response:
    """Serve a file that comes with the package; its address changes with its content."""
    path = STATIC / name
    if path.suffix not in TYPES or path.parent != STATIC or not path.is_file():
        raise HTTPException(404, "There is no such file.")
    headers = {"Cache-Control": FOR_GOOD}
    return FileResponse(path, headers=headers, media_type=TYPES[path.suffix])


@router.get("/media/{media_id}")
def media_file(request: Request, media_id: str) -> Response:
    """Serve a picture; its id is the hash of its content, which we encoded ourselves."""
    picture = request.app.state.store.media.get(media_id)
    headers = {"Cache-Control": FOR_GOOD.replace("public", "private")}
    return Response(picture.content, media_type=picture.type, headers=headers)


@router.get("/favicon.ico")
def favicon() -> Response:
    """Serve the icon under the name that browsers guess."""
    return static_file("icon.svg")


@router.get("/robots.txt")
def robots() -> Response:
    """Ask search engines to stay away from what is personal."""
    lines = ["User-agent: *", "Disallow: /s/", "Disallow: /making/", "Disallow: /you"]
    return PlainTextResponse("\n".join(lines) + "\n", headers={"Cache-Control": "max-age=86400"})


@router.get("/healthz")
def health(request: Request) -> Response:
    """Return whether this process and its database answer."""
    with request.app.state.store.reading():
        return PlainTextResponse("ok")
