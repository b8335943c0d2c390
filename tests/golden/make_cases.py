"""Write cases.json: what the paper's own solver finds, kept so that no test of these needs it.

python -m tests.golden.make_cases
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.conftest import gaussian_features
from useralign.geometry import Reference

CASES = [(2, 6, 4, True), (2, 6, 12, False), (3, 5, 0, True), (8, 7, 6, True), (8, 7, 6, False),
         (16, 10, 12, True), (64, 12, 8, True), (64, 12, 30, True)]  # fmt: skip


def case(dimension: int, count: int, answers: int, cone: bool) -> dict[str, object]:
    """Solve one case with cvxpy."""
    features = np.round(gaussian_features(count, dimension, seed=dimension + answers), 6)
    rng = np.random.default_rng(answers)
    taste = features @ rng.normal(size=dimension)
    engine = Reference(features, 3.0, 0.05, cone)
    pairs = []
    for _ in range(answers):
        pair = sorted(
            (int(k) for k in rng.choice(count, 2, replace=False)), key=lambda k: -taste[k]
        )
        engine.add(*pair)
        pairs.append(pair)
    scores = engine.scores()
    incumbent = int(scores.argmax())
    values = engine.values(incumbent)
    return {
        "features": features.tolist(),
        "answers": pairs,
        "cone": cone,
        "scores": np.round(scores, 5).tolist(),
        "incumbent": incumbent,
        "bound": round(max(float(values.max()), 0.0), 8),
        "challenger": int(values.argmax()),
    }


if __name__ == "__main__":
    cases = [case(*size) for size in CASES]
    Path(__file__).with_name("cases.json").write_text(json.dumps(cases), encoding="utf-8")
