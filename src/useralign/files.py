"""Files: where they are kept, writing them whole or not at all, and reading JSON and TOML."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from useralign.errors import FileFormatError, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel, ValidationError

Model = TypeVar("Model", bound="BaseModel")


def cache_dir(*parts: str) -> Path:
    """Return a folder for what can be made again: weights, generations, embeddings.

    `USERALIGN_CACHE` names it; else it is `useralign` under `XDG_CACHE_HOME` or `~/.cache`.
    The folder is not created here.

    Parameters
    ----------
    *parts : str
        Names of folders below it.
    """
    return _folder("USERALIGN_CACHE", "user_cache_dir").joinpath(*parts)


def data_dir(*parts: str) -> Path:
    """Return a folder for what cannot be made again: the database of answers.

    `USERALIGN_DATA` names it; else it is `useralign` under `XDG_DATA_HOME` or `~/.local/share`.
    The folder is not created here.

    Parameters
    ----------
    *parts : str
        Names of folders or files below it.
    """
    return _folder("USERALIGN_DATA", "user_data_dir").joinpath(*parts)


def _folder(variable: str, usual: str) -> Path:
    """Return the folder that a variable names, else a folder of XDG's, on every system."""
    from platformdirs.unix import Unix  # noqa: PLC0415 - importing this package stays cheap

    return Path(os.environ.get(variable) or getattr(Unix("useralign"), usual)).expanduser()


def write_atomically(path: str | Path, content: str | bytes) -> Path:
    """Write a file by way of a neighbour and a rename: the old content or the new, never half.

    Parameters
    ----------
    path : str or Path
    content : str or bytes
        Text is written as UTF-8.

    Returns
    -------
    Path
        Where it was written.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise
    return target


def _umask() -> int:
    """Read the mode mask; the only way to read it is to set it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def write_json(path: str | Path, data: Any) -> Path:
    """Write plain data as a JSON file, atomically, and return its path."""
    return write_atomically(path, json.dumps(data, ensure_ascii=False, indent=1) + "\n")


def read_json(path: str | Path) -> Any:
    """Load a JSON file.

    Raises
    ------
    FileFormatError
        If there is no such file, or it is not JSON (for instance cut short), with its name.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error.strerror})") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise FileFormatError(f"{path}: is not JSON, or was cut short ({error})") from error


def parse_toml(
    model: type[Model], text: str, where: str, *, check: Callable[[Model], None], help_: str
) -> Model:
    """Parse a TOML file that people write by hand into a checked model.

    Parameters
    ----------
    model : type
    text : str
    where : str
        The file's name in messages.
    check : callable
        Raises `OptionError` for mistakes that the model alone cannot see.
    help_ : str
        What shows the keys there are; ends the message about a missing or an unknown one.

    Raises
    ------
    FileFormatError
        With the file, the key, what was received and what was expected.
    """
    import tomllib  # noqa: PLC0415 - importing this package stays cheap

    from pydantic import ValidationError  # noqa: PLC0415

    try:
        data = model.model_validate(tomllib.loads(text))
        check(data)
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(f"{where}: is not TOML ({error})") from error
    except ValidationError as error:
        raise FileFormatError(f"{where}: {_first_problem(error, help_)}") from error
    except OptionError as error:
        raise FileFormatError(f"{where}: {error}") from error
    return data


def _is_branch(part: str) -> bool:
    """Whether part of a path is the name of a branch of a union, which nobody wrote."""
    named = part.replace("-", "_").isidentifier()
    return not named or part == "literal" or part.startswith("constrained-")


def _first_problem(error: ValidationError, help_: str) -> str:
    first = error.errors()[0]
    key = ""
    for part in first["loc"]:
        if isinstance(part, int):
            key += f"[{part}]"
        elif not _is_branch(part):
            key += f".{part}" if key else part
    if first["type"] == "missing":
        return f"{key}: is missing; {help_}"
    if first["type"] == "extra_forbidden":
        return f"{key}: is not a key of such a file; {help_}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{key or 'file'}: {message[:1].lower()}{message[1:]}; got {str(first['input'])[:60]!r}"
