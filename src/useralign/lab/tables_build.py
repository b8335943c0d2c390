"""The paper's tables, filled from results, with the paper's numbers beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from useralign.lab import paper
from useralign.lab.metrics import head_to_head, mean_sem
from useralign.lab.paper import BUDGETS, EPSILONS, MATCHED, Mean
from useralign.lab.results import Results, at, at_epsilon, select
from useralign.lab.tables import Table, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Cells = list[dict[str, Any]]
NAMES = {
    "useralign": "UserAlign",
    "useralign_loss": "UserAlign_loss",
    "iidbest": "iidBest",
    "oracle": "Oracle",
    "random": "Random",
}
_OURS_AND_PAPER = ("win % (sem)", "paper", "cost (sem)", "paper's cost")


def percent(wins: Iterable[float]) -> Mean:
    """Return the mean and standard error of win-rates, in percent."""
    return mean_sem(100.0 * win for win in wins)


def at_threshold(cells: Cells, method: str, epsilon: float) -> tuple[Mean, Mean] | None:
    """Return win-rate and cost of a method that stops at epsilon; None without such cells."""
    steps = [at_epsilon(c, epsilon) for c in select(cells, method=method, mode="epsilon")]
    if not steps:
        return None
    return percent(s.win for s in steps), mean_sem(float(s.t) for s in steps)


def at_budget(cells: Cells, method: str, t: int) -> Mean | None:
    """Return the win-rate of a method after t questions; None without such cells."""
    chosen = select(cells, method=method, mode="budget") or select(cells, method=method)
    return percent(at(cell, t).win for cell in chosen) if chosen else None


def trade_off(cells: Cells, domain: str, style: str = "mixed", *, kind: str = "persona") -> Table:
    """Build a domain's table of win-rate and cost, at every threshold and budget of the paper.

    Parameters
    ----------
    cells : list of dict
    domain : str
    style : {"mixed", "unbiased"}
        The paper has numbers for the first alone.
    kind : str
        The kind of users.
    """
    mine = select(cells, domain=domain, style=style, user_kind=kind)
    rows: list[tuple[Value, ...]] = []
    marked = []
    for method in ("useralign", "useralign_loss"):
        for epsilon in EPSILONS:
            found = at_threshold(mine, method, epsilon)
            theirs = paper.load().row(domain, method, epsilon=epsilon)
            rows.append(_row(f"{NAMES[method]} (ε = {epsilon:.1f})", found, theirs, style))
        marked.append(len(rows) - 1)
    for t in BUDGETS:
        win = at_budget(mine, "iidbest", t)
        found = None if win is None else (win, Mean(float(t), 0.0))
        if t in MATCHED:
            marked.append(len(rows))
        rows.append(
            _row(f"iidBest (t = {t})", found, paper.load().row(domain, "iidbest", t=t), style)
        )
    for method in ("oracle", "random"):
        win = at_budget(mine, method, 0)
        found = None if win is None else (win, Mean(0.0, 0.0))
        rows.append(_row(NAMES[method], found, paper.load().row(domain, method), style))
    extra = [f"{style} pools"] * (style != "mixed") + [f"{kind} users"] * (kind != "persona")
    return Table(
        "-".join(["trade-off", domain, *(text.split()[0] for text in extra)]),
        ", ".join([domain, *extra]) + ": win-rate and cost",
        ("Method", *_OURS_AND_PAPER),
        rows,
        _counted(mine),
        frozenset(marked),
    )


def head_to_heads(results: Results, domains: Sequence[str] = paper.DOMAINS) -> Table:
    """Build the table of UserAlign at epsilon 0 against iidBest at t, one to one."""
    rows: list[tuple[Value, ...]] = []
    for domain in domains:
        for t in MATCHED:
            ours = duel(results, domain, t)
            rows.append((domain, t, ours, paper.load().head_to_head.get((domain, t))))
    return Table(
        "head-to-head",
        "UserAlign (ε = 0) against iidBest, head to head",
        ("Domain", "iidBest's t", "UserAlign wins % (sem)", "paper"),
        rows,
        "The same answer from both counts as half a win here. The paper does not say how it "
        "counted those; its standard errors are those of wins and losses alone.",
    )


def duel(results: Results, domain: str, t: int) -> Mean | None:
    """Return how often UserAlign at epsilon 0 wins against iidBest at t, in percent."""
    mine = results.select(domain=domain, style="mixed", user_kind="persona")
    ours = select(mine, method="useralign", mode="epsilon")
    theirs = select(mine, method="iidbest", mode="budget")
    if not ours or not theirs:
        return None
    won = head_to_head(ours, theirs, t, embedders=results.embedders)
    return Mean(100.0 * won.mean, 100.0 * won.sem)


def large_pool(cells: Cells) -> Table:
    """Build the table of win-rates with N = 1,000."""
    rows: list[tuple[Value, ...]] = []
    for method in ("random", "iidbest", "useralign"):
        for t in (0, 5, 10, 20):
            theirs = paper.load().large_pool[method, t]
            rows.append((NAMES[method], t, at_budget(cells, method, t), theirs))
    sizes = sorted({cell["pool_size"] for cell in cells})
    return Table(
        "large-pool",
        "A large pool: N = 1,000",
        ("Method", "t", "win % (sem)", "paper"),
        rows,
        f"{_counted(cells)} Pool size: {', '.join(map(str, sizes)) or 'not run'}.",
    )


def _row(
    name: str,
    found: tuple[Mean, Mean] | None,
    theirs: paper.TradeOff | None,
    style: str,
) -> tuple[Value, ...]:
    win, cost = found or (None, None)
    if theirs is None or style != "mixed":
        return name, win, None, cost, None
    return name, win, theirs.win, cost, theirs.cost


def _counted(cells: Cells) -> str:
    """Say how many interactions each mean is over."""
    runs = {(c["question"], c["user"], c["seed"]) for c in cells}
    if not runs:
        return "Not run."
    parts = [len({key[place] for key in runs}) for place in (0, 2)]
    return (
        f"Mean (standard error) over {len(runs)} interactions: {parts[0]} "
        f"question{'s' if parts[0] != 1 else ''} and their users, {parts[1]} "
        f"seed{'s' if parts[1] != 1 else ''}."
    )
