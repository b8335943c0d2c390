"""The paper's claims, each a function from results to a verdict: it holds, or not and why.

A verdict compares means as they are. Nothing is fitted to make a claim hold, and where one does not
the text gives the figures and what lies behind them.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from useralign.lab import paper
from useralign.lab.journal import at, at_epsilon, select
from useralign.lab.metrics import Cells, at_budget, at_threshold
from useralign.lab.paper import CAP, MATCHED, Mean
from useralign.lab.tables import NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from useralign.lab.tables import Table
    from useralign.lab.versionspace import Curves

_WHOLE = 0.005  # costs are printed to two decimals
_UNNUMBERED = "shown in a figure, without numbers"
_ABSENT = "not in the paper"


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
        for domain, ours in _by_domain(cells, style="mixed", user_kind="persona").items()
        for claim in CLAIMS
        for verdict in claim(domain, ours)
    ]


def above_iidbest(domain: str, cells: Cells) -> Iterator[Verdict]:
    """UserAlign at epsilon 0 has a higher win-rate than iidBest at t = 20, 25 and 50."""
    ended = at_threshold(cells, "useralign", 0.0)
    rivals = _rivals(cells)
    if ended is None or not rivals:
        return
    ours, cost = ended
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
    ended = at_threshold(cells, "useralign", 0.0)
    if ended is None or {cell["pool_size"] for cell in cells} != {20}:
        return
    cost = ended[1]
    row = paper.load().row(domain, "useralign", epsilon=0.0)
    yield Verdict(
        "UserAlign at ε = 0 asks 19 to 22 questions for 20 candidates",
        domain,
        19.0 <= cost.mean <= 22.0,
        f"{cost.mean:.2f} ({cost.sem:.2f})",
        f"{row.cost.mean:.2f} ({row.cost.sem:.2f})" if row else _ABSENT,
        "Where the differences between answers are linearly independent, every candidate must lose "
        "once: 19 questions, and some more when the incumbent changes. Features that leave "
        "fewer directions free need fewer.",
    )


def loss_stalls(domain: str, cells: Cells) -> Iterator[Verdict]:
    """UserAlign_loss runs into the cap in 64 and 512 dimensions."""
    ended = at_threshold(cells, "useralign_loss", 0.0)
    if ended is None or (domain.endswith("2d") and not domain.endswith("512d")):
        return
    early = at_budget(cells, "useralign_loss", 1)
    win, cost = ended
    row = paper.load().row(domain, "useralign_loss", epsilon=0.0)
    gained = "" if early is None else f" (after one question {early.mean:.2f})"
    yield Verdict(
        f"UserAlign_loss does not stop within {CAP} questions",
        domain,
        abs(cost.mean - CAP) < _WHOLE,
        f"cost {cost.mean:.2f}, win-rate {win.mean:.2f}{gained}",
        f"cost {row.cost.mean:.2f}, win-rate {row.win.mean:.2f}" if row else _ABSENT,
        "The width of its confidence set grows with the dimension, so that in so many "
        "dimensions the answers hardly move it.",
    )


def equal_start(domain: str, cells: Cells) -> Iterator[Verdict]:
    """All four methods recommend the same answer before anything is asked."""
    methods = ("useralign", "useralign_loss", "iidbest", "random")
    starts: dict[tuple[str, str, int], set[str]] = {}
    for cell in cells:
        if cell["method"] in methods:
            starts.setdefault(_interaction(cell), set()).add(at(cell, 0).best)
    if {cell["method"] for cell in cells} < set(methods):
        return
    apart = sum(len(labels) > 1 for labels in starts.values())
    wins = [win for m in methods if (win := at_budget(cells, m, 0)) is not None]
    row = paper.load().row(domain, "random")
    yield Verdict(
        "All four methods are equal at t = 0",
        domain,
        apart == 0,
        ", ".join(f"{win.mean:.2f}" for win in wins),
        f"{row.win.mean:.2f} for all" if row else _ABSENT,
        "With nothing answered every candidate ties, and the methods share the seed that "
        f"breaks the tie; they differ in {apart} of {len(starts)} interactions.",
    )


def fixed_costs(domain: str, cells: Cells) -> Iterator[Verdict]:
    """At epsilon = 3 = S nothing is asked; at epsilon = 2 exactly one question is."""
    for method in ("useralign", "useralign_loss"):
        for epsilon, expected in ((3.0, 0), (2.0, 1)):
            ended = at_threshold(cells, method, epsilon)
            if ended is None:
                continue
            cost, runs = ended[1], select(cells, method=method, mode="epsilon")
            late = sum(at_epsilon(cell, epsilon).t > expected for cell in runs)
            yield Verdict(
                f"{NAMES[method]} at ε = {epsilon:g} has a cost of {expected:.2f}",
                domain,
                abs(cost.mean - expected) < _WHOLE,
                f"{cost.mean:.2f} ({cost.sem:.2f})",
                f"{expected:.2f} (0.00)",
                _first_bound(epsilon, late, len(runs), at_once=method == "useralign"),
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


def better_at_equal_cost(where: str, cells: Cells, because: str = "") -> Iterator[Verdict]:
    """At its own cost UserAlign is above UserAlign_loss, iidBest and Random (Figures 3 and 4).

    Parameters
    ----------
    where : str
        The domain and kind of user or pool, to be shown.
    cells : list of dict
        Of that domain and kind alone.
    because : str
        What is known about such users, to be added to the reason.
    """
    ended = at_threshold(cells, "useralign", 0.0)
    if ended is None:
        return
    win, cost = ended
    t = round(cost.mean)
    rivals = {
        NAMES[method]: rival
        for method in ("useralign_loss", "iidbest", "random")
        if (rival := at_budget(cells, method, t)) is not None
    }
    if not rivals:
        return
    name, best = max(rivals.items(), key=lambda item: item[1].mean)
    gap, size, errors = _gap(win, best)
    yield Verdict(
        "At its own cost UserAlign has a higher win-rate than UserAlign_loss, iidBest and Random",
        where,
        gap > 0,
        f"{win.mean:.2f} after {cost.mean:.1f} questions; at t = {t} "
        + ", ".join(f"{name} {rival.mean:.2f}" for name, rival in rivals.items()),
        _UNNUMBERED,
        f"UserAlign is {gap:+.2f} points from the best of these, {name}: {size} two standard "
        f"errors ({errors:.2f}). {because}".strip(),
    )


def shrinks_faster(curves: Curves) -> Iterator[Verdict]:
    """Check that the practical set shrinks much faster than the loss-based one (Figure 2)."""
    t = 10
    ours = {m: curves.at("useralign", m, t).mean for m in ("area", "viable", "bound")}
    slow = {m: curves.at("useralign_loss", m, t).mean for m in ours}
    yield Verdict(
        "The practical confidence set shrinks significantly faster than the loss-based set",
        "synthetic2d",
        all(ours[m] < slow[m] for m in ours),
        f"after {t} answers: area {ours['area']:.3f} against {slow['area']:.3f} of the disc, "
        f"viable candidates {ours['viable']:.1f} against {slow['viable']:.1f}, "
        f"B(t) {ours['bound']:.2f} against {slow['bound']:.2f}",
        _UNNUMBERED,
        "Each answer cuts the practical set by a half-plane, while the loss-based set stays "
        "the whole disc until its level falls below the largest possible loss.",
    )


def wins_head_to_head(table: Table) -> Iterator[Verdict]:
    """UserAlign at epsilon 0 beats iidBest one to one; `table` is that of `head_to_heads`."""
    by_domain: dict[str, list[tuple[int, Mean, Mean | None]]] = {}
    for domain, t, ours, printed in table.rows:
        if isinstance(ours, Mean):
            theirs = printed if isinstance(printed, Mean) else None
            by_domain.setdefault(str(domain), []).append((int(str(t)), ours, theirs))
    for domain, rows in by_domain.items():
        low = min((ours for _, ours, _ in rows), key=lambda ours: ours.mean)
        printed_wins = [(t, theirs) for t, _, theirs in rows if theirs is not None]
        yield Verdict(
            "UserAlign at ε = 0 wins more than half of the comparisons with iidBest",
            domain,
            low.mean > 50.0,
            ", ".join(f"{ours.mean:.2f} (t = {t})" for t, ours, _ in rows),
            ", ".join(f"{w.mean:.2f} (t = {t})" for t, w in printed_wins) or _ABSENT,
            f"The lowest is {low.mean:.2f}, with a standard error of {low.sem:.2f}. {table.note}",
        )


def scales_to_large_pools(cells: Cells) -> Iterator[Verdict]:
    """With N = 1,000 UserAlign is above iidBest at every budget of the table."""
    budgets = (5, 10, 20)
    ours = {t: win for t in budgets if (win := at_budget(cells, "useralign", t)) is not None}
    theirs = {t: win for t in budgets if (win := at_budget(cells, "iidbest", t)) is not None}
    if not ours or not theirs:
        return
    printed = paper.load().large_pool
    yield Verdict(
        "With N = 1,000 UserAlign keeps a high win-rate, above iidBest at t = 5, 10 and 20",
        "food64d, N = 1,000",
        all(ours[t].mean > theirs[t].mean for t in budgets),
        ", ".join(f"{ours[t].mean:.2f} against {theirs[t].mean:.2f} (t = {t})" for t in budgets),
        ", ".join(
            f"{printed['useralign', t].mean:.2f} against {printed['iidbest', t].mean:.2f} (t = {t})"
            for t in budgets
        ),
        "Our people rank without contradiction, so that after t answers the incumbent has "
        "beaten up to t others; a model that stands in for a person contradicts itself at times.",
    )


def under_a_second(table: Table) -> Iterator[Verdict]:
    """Check that a step takes less than a second."""
    rows = [row for row in table.rows if row[1] == "useralign"]
    total = {str(row[0]): float(row[3]) for row in rows if isinstance(row[3], float)}
    for theirs in paper.load().wall_clock:
        name = f"{theirs.domain} (K = {theirs.candidates})"
        if name in total:
            yield Verdict(
                "A step takes less than a second",
                theirs.domain,
                total[name] < 1000.0,
                f"{total[name]:.3f} ms",
                f"{1e3 * theirs.total:.1f} ms",
                "We project onto a cone instead of solving a conic problem for every candidate.",
            )


def _by_domain(cells: Cells, **fields: str) -> dict[str, Cells]:
    cells = select(cells, **fields)
    order = [*paper.DOMAINS, *sorted({c["domain"] for c in cells} - set(paper.DOMAINS))]
    groups = {domain: select(cells, domain=domain) for domain in order}
    return {domain: group for domain, group in groups.items() if group}


def _rivals(cells: Cells) -> dict[int, Mean]:
    return {t: win for t in MATCHED if (win := at_budget(cells, "iidbest", t)) is not None}


def _series(wins: Mapping[int, Mean]) -> str:
    return ", ".join(f"{win.mean:.2f} (t = {t})" for t, win in wins.items())


def _paper_series(domain: str, row: paper.TradeOff | None) -> str:
    if row is None:
        return _ABSENT
    rivals = {t: r.win for t in MATCHED if (r := paper.load().row(domain, "iidbest", t=t))}
    return f"{row.win.mean:.2f} after {row.cost.mean:.1f} questions; iidBest {_series(rivals)}"


def _favourites(cells: Cells) -> str:
    """Return how often each method ended with what the user likes best of the whole pool."""
    best = {_interaction(c): at(c, 0).best for c in select(cells, method="oracle")}
    shares = []
    for method, mode, t in (("useralign", "epsilon", CAP), ("iidbest", "budget", 50)):
        ends = [
            at(c, t).best == best[_interaction(c)]
            for c in select(cells, method=method, mode=mode)
            if _interaction(c) in best
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
    gap, size, errors = _gap(ours, rival)
    return (
        f"The narrowest gap, at t = {t}, is {gap:+.2f} points, {size} two standard errors "
        f"({errors:.2f})."
    )


def _gap(ours: Mean, rival: Mean) -> tuple[float, str, float]:
    """Return by how much ours is above, whether that is within two standard errors, and those."""
    gap, errors = ours.mean - rival.mean, 2 * math.hypot(ours.sem, rival.sem)
    return gap, "within" if abs(gap) <= errors else "beyond", errors


def _interaction(cell: Mapping[str, Any]) -> tuple[str, str, int]:
    return cell["question"], cell["user"], cell["seed"]
