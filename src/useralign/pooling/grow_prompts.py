"""The prompts that a growing pool asks with: what was liked, what was not, what is there already.

Everything in them that a person or a model wrote is data: it stands between triple quotes, which it
cannot close, and is cut to a length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from useralign.pooling.prompts import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 600
"""Characters of a liked or disliked answer, or of a remark, that a prompt repeats."""
MENTIONED = 40
"""How many of the other answers a prompt mentions."""
_START = 8


def answer(
    question: str,
    liked: Sequence[str],
    disliked: Sequence[str],
    remarks: Sequence[str] = (),
    others: Sequence[str] = (),
) -> str:
    """Return the prompt for one new answer.

    It does not speak of a person: a small model would speak of one, too. What stays the same from
    one prompt to the next comes first, so that a local model need not read it again.

    Parameters
    ----------
    question : str
    liked, disliked : sequence of str
        What the person chose, and what they turned down.
    remarks : sequence of str
        What they said in their own words.
    others : sequence of str
        The rest of the answers that are there; their first words are given.
    """
    parts = [f"Question:\n{quoted(question)}"]
    if others:
        starts = [" ".join(text.split()[:_START]) for text in others[-MENTIONED:]]
        parts.append(f"Known already:\n{_listed(starts)}")
    if disliked:
        parts.append(f"Not liked:\n{_listed(disliked)}")
    if remarks:
        parts.append(f"Wishes:\n{_listed(remarks)}")
    if liked:
        parts.append(f"Liked:\n{_listed(liked)}")
    parts.append(_task(liked, disliked))
    return "\n\n".join(parts)


def picture(
    question: str, liked: Sequence[str], disliked: Sequence[str], remarks: Sequence[str] = ()
) -> str:
    """Return the prompt for one new picture; parameters as for `answer`."""
    parts = [f"Make one picture that answers this request:\n{quoted(question)}"]
    if remarks:
        parts.append(f"The person said:\n{_listed(remarks)}")
    if disliked:
        parts.append(f"They do not want pictures such as:\n{_listed(disliked)}")
    if liked:
        parts.append(f"They like pictures such as:\n{_listed(liked)}")
    parts.append(
        "Make a new picture that is close to what they like and unlike what they do not want."
        if liked or disliked
        else "Make a new picture."
    )
    return "\n\n".join(parts)


def _task(liked: Sequence[str], disliked: Sequence[str]) -> str:
    kind = ""
    if liked:
        kind = " of the same kind as what was liked"
    if disliked:
        kind += "," if liked else ""
        kind += " unlike what was not liked"
    return f"Answer the question with another choice{kind}. Repeat none of the above."


def _listed(texts: Sequence[str]) -> str:
    return quoted("\n".join(f"- {' '.join(text[:LONGEST].split())}" for text in texts))
