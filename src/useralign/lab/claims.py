"""The paper's claims, each a function from results to a verdict: it holds, or not and why.

A verdict compares means as they are. Nothing is fitted to make a claim hold, and where one does not
the text gives the figures and what lies behind them. Not every check is a test: some are true by
definition, and some follow from another, such as whatever is said about the end of an interaction
with somebody who never contradicts themselves. Only those that could fail are counted. What claims
say is in `data/report.toml`.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from useralign.lab import paper
from useralign.lab.journal import at, at_epsilon, select
from useralign.lab.metrics import Cells, at_budget, at_threshold, clustered, favourites, interaction
from useralign.lab.paper import CAP, MATCHED, Mean
from useralign.lab.tables import EARLY, MIDDLE, NAMES
from useralign.lab.theory import COUNT, LIMIT
from useralign.lab.wording import load_words, words
from useralign.methods.base import DELTA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from useralign.lab.tables import Table
    from useralign.lab.theory import Coverage, Ending
    from useralign.lab.versionspace import Curves

    Leads = Mapping[tuple[int, str], Mean]  # by number of questions and rival

SORTS: dict[str, str] = load_words()["sorts"]
RIVALS = ("useralign_loss", "iidbest", "random")
FACTOR = 2.0  # by which a cost may differ from the paper's
_WHOLE = 0.005  # costs are printed to two decimals
_UNNUMBERED = "shown in a figure, without numbers"
_ABSENT = "not in the paper"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a claim."""

    claim: str  # what the paper says
    where: str  # the domain it was checked on
    holds: bool
    ours: str
    paper: str
    why: str  # what lies behind them; for a claim that does not hold, the reason
    sort: str = "open"  # one of `SORTS`

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def _verdict(name: str, where: str, holds: bool, ours: str, printed: str, **values: Any) -> Verdict:
    """Return the verdict on a claim of the report's file, with these values filled in."""
    claim, why, sort = (words("claims", name, key, **values) for key in ("claim", "why", "sort"))
    return Verdict(claim, where, holds, ours, printed, why.strip(), sort or "open")


def check(cells: Cells) -> list[Verdict]:
    """Check every claim on the cells of any plan, but those about domains that were not run."""
    return [
        verdict
        for domain, ours in _by_domain(cells, style="mixed", user_kind="persona").items()
        for claim in CLAIMS
        for verdict in claim(domain, ours)
    ]


def check_slips(cells: Cells) -> list[Verdict]:
    """Check what could fail on the cells of personas who slip: ends, and early budgets."""
    return [
        replace(verdict, where=f"{domain}, users who slip", sort="open")
        for domain, ours in _by_domain(cells, style="mixed").items()
        for verdict in (*above_iidbest(domain, ours), *better_early(domain, ours))
    ]


def above_iidbest(domain: str, cells: Cells) -> Iterator[Verdict]:
    """UserAlign at epsilon 0 has a higher win-rate than iidBest at t = 20, 25 and 50."""
    ended = at_threshold(cells, "useralign", 0.0)
    rivals = {t: win for t in MATCHED if (win := at_budget(cells, "iidbest", t)) is not None}
    if ended is None or not rivals:
        return
    theirs = paper.row(domain, "useralign", epsilon=0.0)
    printed = {t: r.win for t in MATCHED if (r := paper.row(domain, "iidbest", t=t))}
    leads = _leads(cells, ("iidbest",), MATCHED, at_end=True)
    yield _verdict(
        "above-iidbest",
        domain,
        _is_ahead(leads),
        _ended(*ended, rivals),
        _ended(theirs.win, theirs.cost, printed) if theirs else _ABSENT,
        favourites=_favourites(cells),
        smallest=_smallest(leads),
    )


def _ended(win: Mean, cost: Mean, rivals: Mapping[int, Mean]) -> str:
    return f"{win.mean:.2f} after {cost.mean:.1f} questions; iidBest {_by_time(rivals)}"


def _by_time(wins: Mapping[int, Mean]) -> str:
    return ", ".join(f"{win.mean:.2f} (t = {t})" for t, win in wins.items())


def better_early(where: str, cells: Cells) -> Iterator[Verdict]:
    """After 5 and 10 questions UserAlign is above its rivals (Figure 4, left of its ends)."""
    leads = _leads(cells, RIVALS, EARLY)
    if not leads:
        return
    ours = select(cells, method="useralign", mode="epsilon")
    texts = []
    for t in EARLY:
        win = clustered(ours, (100.0 * at(c, t).win for c in ours))
        ahead = [f"{lead.mean:+.1f} of {NAMES[m]}" for (u, m), lead in leads.items() if u == t]
        texts.append(f"t = {t}: {win.mean:.1f}, ahead by {', '.join(ahead)}")
    rows = [row for t in EARLY if (row := paper.row(where, "iidbest", t=t))]
    printed = _UNNUMBERED
    if len(rows) == len(EARLY):  # what the paper's table has nearest to this
        wins = ", ".join(f"{row.win.mean:.2f}" for row in rows)
        printed = f"{_UNNUMBERED} for UserAlign at a given t; iidBest {wins}"
    smallest = _smallest(leads)
    yield _verdict(
        "better-early", where, _is_ahead(leads), "; ".join(texts), printed, smallest=smallest
    )


def _leads(
    cells: Cells, rivals: Iterable[str], times: Sequence[int], *, at_end: bool = False
) -> Leads:
    """Return by how many points UserAlign is ahead of each rival after so many questions.

    Both are with the same users and seeds. With `at_end` it is UserAlign at epsilon 0 that is ahead
    of what a rival has then. Rivals that were not run are left out.
    """
    ours = select(cells, method="useralign", mode="epsilon") or select(cells, method="useralign")
    leads = {}
    for method in rivals:
        theirs = select(cells, method=method, mode="budget") or select(cells, method=method)
        if ours and theirs:
            of = {interaction(cell): cell for cell in theirs}
            for t in times:
                wins = [
                    (at_epsilon(c, 0.0) if at_end else at(c, t)).win - at(of[interaction(c)], t).win
                    for c in ours
                ]
                leads[t, method] = clustered(ours, (100.0 * win for win in wins))
    return leads


def _is_ahead(leads: Leads) -> bool:
    return all(lead.mean > 0 for lead in leads.values())


def _smallest(leads: Leads) -> str:
    """Return the smallest lead, and what it is worth."""
    (t, method), least = min(leads.items(), key=lambda item: item[1].mean)
    text = f"The smallest lead, over {NAMES[method]} at t = {t}, is {least.mean:+.1f} points"
    if math.isnan(least.sem):
        return f"{text}; one user alone gives no standard error."
    size = "beyond" if abs(least.mean) > 2 * least.sem else "within"
    return f"{text}, {size} two standard errors ({2 * least.sem:.1f}, clustered by question)."


def costs_like_the_papers(domain: str, cells: Cells, because: str = "") -> Iterator[Verdict]:
    """At epsilon 1, 0.5 and 0.3 UserAlign costs what it costs in the paper, to a factor of two.

    `cells` are of that domain alone; `because` says what was measured about distances.
    """
    whole = at_threshold(cells, "useralign", 0.0)
    for epsilon in MIDDLE:
        ended = at_threshold(cells, "useralign", epsilon)
        row = paper.row(domain, "useralign", epsilon=epsilon)
        if whole is None or ended is None or row is None:
            continue
        win, cost = ended
        ratio = cost.mean / row.cost.mean
        bounded = whole[1].mean <= FACTOR * row.cost.mean
        yield _verdict(
            "like-the-papers",
            domain,
            1 / FACTOR <= ratio <= FACTOR,
            f"{_with_error(cost)}, win-rate {win.mean:.2f}",
            f"{_with_error(row.cost)}, win-rate {row.win.mean:.2f}",
            epsilon=epsilon,
            ratio=ratio,
            because=because,
            bounded=words("bounded", whole=whole[1].mean) if bounded else "",
        )


def few_questions(domain: str, cells: Cells) -> Iterator[Verdict]:
    """UserAlign at epsilon 0 asks 19 to 22 questions for 20 candidates."""
    ended = at_threshold(cells, "useralign", 0.0)
    if ended is None or {cell["pool_size"] for cell in cells} != {20}:
        return
    cost = ended[1]
    row = paper.row(domain, "useralign", epsilon=0.0)
    printed = _with_error(row.cost) if row else _ABSENT
    yield _verdict("few-questions", domain, 19.0 <= cost.mean <= 22.0, _with_error(cost), printed)


def loss_stalls(domain: str, cells: Cells) -> Iterator[Verdict]:
    """UserAlign_loss runs into the cap in 64 and 512 dimensions."""
    ended = at_threshold(cells, "useralign_loss", 0.0)
    if ended is None or (domain.endswith("2d") and not domain.endswith("512d")):
        return
    early = at_budget(cells, "useralign_loss", 1)
    win, cost = ended
    row = paper.row(domain, "useralign_loss", epsilon=0.0)
    gained = "" if early is None else f" (after one question {early.mean:.2f})"
    yield _verdict(
        "loss-stalls",
        domain,
        abs(cost.mean - CAP) < _WHOLE,
        f"cost {cost.mean:.2f}, win-rate {win.mean:.2f}{gained}",
        f"cost {row.cost.mean:.2f}, win-rate {row.win.mean:.2f}" if row else _ABSENT,
        cap=CAP,
    )


def equal_start(domain: str, cells: Cells) -> Iterator[Verdict]:
    """All four methods recommend the same answer before anything is asked."""
    methods = ("useralign", "useralign_loss", "iidbest", "random")
    starts: dict[tuple[Any, ...], set[str]] = {}
    for cell in cells:
        if cell["method"] in methods:
            starts.setdefault(interaction(cell), set()).add(at(cell, 0).best)
    if {cell["method"] for cell in cells} < set(methods):
        return
    apart = sum(len(labels) > 1 for labels in starts.values())
    wins = [win for m in methods if (win := at_budget(cells, m, 0)) is not None]
    row = paper.row(domain, "random")
    yield _verdict(
        "equal-start",
        domain,
        apart == 0,
        ", ".join(f"{win.mean:.2f}" for win in wins),
        f"{row.win.mean:.2f} for all" if row else _ABSENT,
        apart=apart,
        count=len(starts),
    )


def fixed_costs(domain: str, cells: Cells) -> Iterator[Verdict]:
    """At epsilon = 3 = S nothing is asked; at epsilon = 2 exactly one question is."""
    for method in ("useralign", "useralign_loss"):
        for name, epsilon, expected in (("no-cost", 3.0, 0), ("one-question", 2.0, 1)):
            ended = at_threshold(cells, method, epsilon)
            if ended is None:
                continue
            cost, runs = ended[1], select(cells, method=method, mode="epsilon")
            late = sum(at_epsilon(cell, epsilon).t > expected for cell in runs)
            yield _verdict(
                name,
                domain,
                abs(cost.mean - expected) < _WHOLE,
                _with_error(cost),
                f"{expected:.2f} (0.00)",
                method=NAMES[method],
                late=late,
                count=len(runs),
                reason=words("claims", name, "reason", method) if late else "",
            )


CLAIMS: tuple[Callable[[str, Cells], Iterator[Verdict]], ...] = (
    above_iidbest,
    few_questions,
    loss_stalls,
    equal_start,
    fixed_costs,
    better_early,
)


def better_at_equal_cost(
    where: str, cells: Cells, because: str = "", sort: str = "open"
) -> Iterator[Verdict]:
    """At its own cost UserAlign is above UserAlign_loss, iidBest and Random (Figures 3 and 4).

    `cells` are of one domain and kind of user or pool, which `where` names; `because` is what is
    known about such users. With users who never contradict themselves the claim is implied by the
    bound.
    """
    ended = at_threshold(cells, "useralign", 0.0)
    if ended is None:
        return
    win, cost = ended
    t = round(cost.mean)
    leads = _leads(cells, RIVALS, (t,), at_end=True)
    if not leads:
        return
    others = [f"{NAMES[m]} {win.mean - lead.mean:.2f}" for (_, m), lead in leads.items()]
    ours = f"{win.mean:.2f} after {cost.mean:.1f} questions; at t = {t} {', '.join(others)}"
    values = {"smallest": _smallest(leads), "because": because}
    verdict = _verdict("equal-cost", where, _is_ahead(leads), ours, _UNNUMBERED, **values)
    yield replace(verdict, sort=sort)


def shrinks_faster(curves: Curves) -> Iterator[Verdict]:
    """Check that the practical set shrinks much faster than the loss-based one (Figure 2)."""
    t = 10
    ours = {m: curves.at("useralign", m, t).mean for m in ("area", "viable", "bound")}
    slow = {m: curves.at("useralign_loss", m, t).mean for m in ours}
    yield _verdict(
        "shrinks-faster",
        "synthetic2d",
        all(ours[m] < slow[m] for m in ours),
        f"after {t} answers: area {ours['area']:.3f} against {slow['area']:.3f} of the disc, "
        f"viable candidates {ours['viable']:.1f} against {slow['viable']:.1f}, "
        f"B(t) {ours['bound']:.2f} against {slow['bound']:.2f}",
        _UNNUMBERED,
    )


def theory_holds(coverages: Sequence[Coverage], endings: Sequence[Ending]) -> Iterator[Verdict]:
    """Check Proposition 1 and Theorems 1 and 2 on simulated interactions."""
    least = f"at least {100 * (1 - DELTA):g}%"
    for one in coverages:
        runs = len(one.excess)
        yield _verdict(
            "proposition-1",
            f"d = {one.dimension}, BTL",
            one.covered >= (1.0 - DELTA) * runs,
            f"{one.covered} of {runs} runs",
            least,
            share=100 * (one.excess / one.width).max(),
        )
    for epsilon in sorted({e.epsilon for e in endings}, reverse=True):
        ours = [e for e in endings if e.epsilon == epsilon]
        good = sum(e.regret <= epsilon for e in ours)
        yield _verdict(
            "theorem-1",
            f"ε = {epsilon:g}, BTL",
            good >= (1.0 - DELTA) * len(ours),
            f"{good} of {len(ours)} runs",
            least,
            exact=sum(e.regret == 0.0 for e in ours),
        )
    if endings:
        share = max(e.answers / e.most for e in endings)
        yield _verdict(
            "theorem-2",
            f"d = 2, K = {COUNT}, BTL",
            share <= 1.0 and max(e.answers for e in endings) < LIMIT,
            f"after {max(e.answers for e in endings):,} answers at most",
            f"{min(e.most for e in endings):,.0f} at least",
            share=share,
        )


def wins_head_to_head(table: Table) -> Iterator[Verdict]:
    """UserAlign at epsilon 0 beats iidBest one to one; `table` is that of `head_to_heads`."""
    for domain in dict.fromkeys(row[0] for row in table.rows):
        rows: list[Any] = [row[1:] for row in table.rows if row[0] == domain]
        wins = {t: ours for t, ours, _ in rows if ours is not None}
        printed = {t: theirs for t, _, theirs in rows if theirs is not None and t in wins}
        if wins:
            low, theirs = min(wins.values()), _by_time(printed) or _ABSENT
            values = {"low": low, "note": table.note}
            holds, ours = low.mean > 50.0, _by_time(wins)
            yield _verdict("head-to-head", str(domain), holds, ours, theirs, **values)


def better_with_people(cells: Cells) -> Iterator[Verdict]:
    """Under equal budgets people prefer UserAlign's answer to iidBest's; cells of some who slip.

    What is said about t = 5 and 10 alone is implied by `check_slips`, on the same cells.
    """
    humans = [human for human in paper.load().human_study if human.persona]
    for domain in sorted({human.domain for human in humans}):
        ours = select(cells, domain=domain, style="mixed")
        printed = {(h.method, h.t): h.win for h in humans if h.domain == domain}
        times = sorted({t for _, t in printed})
        sort = "implied" if set(times) <= set(EARLY) else "open"
        for verdict in _above("with-people", f"{domain}, simulated people", ours, times, printed):
            yield replace(verdict, sort=sort)


def scales_to_large_pools(cells: Cells, where: str) -> Iterator[Verdict]:
    """With N = 1,000 UserAlign is above iidBest at every budget of the table."""
    yield from _above("large-pools", where, cells, (5, 10, 20), paper.load().large_pool)


def _above(
    name: str,
    where: str,
    cells: Cells,
    times: Sequence[int],
    printed: Mapping[tuple[str, int], Mean],
) -> Iterator[Verdict]:
    """Check that UserAlign is above iidBest at these times; both win-rates are side by side."""
    leads = _leads(cells, ("iidbest",), times)
    if not leads:
        return
    wins = {(m, t): at_budget(cells, m, t) for m in ("useralign", "iidbest") for t in times}

    def text(of: Mapping[tuple[str, int], Mean | None]) -> str:
        pairs = [(t, of["useralign", t], of["iidbest", t]) for t in times]
        texts = [f"{a.mean:.1f} against {b.mean:.1f} (t = {t})" for t, a, b in pairs if a and b]
        return ", ".join(texts)

    smallest = _smallest(leads)
    yield _verdict(name, where, _is_ahead(leads), text(wins), text(printed), smallest=smallest)


def under_a_second(table: Table) -> Iterator[Verdict]:
    """Check that a step takes less than a second."""
    rows = [row for row in table.rows if row[1] == "useralign"]
    total = {str(row[0]): float(row[3]) for row in rows if isinstance(row[3], float)}
    for theirs in paper.load().wall_clock:
        name = f"{theirs.domain} (K = {theirs.candidates})"
        if name in total:
            ours, printed = f"{total[name]:.3f} ms", f"{1e3 * theirs.total:.1f} ms"
            holds = total[name] < 1000.0
            yield _verdict("under-a-second", theirs.domain, holds, ours, printed)


def _by_domain(cells: Cells, **fields: str) -> dict[str, Cells]:
    cells = select(cells, **fields)
    order = [*paper.DOMAINS, *sorted({c["domain"] for c in cells} - set(paper.DOMAINS))]
    groups = {domain: select(cells, domain=domain) for domain in order}
    return {domain: group for domain, group in groups.items() if group}


def _favourites(cells: Cells) -> str:
    """Return how often each method ended with what the user likes best of the whole pool."""
    best = favourites(cells)
    shares = []
    for method, mode, t in (("useralign", "epsilon", CAP), ("iidbest", "budget", 50)):
        ends = [
            at(c, t).best == best[interaction(c)]
            for c in select(cells, method=method, mode=mode)
            if interaction(c) in best
        ]
        if ends:
            shares.append(f"{NAMES[method]} in {100 * sum(ends) / len(ends):.0f}%")
    if len(shares) < 2:
        return ""
    return (
        f"The user's favourite of the pool was found by {shares[0]} of interactions, "
        f"{shares[1]} at t = 50. "
    )


def _with_error(mean: Mean) -> str:
    return f"{mean.mean:.2f} ({mean.sem:.2f})"
