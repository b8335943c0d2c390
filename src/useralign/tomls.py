"""TOML files that people write by hand, read into checked models."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from useralign.errors import FileFormatError, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

Model = TypeVar("Model", bound=BaseModel)


def parse(
    model: type[Model], text: str, where: str, *, check: Callable[[Model], None], help_: str
) -> Model:
    """Read a model from the text of a TOML file.

    Parameters
    ----------
    model : type
    text : str
    where : str
        The file's name in messages.
    check : callable
        Raises `OptionError` for what the model alone cannot tell to be wrong.
    help_ : str
        What shows the keys there are; ends the message about a missing or an unknown one.

    Raises
    ------
    FileFormatError
        With the file, the key, what was received and what was expected.
    """
    try:
        made = model.model_validate(tomllib.loads(text))
        check(made)
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(f"{where}: is not TOML ({error})") from error
    except ValidationError as error:
        raise FileFormatError(f"{where}: {_first_problem(error, help_)}") from error
    except OptionError as error:
        raise FileFormatError(f"{where}: {error}") from error
    return made


def _is_branch(part: str) -> bool:
    """Tell the name of a branch of a union, which nobody wrote, from a key."""
    named = part.replace("-", "_").isidentifier()
    return not named or part == "literal" or part.startswith("constrained-")


def _first_problem(error: ValidationError, help_: str) -> str:
    first = error.errors()[0]
    place = ""
    for part in first["loc"]:
        if isinstance(part, int):
            place += f"[{part}]"
        elif not _is_branch(part):
            place += f".{part}" if place else part
    if first["type"] == "missing":
        return f"{place}: is missing; {help_}"
    if first["type"] == "extra_forbidden":
        return f"{place}: is not a key of such a file; {help_}"
    message = first["msg"].removeprefix("Value error, ")
    return (
        f"{place or 'file'}: {message[:1].lower()}{message[1:]}; got {str(first['input'])[:60]!r}"
    )
