"""Texts to token numbers, by a file of the `tokenizers` library."""

from __future__ import annotations

from useralign.errors import ModelUnavailableError
from useralign.models.embedders.checks import missing


class Tokens:
    """A tokeniser, ready to use.

    Special tokens that are written out in a text, such as "</s>" or "[SEP]", are taken as the
    plain characters that they are.

    Parameters
    ----------
    content : bytes
        A `tokenizer.json`. What it says about padding and cutting is not followed.
    marks : bool
        Whether the model wants its marks of start and end.
    most : int, optional
        Cut a text after so many tokens, the marks among them.
    """

    def __init__(self, content: bytes, *, marks: bool = False, most: int | None = None) -> None:
        if absent := missing(["tokenizers"]):
            raise ModelUnavailableError(absent)
        from tokenizers import Tokenizer  # noqa: PLC0415 - compiled; only embedding needs it

        self._marks = marks
        self._tokeniser = Tokenizer.from_buffer(content)
        self._tokeniser.encode_special_tokens = True
        self._tokeniser.no_padding()
        self._tokeniser.no_truncation()
        if most is not None:
            self._tokeniser.enable_truncation(most)

    def numbers(self, text: str) -> list[int]:
        """Return the token numbers of a text.

        One text at a time: a batch would be hardly faster, and starts threads that make the
        library complain when the process forks later on.
        """
        # Half of a surrogate pair, which JSON can carry, is no character.
        valid = text.encode("utf-8", "replace").decode()
        ids: list[int] = self._tokeniser.encode(valid, add_special_tokens=self._marks).ids
        return ids
