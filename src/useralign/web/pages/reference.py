"""The reference of the HTTP API, drawn from its own description."""

# ruff: noqa: TC001 - the framework reads annotations when it runs
from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request, Response

from useralign.web.identity import Here
from useralign.web.rendering import page

router = APIRouter()


@router.get("/docs")
def reference(request: Request, who: Here) -> Response:  # noqa: ARG001 - sets the cookie
    """Show every operation with its fields, an example and its answers."""
    description = request.app.openapi()
    return page(
        request,
        "docs.html",
        operations=list(_operations(description)),
        loopback=request.app.state.settings.loopback,
        base=str(request.base_url).rstrip("/"),
    )


def _operations(description: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "verb": verb.upper(),
            "path": path,
            "summary": operation.get("description", operation["summary"]),
            "fields": _fields(description, _body(operation)),
            "example": _example(description, _body(operation)),
            "gives": _gives(description, operation),
            "statuses": {
                code: answer["description"]
                for code, answer in operation["responses"].items()
                if code.startswith("2") or code in {"404", "409", "422"}
            },
        }
        for path, verbs in description["paths"].items()
        for verb, operation in verbs.items()
    ]


def _body(operation: dict[str, Any]) -> dict[str, Any] | None:
    content = operation.get("requestBody", {}).get("content", {})
    found: dict[str, Any] | None = content.get("application/json", {}).get("schema")
    return found


def _gives(description: dict[str, Any], operation: dict[str, Any]) -> list[dict[str, str]]:
    """Return the fields of the answer of a success."""
    for code in ("200", "201"):
        content = operation["responses"].get(code, {}).get("content", {})
        schema = content.get("application/json", {}).get("schema")
        if schema:
            schema = schema.get("anyOf", [schema])[0]
            return _fields(description, schema.get("items", schema))
    return []


def _fields(description: dict[str, Any], schema: dict[str, Any] | None) -> list[dict[str, str]]:
    schema = _resolved(description, schema or {})
    needed = schema.get("required", [])
    return [
        {
            "name": name,
            "type": _type(field),
            "needed": "needed" if name in needed else "",
            "about": field.get("description", ""),
        }
        for name, field in schema.get("properties", {}).items()
    ]


def _resolved(description: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    found: dict[str, Any] = description["components"]["schemas"][schema["$ref"].split("/")[-1]]
    return found


def _type(field: dict[str, Any]) -> str:
    """Name the type of a field, in a few words."""
    if "$ref" in field:
        return str(field["$ref"].split("/")[-1]).removesuffix("Out").removeprefix("New")
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_type(part) for part in field["anyOf"]))
    if "enum" in field:
        return " | ".join(str(value) for value in field["enum"])
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    return str(field.get("type", "anything"))


def _example(description: dict[str, Any], schema: dict[str, Any] | None) -> str:
    examples = _resolved(description, schema or {}).get("examples", [])
    return json.dumps(examples[0]) if examples else ""
