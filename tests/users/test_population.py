"""The population that other tests use is what it says."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.users.population import EQUAL, population
from useralign.users import People
from useralign.users.base import check_user


def test_tastes_are_a_mean_and_few_directions() -> None:
    made = population(people=30, dimension=8, rank=2)
    centred = made.tastes - made.tastes.mean(axis=0)
    sizes = np.linalg.svd(centred, compute_uv=False)
    assert sizes[1] > 1.0
    assert sizes[2] < 1e-9


def test_records_follow_the_utilities(tmp_path: Path) -> None:
    made = population(people=20, items=15, pairs=60, errors=0.1)
    people = People.read(made.write(tmp_path / "people"))
    assert len(people.names) == 20
    right, decided, equal = 0, 0, 0
    for j, row in enumerate(made.utilities):
        ratings = [people.ratings[f"p{j}"][f"i{m}"] for m in range(15)]
        assert np.corrcoef(ratings, row)[0, 1] > 0.95
        for first, second, winner in people.answers[f"p{j}"]:
            equal += winner is None
            decided += winner is not None
            better = max(first, second, key=lambda ident: row[int(ident[1:])])
            right += winner == better
    assert equal / (equal + decided) == EQUAL
    assert 0.87 < right / decided < 0.93


def test_its_people_answer_like_any_user(tmp_path: Path) -> None:
    people = People.read(population().write(tmp_path / "people"))
    for name in people.names:
        check_user(people.person(name), people.pool(person=name))
