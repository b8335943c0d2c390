"""Who gets what: balance with drop-outs, and under concurrency."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from random import Random

from sqlalchemy import select

from tests.study.conftest import Clock, Walker, small_design
from useralign.store import Store, token
from useralign.store.schema import participants
from useralign.store.studies import Assignment, CellCounts
from useralign.study import Design, ParticipantFlow, Studies, Study, parse_design, template
from useralign.study.assignment import choose_cell, choose_within
from useralign.study.recruitment import Arrival
from useralign.study.studies import StudyQuestion


def paper_study(participants: int = 960) -> Study:
    """The paper's study without its pools, which assigning does not look at."""
    whole = parse_design(template()).to_dict() | {"participants": participants}
    design = Design.from_dict(whole)
    questions = {
        entry.name: {
            q.id: StudyQuestion(q.text, "text", "", dict.fromkeys(q.personas, ""))
            for q in entry.load_questions(None)
        }
        for entry in design.domains
    }
    return Study(design, questions, "key", True, 0.0)


def simulated(study: Study, *, waiting: bool, drop_out: float, seed: int) -> list[Assignment]:
    """People arrive every 20 s, take 450 s, and a share of them leaves halfway."""
    rng = Random(seed)
    finished: list[Assignment] = []
    active: list[tuple[Assignment, float, bool]] = []  # with when they began, and if they stay
    now = 0.0
    for _ in range(20 * study.design.participants):
        now += rng.expovariate(1 / 20)
        finished += [given for given, begun, stays in active if stays and now >= begun + 450]
        if len(finished) >= study.design.participants:
            break
        window = study.design.window
        active = [one for one in active if now < one[1] + (450 if one[2] else 225 + window)]
        done = Counter(given.cell for given in finished)
        counts = {}
        for cell in range(len(study.design.cells)):
            here = [(begun, stays) for given, begun, stays in active if given.cell == cell]
            seen = [now if stays else min(now, begun + 225) for begun, stays in here]
            fresh = sum(1.0 - (now - moment) / window for moment in seen)
            counts[cell] = CellCounts(done[cell], len(here), fresh=fresh)
        chosen = choose_cell(study.design, counts, rng, waiting=waiting)
        if chosen is not None:
            present = [*finished, *(given for given, _, _ in active)]
            others = [given for given in present if given.cell == chosen]
            (new,) = choose_within(study, chosen, others, rng)
            active.append((new, now, rng.random() >= drop_out))
    return finished


def test_960_with_drop_outs_are_balanced() -> None:
    study = paper_study()
    finished = simulated(study, waiting=True, drop_out=0.3, seed=1)
    cells = Counter(given.cell for given in finished)
    assert len(finished) == 960
    assert set(cells.values()) == {120}
    for cell in range(8):
        here = [given for given in finished if given.cell == cell]
        questions = Counter(given.question for given in here)
        assert len(questions) == 10
        assert max(questions.values()) - min(questions.values()) <= 6  # of 12
    for given in finished:
        assert (given.persona is None) == (given.condition == "without-persona")


def test_crowd_workers_are_never_sent_away() -> None:
    study = paper_study(320)
    finished = simulated(study, waiting=False, drop_out=0.3, seed=2)
    cells = Counter(given.cell for given in finished)
    assert len(finished) >= 320
    assert max(cells.values()) - min(cells.values()) <= 12


def test_without_drop_outs_everything_is_even() -> None:
    study = paper_study(480)
    finished = simulated(study, waiting=True, drop_out=0.0, seed=3)
    questions = Counter((given.cell, given.question) for given in finished)
    assert set(questions.values()) == {6}
    personas = Counter(
        (given.cell, given.question, given.persona) for given in finished if given.persona
    )
    assert set(personas.values()) == {2}


def test_many_at_once_fill_every_place_and_no_more(flow: ParticipantFlow, store: Store) -> None:
    study = flow.studies.add(small_design())

    def come(_: int) -> bool:
        one = ParticipantFlow(
            store, rng=Random(7)
        )  # its own generator, as another server would have
        return one.enter(study, Arrival("link"), token()) is not None

    with ThreadPoolExecutor(12) as threads:
        admitted = sum(threads.map(come, range(40)))
    assert admitted == 16
    with store.reading() as connection:
        cells = Counter(connection.execute(select(participants.c.cell)).scalars())
        numbers = list(connection.execute(select(participants.c.number)).scalars())
    assert cells == {0: 4, 1: 4, 2: 4, 3: 4}
    assert sorted(numbers) == list(range(1, 17))


def test_a_drop_outs_place_is_given_again(flow: ParticipantFlow, clock: Clock) -> None:
    study = flow.studies.add(small_design(participants=4))
    walker = Walker(flow, study)
    people = [walker.enter() for _ in range(4)]
    assert flow.enter(study, Arrival("link"), token()) is None
    clock.now += study.design.window - 60
    walker.answer(people[0])  # keeps their place by going on
    clock.now += 120
    for _ in range(3):
        assert flow.enter(study, Arrival("link"), token()) is not None
    assert flow.enter(study, Arrival("link"), token()) is None
    walker.finish(people[1])  # who comes back late may still finish


def test_a_closed_study_takes_nobody_new(
    walker: Walker, flow: ParticipantFlow, store: Store
) -> None:
    who = walker.enter()
    Studies(store).set_open("small", False)
    closed = flow.studies.get("small")
    assert flow.enter(closed, Arrival("link"), token()) is None
    assert flow.enter(closed, Arrival("link"), who) is not None
    walker.finish(who)


def test_places_are_whole() -> None:
    design = Design.from_dict(parse_design(template()).to_dict() | {"participants": 20})
    assert design.places == 3
