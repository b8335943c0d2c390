"""How long it takes to read a megabyte that a hostile model or person wrote.

    python -m benchmarks.texts

Whatever meets a text that is not ours reads a megabyte of each of the pieces that patterns trip
over, repeated without end. Printed are the worst piece of each reader, and its milliseconds of
processor time, the least of three tries; 100 is the most that is wanted.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from tests.pooling.test_parse import READERS, UNITS, least_work

from useralign.errors import InputError, ModelAnswerError, ModelUnavailableError
from useralign.pooling.parse import parse_interests
from useralign.web import Settings
from useralign.web.problems import for_visitors
from useralign.web.rendering import answer_html, brief, plain
from useralign.web.uploads import LARGEST_LIST, OwnAnswers, distinct_texts
from useralign.wishes.phrases import read

if TYPE_CHECKING:
    from collections.abc import Callable

LENGTH = 10**6
ELSEWHERE = Settings(secret="a secret of many letters", loopback=False)  # noqa: S106


def _interests(text: str) -> None:
    with suppress(ModelAnswerError):
        parse_interests(text)


def _list(text: str) -> None:
    answers = OwnAnswers()
    with suppress(InputError):
        answers.add(text[:LARGEST_LIST], [])  # more is refused at once
        distinct_texts(answers.texts)


ENTRANCES: dict[str, Callable[[str], object]] = {
    "answer": READERS["answer"],
    "lines": READERS["lines"],
    "list": _list,
    "interests": _interests,
    "page": answer_html.__wrapped__,
    "plain": plain,
    "brief": brief,
    "wish": read,
    "problem": lambda text: for_visitors(ModelUnavailableError(text), ELSEWHERE),
}


def main() -> None:
    """Print the worst of each reader."""
    for name, reader in ENTRANCES.items():
        spent = {unit: least_work(reader, (unit * LENGTH)[:LENGTH]) for unit in UNITS}
        unit = max(spent, key=spent.__getitem__)
        print(f"{name:10} {1000 * spent[unit]:6.1f} ms, {unit!r} repeated", flush=True)


if __name__ == "__main__":
    main()
