"""The statistics of a study, from the rows of its export: win-rates, intervals and tests.

Everything is over *judgements*: one evaluation of a selection against the baseline. People, not
judgements, are the independent units: intervals come from a bootstrap that draws people with all
their judgements (a clustered bootstrap), and paired tests compare two selections that the same
person judged. With one pair per person that is McNemar's exact test; with several it is a sign-flip
test over people, which is the same test where both apply.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from useralign.errors import InputError
from useralign.extras import import_extra
from useralign.store.studies import EARLIER, LATER, RANDOM
from useralign.study.export import BASELINE
from useralign.study.flags import FLAGS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

DRAWS = 4000  # of the bootstrap and of the sign-flip test
LEVEL = 0.95


class Judgement(NamedTuple):
    """One evaluation of a selection against the baseline."""

    participant: str
    domain: str
    condition: str
    question: str
    method: str  # the arm whose selection it is; `random` for the candidate drawn at random
    arm: str  # that the person met
    role: str  # earlier, later or random
    won: bool  # whether it was preferred to the baseline


@dataclass(frozen=True, slots=True)
class Rate:
    """A win-rate with its interval, both in percent."""

    domain: str
    condition: str
    method: str
    role: str
    people: int
    judgements: int
    rate: float
    low: float | None  # of the 95% interval; None with fewer than two people
    high: float | None


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Two selections that the same people judged."""

    domain: str
    condition: str
    first: str  # what is compared; "useralign later" and "useralign random", say
    second: str
    pairs: int
    people: int
    only_first: int  # how many pairs had just one that was preferred to the baseline
    only_second: int
    difference: float  # of the win-rates, in percent
    p: float  # two-sided
    test: str  # "McNemar, exact" or "sign-flip over people"


def excluded(participants: Iterable[Mapping[str, Any]], flags: Collection[str]) -> set[str]:
    """Return who is left out: everybody with one of these flags (of `flags.FLAGS`).

    `participants` are rows of the export of that name.
    """
    if unknown := sorted(set(flags) - set(FLAGS)):
        raise InputError(f"there is no flag {unknown[0]!r}; there are {', '.join(FLAGS)}")
    return {row["participant"] for row in participants if any(row[flag] for flag in flags)}


def judgements(
    answers: Iterable[Mapping[str, Any]], without: Collection[str] = ()
) -> list[Judgement]:
    """Return the judgements of people who finished, some participants left out.

    `answers` are rows of the export of that name.
    """
    return [
        Judgement(
            row["participant"],
            row["domain"],
            row["condition"],
            row["question"],
            RANDOM if row["role"] == RANDOM else row["method"],
            row["method"],
            row["role"],
            row["winner"] != BASELINE,
        )
        for row in answers
        if row["role"] in (EARLIER, LATER, RANDOM)
        and row["finished"]
        and row["participant"] not in without
    ]


def win_rates(data: Iterable[Judgement], *, draws: int = DRAWS, seed: int = 0) -> list[Rate]:
    """Compute every win-rate of the paper's table, with an interval that draws people."""
    groups: dict[tuple[str, str, str, str], list[Judgement]] = {}
    for one in data:
        groups.setdefault((one.domain, one.condition, one.method, one.role), []).append(one)
    rates = []
    for key, group in sorted(groups.items()):
        people = len({one.participant for one in group})
        low, high = _interval(group, draws, np.random.default_rng(seed))
        rate = 100.0 * sum(one.won for one in group) / len(group)
        rates.append(Rate(*key, people, len(group), rate, low, high))
    return rates


def _interval(
    group: list[Judgement], draws: int, rng: np.random.Generator
) -> tuple[float | None, float | None]:
    """Return the percentile interval of a clustered bootstrap, in percent.

    Where all won or all lost every draw is the same, so Wilson's interval over people stands in.
    """
    wins, counts = Counter[str](), Counter[str]()
    for one in group:
        wins[one.participant] += one.won
        counts[one.participant] += 1
    if len(counts) < 2:
        return None, None
    if sum(wins.values()) in (0, len(group)):
        from scipy.stats import binomtest  # noqa: PLC0415 - slow to import

        every = binomtest(len(counts) if wins.total() else 0, len(counts))
        low, high = every.proportion_ci(LEVEL, method="wilson")
        return 100.0 * float(low), 100.0 * float(high)
    size = np.array(list(counts.values()))
    won = np.array([wins[name] for name in counts])
    weights = rng.multinomial(len(size), np.full(len(size), 1.0 / len(size)), draws)
    shares = (weights @ won) / (weights @ size)
    tail = 50.0 * (1.0 - LEVEL)
    low, high = np.percentile(100.0 * shares, [tail, 100.0 - tail])
    return float(low), float(high)


def paired_tests(data: Iterable[Judgement], *, seed: int = 0) -> list[PairedTest]:
    """Test, within people, each arm's later selection against Random, the earlier, and other arms.

    Arms are compared with each other where people met several. No correction is made for the
    number of tests; `seed` is that of the sign-flip test.
    """
    cells: dict[tuple[str, str], dict[tuple[str, str], dict[tuple[str, str], bool]]] = {}
    for one in data:
        cell = cells.setdefault((one.domain, one.condition), {})
        cell.setdefault((one.arm, one.role), {})[one.participant, one.question] = one.won
    tests = []
    for where, selections in sorted(cells.items()):
        arms = sorted({arm for arm, role in selections if role == LATER})
        wanted = [((arm, LATER), (arm, role)) for arm in arms for role in (RANDOM, EARLIER)]
        wanted += [((a, LATER), (b, LATER)) for k, a in enumerate(arms) for b in arms[k + 1 :]]
        for first, second in wanted:
            by_person = first[0] != second[0]  # arms need not share questions
            pairs = _pairs(selections[first], selections.get(second, {}), by_person=by_person)
            if pairs:
                names = " ".join(first), " ".join(second)
                tests.append(_paired_test(where, names, pairs, seed))
    return tests


def _pairs(
    first: Mapping[tuple[str, str], bool],
    second: Mapping[tuple[str, str], bool],
    *,
    by_person: bool,
) -> list[tuple[str, float]]:
    """Return for each pair whose it is, and the difference; per person over all their questions."""
    sides: list[dict[tuple[str, ...], float]] = []
    for side in (first, second):
        groups: dict[tuple[str, ...], list[bool]] = {}
        for key, won in side.items():
            groups.setdefault(key[:1] if by_person else key, []).append(won)
        sides.append({key: fmean(group) for key, group in groups.items()})
    ours, theirs = sides
    return [(key[0], mean - theirs[key]) for key, mean in ours.items() if key in theirs]


def _paired_test(
    where: tuple[str, str], names: tuple[str, str], pairs: list[tuple[str, float]], seed: int
) -> PairedTest:
    sums: dict[str, float] = {}
    for who, difference in pairs:
        sums[who] = sums.get(who, 0.0) + difference
    plus = sum(difference > 0 for _, difference in pairs)
    minus = sum(difference < 0 for _, difference in pairs)
    single = len(sums) == len(pairs) and all(abs(d) in (0.0, 1.0) for _, d in pairs)
    if single:
        from scipy.stats import binomtest  # noqa: PLC0415 - slow to import

        p = float(binomtest(plus, plus + minus).pvalue) if plus + minus else 1.0
    else:
        values = np.array(list(sums.values()))
        signs = np.random.default_rng(seed).choice((-1.0, 1.0), (DRAWS, len(values)))
        extreme = np.abs(signs @ values) >= abs(values.sum()) - 1e-9
        p = float((1 + extreme.sum()) / (1 + DRAWS))
    mean = 100.0 * sum(difference for _, difference in pairs) / len(pairs)
    test = "McNemar, exact" if single else "sign-flip over people"
    return PairedTest(*where, *names, len(pairs), len(sums), plus, minus, mean, p, test)


def mixed_model(data: Iterable[Judgement]) -> Any:
    """Fit a logistic mixed model of the later selections and Random, as a pandas table.

    The chance to be preferred to the baseline, by method, with domain and condition where there
    are several; every person and every question has an intercept of its own. Fitted by variational
    Bayes (statsmodels' `BinomialBayesMixedGLM`). The table has, for each effect, the mean, standard
    deviation and 95% interval of its log odds against Random.
    """
    pandas = import_extra("pandas", "A mixed model", "analysis")
    models = import_extra("statsmodels.genmod.bayes_mixed_glm", "A mixed model", "analysis")
    rows = [one._asdict() | {"won": int(one.won)} for one in data if one.role != EARLIER]
    if len({row["won"] for row in rows}) < 2:
        raise InputError("a model needs judgements that were won and some that were lost")
    frame = pandas.DataFrame(rows)
    levels = {name: frame[name].nunique() for name in ("domain", "condition", "question")}
    terms = [f"C(method, Treatment('{RANDOM}'))"]
    terms += [f"C({name})" for name in ("domain", "condition") if levels[name] > 1]
    groups = {"participant": "0 + C(participant)"}
    groups |= {"question": "0 + C(question)"} if levels["question"] > 2 else {}
    model = models.BinomialBayesMixedGLM.from_formula(f"won ~ {' + '.join(terms)}", groups, frame)
    fit = model.fit_vb()
    table = pandas.DataFrame({"mean": fit.fe_mean, "sd": fit.fe_sd}, index=model.exog_names)
    return table.assign(
        low=table["mean"] - 1.96 * table["sd"], high=table["mean"] + 1.96 * table["sd"]
    )


def as_table(rows: Iterable[Rate | PairedTest]) -> Any:
    """Return rates or tests as a pandas table."""
    pandas = import_extra("pandas", "A table", "analysis")
    return pandas.DataFrame([asdict(row) for row in rows])
