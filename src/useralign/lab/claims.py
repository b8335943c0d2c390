"""The paper's claims, each a function from results to a verdict: it holds, or not and why.

A verdict compares means as they are. Nothing is fitted to make a claim hold, and where one does not
the text gives the figures and what lies behind them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from useralign.lab import paper
from useralign.lab.paper import CAP, MATCHED, Mean
from useralign.lab.results import at, at_epsilon, select
from useralign.lab.tables_build import NAMES, Cells, at_budget, at_threshold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_WHOLE = 0.005  # costs are printed to two decimals


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a claim.

    Parameters
    ----------
    claim : str
        What the paper says.
    where : str
        The domain it was checked on.
    holds : bool
    ours, paper : str
        The figures.
    why : str
        What lies behind them; for a claim that does not hold, the reason.
    """

    claim: str
    where: str
    holds: bool
    ours: str
    paper: str
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def check(cells: Cells) -> list[Verdict]:
    """Check every claim on the cells that are there.

    Parameters
    ----------
    cells : list of dict
        Results of any of the plans; claims about domains that were not run are left out.
    """
    return [
        verdict
        for domain, mine in _by_domain(cells, style="mixed", user_kind="persona").items()
        for claim in CLAIMS
        for verdict in claim(domain, mine)
    ]


def above_iidbest(domain: str, cells: Cells) -> Iterator[Verdict]:
    """UserAlign at epsilon 0 has a higher win-rate than iidBest at t = 20, 25 and 50."""
    found = at_threshold(cells, "useralign", 0.0)
    rivals = _rivals(cells)
    if found is None or not rivals:
        return
    ours, cost = found
    theirs = paper.load().row(domain, "useralign", epsilon=0.0)
    yield Verdict(
        "UserAlign at ε = 0 has a higher win-rate than iidBest at t = 20, 25 and 50",
        domain,
        all(ours.mean > rival.mean for rival in rivals.values()),
        f"{ours.mean:.2f} after {cost.mean:.1f} questions; iidBest {_series(rivals)}",
        _paper_series(domain, theirs),
        _favourites(cells) + _closeness(ours, rivals),
    )


def few_questions(domain: str, cells: Cells) -> Iterator[Verdict]:
    """UserAlign at epsilon 0 asks 19 to 22 questions for 20 candidates."""
    found = at_threshold(cells, "useralign", 0.0)
    if found is None or {cell["pool_size"] for cell in cells} != {20}:
        return
    cost = found[1]
    row = paper.load().row(domain, "useralign", epsilon=0.0)
    yield Verdict(
        "UserAlign at ε = 0 asks 19 to 22 questions for 20 candidates",
        domain,
        19.0 <= cost.mean <= 22.0,
        f"{cost.mean:.2f} ({cost.sem:.2f})",
        f"{row.cost.mean:.2f} ({row.cost.sem:.2f})" if row else "not in the paper",
        "Where the differences between answers are linearly independent, every candidate must lose "
        "once: 19 questions, and some more when the incumbent changes. Features that leave "
        "fewer directions free need fewer.",
    )


def loss_stalls(domain: str, cells: Cells) -> Iterator[Verdict]:
    """UserAlign_loss runs into the cap in 64 and 512 dimensions."""
    found = at_threshold(cells, "useralign_loss", 0.0)
    if found is None or (domain.endswith("2d") and not domain.endswith("512d")):
        return
    early = at_budget(cells, "useralign_loss", 1)
    win, cost = found
    row = paper.load().row(domain, "useralign_loss", epsilon=0.0)
    gained = "" if early is None else f" (after one question {early.mean:.2f})"
    yield Verdict(
        f"UserAlign_loss does not stop within {CAP} questions",
        domain,
        abs(cost.mean - CAP) < _WHOLE,
        f"cost {cost.mean:.2f}, win-rate {win.mean:.2f}{gained}",
        f"cost {row.cost.mean:.2f}, win-rate {row.win.mean:.2f}" if row else "not in the paper",
        "The width of its confidence set grows with the dimension, so that in so many "
        "dimensions the answers hardly move it.",
    )


def equal_start(domain: str, cells: Cells) -> Iterator[Verdict]:
    """All four methods recommend the same answer before anything is asked."""
    methods = ("useralign", "useralign_loss", "iidbest", "random")
    starts: dict[tuple[str, str, int], set[str]] = {}
    for cell in cells:
        if cell["method"] in methods:
            place = (cell["question"], cell["user"], cell["seed"])
            starts.setdefault(place, set()).add(at(cell, 0).best)
    if {cell["method"] for cell in cells} < set(methods):
        return
    apart = sum(len(found) > 1 for found in starts.values())
    wins = [win for m in methods if (win := at_budget(cells, m, 0)) is not None]
    row = paper.load().row(domain, "random")
    yield Verdict(
        "All four methods are equal at t = 0",
        domain,
        apart == 0,
        ", ".join(f"{win.mean:.2f}" for win in wins),
        f"{row.win.mean:.2f} for all" if row else "not in the paper",
        "With nothing answered every candidate ties, and the methods share the seed that "
        f"breaks the tie; they differ in {apart} of {len(starts)} interactions.",
    )


def fixed_costs(domain: str, cells: Cells) -> Iterator[Verdict]:
    """At epsilon = 3 = S nothing is asked; at epsilon = 2 exactly one question is."""
    for method in ("useralign", "useralign_loss"):
        for epsilon, wanted in ((3.0, 0), (2.0, 1)):
            found = at_threshold(cells, method, epsilon)
            if found is None:
                continue
            mine = select(cells, method=method, mode="epsilon")
            late = sum(at_epsilon(cell, epsilon).t > wanted for cell in mine)
            yield Verdict(
                f"{NAMES[method]} at ε = {epsilon:g} has a cost of {wanted:.2f}",
                domain,
                abs(found[1].mean - wanted) < _WHOLE,
                f"{found[1].mean:.2f} ({found[1].sem:.2f})",
                f"{wanted:.2f} (0.00)",
                _first_bound(epsilon, late, len(mine), at_once=method == "useralign"),
            )


def _first_bound(epsilon: float, late: int, count: int, *, at_once: bool) -> str:
    """Explain the bound before and after the first answer."""
    if epsilon == 3.0:
        return "B(0) = S = 3 by definition."
    seen = f"B(1) is above 2 in {late} of {count} interactions."
    if not late:
        return seen
    if at_once:
        return f"{seen} The first half-space leaves a challenger that far away."
    return (
        f"{seen} Its set is still the whole ball after one answer, so that B(1) is 3 times the "
        "distance to the furthest answer: in these an answer lies further than 2/3 away in "
        "our features. In the paper's embeddings none did."
    )


CLAIMS: tuple[Callable[[str, Cells], Iterator[Verdict]], ...] = (
    above_iidbest,
    few_questions,
    loss_stalls,
    equal_start,
    fixed_costs,
)


def _by_domain(cells: Cells, **fields: str) -> dict[str, Cells]:
    chosen = select(cells, **fields)
    order = [*paper.DOMAINS, *sorted({c["domain"] for c in chosen} - set(paper.DOMAINS))]
    found = {domain: select(chosen, domain=domain) for domain in order}
    return {domain: mine for domain, mine in found.items() if mine}


def _rivals(cells: Cells) -> dict[int, Mean]:
    return {t: win for t in MATCHED if (win := at_budget(cells, "iidbest", t)) is not None}


def _series(wins: Mapping[int, Mean]) -> str:
    return ", ".join(f"{win.mean:.2f} (t = {t})" for t, win in wins.items())


def _paper_series(domain: str, row: paper.TradeOff | None) -> str:
    if row is None:
        return "not in the paper"
    rivals = {t: r.win for t in MATCHED if (r := paper.load().row(domain, "iidbest", t=t))}
    return f"{row.win.mean:.2f} after {row.cost.mean:.1f} questions; iidBest {_series(rivals)}"


def _favourites(cells: Cells) -> str:
    """Say how often each method ended with what the user likes best of the whole pool."""
    best = {_place(c): at(c, 0).best for c in select(cells, method="oracle")}
    shares = []
    for method, mode, t in (("useralign", "epsilon", CAP), ("iidbest", "budget", 50)):
        ends = [
            at(c, t).best == best[_place(c)]
            for c in select(cells, method=method, mode=mode)
            if _place(c) in best
        ]
        if ends:
            shares.append(f"{NAMES[method]} in {100 * sum(ends) / len(ends):.0f}%")
    if len(shares) < 2:
        return ""
    return (
        f"The user's favourite of the pool was found by {shares[0]} of interactions, "
        f"{shares[1]} at t = 50. "
    )


def _closeness(ours: Mean, rivals: Mapping[int, Mean]) -> str:
    """Compare the narrowest gap with its standard error."""
    t, rival = max(rivals.items(), key=lambda item: item[1].mean)
    gap, sem = ours.mean - rival.mean, (ours.sem**2 + rival.sem**2) ** 0.5
    size = "within" if abs(gap) <= 2 * sem else "beyond"
    return (
        f"The narrowest gap, at t = {t}, is {gap:+.2f} points, {size} two standard errors "
        f"({2 * sem:.2f})."
    )


def _place(cell: Mapping[str, Any]) -> tuple[str, str, int]:
    return cell["question"], cell["user"], cell["seed"]
