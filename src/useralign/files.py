"""Files: where they are kept, writing them whole or not at all, journals, JSON and TOML."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from useralign.errors import FileFormatError, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import BaseModel, ValidationError

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
Model = TypeVar("Model", bound="BaseModel")
Result = TypeVar("Result")


def cache_dir(*parts: str) -> Path:
    """Return a folder for what can be made again: weights, generations, embeddings.

    `USERALIGN_CACHE` names it; else it is `useralign` under `XDG_CACHE_HOME` or `~/.cache`. The
    folder is not created here.
    """
    return _folder("USERALIGN_CACHE", "user_cache_dir").joinpath(*parts)


def data_dir(*parts: str) -> Path:
    """Return a folder for what cannot be made again: the database of answers.

    `USERALIGN_DATA` names it; else it is `useralign` under `XDG_DATA_HOME` or `~/.local/share`. The
    folder is not created here.
    """
    return _folder("USERALIGN_DATA", "user_data_dir").joinpath(*parts)


def _folder(variable: str, usual: str) -> Path:
    """Return the folder that a variable names, else a folder of XDG's, on every system."""
    from platformdirs.unix import Unix  # noqa: PLC0415 - importing this package stays cheap

    return Path(os.environ.get(variable) or getattr(Unix("useralign"), usual)).expanduser()


def write_atomically(path: str | Path, content: str | bytes) -> Path:
    """Write a file by way of a neighbour and a rename: the old content or the new, never half."""
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
    """Load a JSON file, or raise `FileFormatError` with its name."""
    try:
        return parse_json(Path(path).read_text(encoding="utf-8"))
    except TypeError as error:
        raise FileFormatError(f"{path!r:.60} is no path; expected the name of a file") from error
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise FileFormatError(f"{path}: is not JSON, or was cut short ({error})") from error


def load_json(path: str | Path, build: Callable[[Any], Result]) -> Result:
    """Return what `build` makes of a JSON file; a `FileFormatError` of it gets the file's name."""
    data = read_json(path)
    try:
        return build(data)
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from error


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text that anybody may have written.

    Raises `ValueError` if it is not JSON, or is JSON that could not be written again: too deep, a
    number of thousands of digits, or half a character (a lone surrogate).
    """
    try:
        value = json.loads(text)
        # Only an escape can bring one in; looking for it costs less than encoding everything.
        if _SURROGATE.search(text if isinstance(text, str) else text.decode("utf-8")):
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("it holds half a character, a lone surrogate") from None
    return value


def open_to_append(path: Path) -> BinaryIO:
    """Open a journal to append to; whatever was cut short in it stays a line of its own."""
    cut = path.exists() and not path.read_bytes().endswith(b"\n")
    file = path.open("ab")
    if cut and file.tell():
        file.write(b"\n")
    return file


def append_lines(file: BinaryIO, *lines: str) -> None:
    """Append lines to a journal; they are on disk when this returns."""
    file.write("".join(f"{line}\n" for line in lines).encode())
    file.flush()
    os.fsync(file.fileno())


def parse_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object in a line of a journal; an empty one if it is something else."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def parse_toml(
    model: type[Model],
    text: str,
    where: str,
    *,
    help_: str,
    check: Callable[[Model], None] | None = None,
    context: Mapping[str, Any] | None = None,
    spell: Callable[[str], str] = str,
) -> Model:
    """Parse a TOML file that people write by hand into a checked model.

    `check` raises `OptionError` for mistakes that the model alone cannot see, `context` is for the
    model's validators, and `spell` returns a key as the file spells it. `help_` shows the keys
    there are, and ends the message about a missing or an unknown one. Raises `FileFormatError` with
    `where`, and for everything that is wrong the key, what was received and what was expected.
    """
    import tomllib  # noqa: PLC0415 - importing this package stays cheap

    from pydantic import ValidationError  # noqa: PLC0415

    try:
        data = model.model_validate(tomllib.loads(text), context=context)
        if check is not None:
            check(data)
    except ValidationError as error:
        problems = [spell(line) for line in _problems(error, help_)]
        count = f"{len(problems)} things are wrong:\n  " if len(problems) > 1 else ""
        lines = "\n  ".join(problems)
        raise FileFormatError(f"{where}: {count}{lines}") from error
    except OptionError as error:
        raise FileFormatError(f"{where}: {error}") from error
    # A number of thousands of digits is a plain ValueError.
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{where}: is not TOML ({error})") from error
    return data


def _is_branch(part: str) -> bool:
    """Whether part of a path is the name of a branch of a union, which nobody wrote."""
    is_name = part.replace("-", "_").isidentifier()
    types = ("literal", "str", "int", "float")
    return not is_name or part in types or part.startswith("constrained-")


def _problems(error: ValidationError, help_: str) -> list[str]:
    """Return a line for each thing that is wrong; of a union, what its first branch says."""
    lines: dict[str, str] = {}
    for number, detail in enumerate(error.errors()):
        key = ""
        for part in detail["loc"]:
            if isinstance(part, int):
                key += f"[{part}]"
            elif not _is_branch(part):
                key += f".{part}" if key else part
        # Of the whole, or of parts together: a line each, with its key; or several of one part.
        if detail["type"] in ("lines", "several") or (not key and detail["type"] == "value_error"):
            whole = detail["msg"].removeprefix("Value error, ").splitlines()
            prefix = f"{key}: " if detail["type"] == "several" else ""
            lines |= {f"{number} {index}": prefix + line for index, line in enumerate(whole)}
        else:
            lines.setdefault(key, _problem(key, detail, help_))
    return list(lines.values())


def _problem(key: str, detail: Any, help_: str) -> str:
    if detail["type"] == "missing":
        return f"{key}: is missing; {help_}"
    if detail["type"] == "extra_forbidden":
        return f"{key}: is not a key of such a file; {help_}"
    message = detail["msg"].removeprefix("Value error, ")
    value = detail["input"]
    received = "" if isinstance(value, dict) else f"; got {str(value)[:60]!r}"
    return f"{key or 'file'}: {message[:1].lower()}{message[1:]}{received}"
