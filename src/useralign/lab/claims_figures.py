"""The paper's claims about figures and the smaller tables; see `claims` for the main ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from useralign.lab import paper
from useralign.lab.claims import Verdict
from useralign.lab.tables_build import NAMES, Cells, at_budget, at_threshold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from useralign.lab.tables import Table
    from useralign.lab.versionspace_curves import Curves

_SHOWN = "shown in a figure, without numbers"


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
    found = at_threshold(cells, "useralign", 0.0)
    if found is None:
        return
    win, cost = found
    t = round(cost.mean)
    rivals = {
        NAMES[method]: rival
        for method in ("useralign_loss", "iidbest", "random")
        if (rival := at_budget(cells, method, t)) is not None
    }
    if not rivals:
        return
    name, best = max(rivals.items(), key=lambda item: item[1].mean)
    gap, sem = win.mean - best.mean, math.hypot(win.sem, best.sem)
    size = "within" if abs(gap) <= 2 * sem else "beyond"
    yield Verdict(
        "At its own cost UserAlign has a higher win-rate than UserAlign_loss, iidBest and Random",
        where,
        gap > 0,
        f"{win.mean:.2f} after {cost.mean:.1f} questions; at t = {t} "
        + ", ".join(f"{name} {rival.mean:.2f}" for name, rival in rivals.items()),
        _SHOWN,
        f"UserAlign is {gap:+.2f} points from the best of these, {name}: {size} two standard "
        f"errors ({2 * sem:.2f}). {because}".strip(),
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
        _SHOWN,
        "Each answer cuts the practical set by a half-plane, while the loss-based set stays "
        "the whole disc until its level falls below the largest possible loss.",
    )


def wins_head_to_head(table: Table) -> Iterator[Verdict]:
    """UserAlign at epsilon 0 beats iidBest one to one; `table` is that of `head_to_heads`."""
    by_domain: dict[str, list[tuple[int, paper.Mean, paper.Mean | None]]] = {}
    for domain, t, ours, printed in table.rows:
        if isinstance(ours, paper.Mean):
            theirs = printed if isinstance(printed, paper.Mean) else None
            by_domain.setdefault(str(domain), []).append((int(str(t)), ours, theirs))
    for domain, rows in by_domain.items():
        low = min((ours for _, ours, _ in rows), key=lambda ours: ours.mean)
        shown = [(t, theirs) for t, _, theirs in rows if theirs is not None]
        yield Verdict(
            "UserAlign at ε = 0 wins more than half of the comparisons with iidBest",
            domain,
            low.mean > 50.0,
            ", ".join(f"{ours.mean:.2f} (t = {t})" for t, ours, _ in rows),
            ", ".join(f"{w.mean:.2f} (t = {t})" for t, w in shown) or "not in the paper",
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
