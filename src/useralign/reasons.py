"""Why a candidate was recommended: one sentence, from what the person chose and passed over.

It names what the chosen share with the recommended one and those passed over lack: what can be
wished for over the pool ("spicy", "meat"), interests, and words of the texts.
Where there are none it says how often the candidate was chosen, or that it was never seen.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import combinations
from typing import TYPE_CHECKING

from useralign.wishes import words as vocabulary
from useralign.wishes.chips import chips

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from useralign.pool import Candidate, Pool
    from useralign.session import Session

    Terms = Mapping[int, Mapping[str, None]]  # by index of the candidate

MOST_WORDS = 2  # of what was liked, and of what was passed over
MOST_LEANINGS = 3  # the same of all that somebody answered
LONGEST_PHRASE = 4  # words between commas that are one thing, such as "visible brush strokes"
LONGEST_EXCERPT = 60  # characters
_ON_INDIFFERENCE = {
    "equal": "You found them equally good, so this one is as good as any.",
    "neither": "None of those you saw would do, so this is little more than a guess.",
}
_WORD = re.compile(r"[^\W\d_]+(?:[-'\u2019][^\W\d_]+)*")


def why(session: Session) -> str:
    """Return one sentence on why `session.best` is recommended; never empty.

    Parameters
    ----------
    session : Session

    Examples
    --------
    >>> import useralign as ua
    >>> from useralign.reasons import why
    >>> pool = ua.Pool("Which?", ["plain", "hot", "sweet"], [[0, 0], [1, 0], [0, 1]])
    >>> session = ua.Session(pool)
    >>> why(session)
    'Nothing was compared yet, so this is a guess.'
    >>> session.tell(session.ask().first)
    >>> why(session)
    'You chose it over one other.'
    """
    if indifference := indifferent_to(session):
        return _ON_INDIFFERENCE[indifference]
    quotes = _quotes(session)
    best = session.best
    winners, passed, terms = _evidence(session)
    if not winners and not quotes:
        return _on_nothing(session)
    reason = _in_words(best, winners, passed, terms)
    reason = reason or _in_numbers(best, passed, session, terms)
    return f"You said {quotes}, and {reason}." if quotes else f"You {reason}."


def indifferent_to(session: Session) -> str:
    """Return what all answers of a person who preferred nothing come to: "equal" or "neither".

    Empty if something was preferred, or there is more to ask.
    """
    kinds = {answer.kind for answer in session.answers if answer.counts}
    over = session.stop_reason in ("indifferent", "exhausted")
    if not over or not kinds or not kinds <= {"equal", "neither"}:
        return ""
    return "neither" if kinds == {"neither"} else "equal"


def leanings(sessions: Iterable[Session]) -> str:
    """Return what somebody's sessions say of their taste, in a few words; empty if nothing does.

    Such as `likes spicy and quick; passes over fish; said “no nuts”`.
    """
    likes: Counter[str] = Counter()
    dislikes: Counter[str] = Counter()
    quotes: dict[str, None] = {}
    for session in sessions:
        _, passed, terms = _evidence(session)
        likes += _counts([session.pool[k] for k in _choices(session)], terms)
        dislikes += _counts(passed, terms)
        quotes |= dict.fromkeys(f"“{_excerpt(wish.text)}”" for wish in session.wishes)
    # Of a screen of four, three are passed over.
    liked = [term for term, n in likes.most_common() if n >= 2 and 3 * n > dislikes[term]]
    avoided = [term for term, n in dislikes.most_common() if n >= 3 and not likes[term]]
    parts = [("likes", liked), ("passes over", avoided), ("said", list(quotes))]
    return "; ".join(f"{verb} {_listed(terms)}" for verb, terms in parts if terms)


def _listed(terms: Sequence[str]) -> str:
    """Return the first few terms that do not repeat each other, as words."""
    first: list[str] = []
    for term in terms:
        if len(first) < MOST_LEANINGS and not any(term in one or one in term for one in first):
            first.append(term)
    return " and ".join(filter(None, [", ".join(first[:-1]), first[-1]]))


def _evidence(session: Session) -> tuple[list[Candidate], list[Candidate], Terms]:
    """Return what was chosen, what was passed over, and what these and the best are like."""
    best = session.best
    winners = [session.pool[k] for k in dict.fromkeys(_choices(session))]
    passed = [session.pool[k] for k in _passed(session, {c.index for c in winners} | {best.index})]
    labels = _labels(session.pool)
    candidates = (best, *winners, *passed)
    terms = {one.index: dict.fromkeys(labels[one.index]) | _terms(one) for one in candidates}
    return winners, passed, terms


def _on_nothing(session: Session) -> str:
    if any(answer.counts for answer in session.answers):
        return "You had no favourite among those you saw, so this is little more than a guess."
    if getattr(session.method, "prior", None) is not None:
        return "Nothing was compared yet; this goes by earlier answers."
    return "Nothing was compared yet, so this is a guess."


def _quotes(session: Session) -> str:
    """Return what the person said in words, the last two, quoted; or nothing."""
    texts = [" ".join(answer.text.split()) for answer in session.answers if answer.text.strip()]
    return " and ".join([f"“{_excerpt(text)}”" for text in dict.fromkeys(texts)][-MOST_WORDS:])


def _choices(session: Session) -> list[int]:
    """Return what was chosen, or ranked first, by each answer in turn."""
    return [answer.wins[0][0] for answer in session.answers if answer.wins]


def _preferences(session: Session) -> Iterator[tuple[int, int]]:
    """Yield every pair (better, worse) that was answered; of a ranking all of them."""
    for answer in session.answers:
        yield from combinations(answer.order, 2) if answer.order else answer.wins


def _passed(session: Session, liked: set[int]) -> list[int]:
    """Return what was seen and never chosen, each once; not what was called equal or skipped."""
    losers: dict[int, None] = {}
    for answer in session.answers:
        if answer.kind == "neither":
            losers |= dict.fromkeys(answer.candidates)
        losers |= dict.fromkeys(loser for _, loser in answer.wins)
    return [k for k in losers if k not in liked]


def _labels(pool: Pool) -> dict[int, list[str]]:
    """Return for candidates, by index, what can be wished for of them or left out with them."""
    labels: dict[int, list[str]] = defaultdict(list)
    for chip in chips(pool):
        for index in chip.favoured:
            labels[index].append(chip.text.lower())
        if chip.text.startswith("no "):
            for index in chip.hidden:
                labels[index].append(chip.text.removeprefix("no "))
    return labels


def _in_words(
    best: Candidate, winners: Sequence[Candidate], passed: Sequence[Candidate], terms: Terms
) -> str:
    """Return what the chosen have in common with the best, and the passed over lack; or nothing."""
    likes = _counts(winners, terms)
    dislikes = _counts(passed, terms)
    own = _counts([best], terms)

    def appeal(term: str) -> float:
        return likes[term] / (len(winners) + 1) - dislikes[term] / (len(passed) + 1)

    def tells_apart(term: str) -> bool:
        """Whether a larger share of the winners than of those passed over has it."""
        return likes[term] * len(passed) > dislikes[term] * len(winners)

    shared = [t for t in own if likes[t] >= 2 and appeal(t) > 1e-9 and tells_apart(t)]
    if not shared:
        return ""
    avoided = _avoided(dislikes, likes | own)
    what = "pictures" if best.is_picture else "answers"
    return f"chose {what} with {_top(shared, appeal, (*winners, *passed), terms)}" + (
        f", and passed over {_top(avoided, dislikes.__getitem__, passed, terms)}" if avoided else ""
    )


def _in_numbers(
    best: Candidate, passed: Sequence[Candidate], session: Session, terms: Terms
) -> str:
    """Return how often the best was chosen, or what it is like."""
    losers = {loser for winner, loser in _preferences(session) if winner == best.index}
    if losers:
        others = "one other" if len(losers) == 1 else f"{len(losers)} others"
        if best.interest:
            return f"chose it, which is for “{_excerpt(best.interest)}”, over {others}"
        dislikes = _counts(passed, terms)
        avoided = _avoided(dislikes, _counts([best], terms))
        return f"chose it over {others}" + (
            f", such as those with {_top(avoided, dislikes.__getitem__, passed, terms)}"
            if avoided
            else ""
        )
    seen = any(best.index in answer.candidates for answer in session.answers)
    if not (choices := _choices(session)):
        return "this fits that best" if seen else "this, which you have not seen yet, fits that"
    last = session.pool[choices[-1]]
    like = (
        f"is like “{_excerpt(last.text)}”, which you chose" if last.text else "is like your choice"
    )
    return f"may like it: it {like}" if seen else f"have not seen it yet: it {like}"


def _avoided(dislikes: Counter[str], likes: Counter[str]) -> list[str]:
    """Return what at least two of those passed over share, and nothing that was liked has."""
    return [term for term, count in dislikes.items() if count >= 2 and not likes[term]]


def _counts(candidates: Iterable[Candidate], terms: Terms) -> Counter[str]:
    return Counter(term for candidate in candidates for term in terms[candidate.index])


def _terms(candidate: Candidate) -> dict[str, None]:
    """Return what a text says of its candidate, each once: interest, short phrases, words."""
    terms: dict[str, None] = {}
    common = vocabulary.knowledge().common
    if candidate.interest:
        terms[" ".join(candidate.interest.lower().split())] = None
    for phrase in re.split(r"[,;:.!?()\n]+", candidate.text.lower()):
        words = _WORD.findall(phrase)
        while words and (len(words[0]) <= 3 or words[0] in common):
            words = words[1:]  # "with much space around" is about space around
        if 1 < len(words) <= LONGEST_PHRASE:
            terms[" ".join(words)] = None
        terms |= dict.fromkeys(w for w in words if len(w) > 3 and w not in common)
    return terms


def _top(
    options: Sequence[str],
    worth: Callable[[str], float],
    candidates: Sequence[Candidate],
    terms: Terms,
) -> str:
    """Return the terms that are worth most, as words; of those that say the same, the first."""
    best: dict[str, frozenset[int]] = {}
    for term in sorted(options, key=lambda t: (-round(worth(t), 6), -len(t), t)):
        holders = frozenset(c.index for c in candidates if term in terms[c.index])
        repeats = any(term in other or other in term for other in best) or holders in best.values()
        if len(best) < MOST_WORDS and not repeats:
            best[term] = holders
    texts = ". ".join(candidate.text for candidate in candidates)  # each begins a sentence
    return " and ".join(f"“{_as_written(term, texts)}”" for term in best)


def _as_written(term: str, texts: str) -> str:
    """Return a term with a capital if it has one in the middle of a sentence: a name."""
    name = re.search(rf"[^\s.!?:]\s+({re.escape(term)})\b", texts, re.IGNORECASE)
    return term if name is None else name[1]


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_EXCERPT else line[:LONGEST_EXCERPT].rsplit(" ", 1)[0] + " …"
