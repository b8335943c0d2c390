"""Simulated people who take part through the real pages of a server; the load test as well.

With a persona they follow its ranking. Without one they have a taste of their own that no file
knows: two of the question's personas mixed, and shaken; and they are twice as unsure. Where nobody
has written rankings down, they follow directions in the features. How sure someone is grows with
how far apart two answers are in their ranking. On pages they answer at random within what the page
allows, and know the right answers unless they are inattentive.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import numpy as np

from useralign.errors import InputError, OptionError
from useralign.store import digest, media, studies
from useralign.study.browser import Browser, LostError, Page, Reply, read_page
from useralign.study.design import COMPARISONS, EVALUATION, split_stage, stage_key
from useralign.study.flow import CLIENT, SIDES, spaced
from useralign.study.pages import COMPLETED, LONGEST, OUTCOMES, QUOTA_FULL, RETURNED, WITHDRAWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from useralign.pool import Candidate
    from useralign.store import Store
    from useralign.study.browser import Form, Input
    from useralign.study.design import Design
    from useralign.study.material import Material
    from useralign.study.pages import PageEntry

    Answered = int | dict[str, str | None]

_SHAKEN = 0.15  # of the length of the ranking
_UNFIT = 0.1  # the share that gives an answer at random where some screen out
_TRIES = 60
_PAUSE = 1.0  # seconds before someone tries again who found all places taken; doubled each time
_LONGEST_PAUSE = 8.0
_STUCK = 50  # people in a row who failed, or of whom there were enough, before no more come


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How simulated people behave."""

    # How far apart two answers must be, as a share of the ranking, for the better one to be chosen
    # with 73% certainty; 0 is always.
    noise: float = 0.1
    drop_out: float = 0.3  # the share that leaves on the way
    # The share of requests that is lost, half of them on the way there, half on the way back.
    lost: float = 0.0
    double: float = 0.05  # the share of forms that is sent twice at once
    reload: float = 0.05  # the share of pages that is loaded once more
    # The share of attention checks and quizzes that is answered without reading.
    inattentive: float = 0.03
    careless: float = 0.05  # the share of pages with questions that is first sent without answers
    plain: float = 0.2  # the share of people whose browser runs no script
    think: float = 0.0  # seconds that a person looks at a page, on average

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value < 0 or (name not in ("noise", "think") and value >= 1):
                raise InputError(f"{name} must be at least 0 and below 1, got {value}")


@dataclass(frozen=True, slots=True)
class Taste:
    """What someone likes."""

    ranks: Mapping[str, float]  # by the text of an answer, without its punctuation; lower is better
    noise: float  # in ranks

    def choose(self, options: list[str], rng: Random) -> int:
        """Return which of the options someone takes, from 0.

        Gumbel noise makes the lowest rank win with the probabilities of a softmax.
        """
        ranks = [self.ranks.get(_bare(text)) for text in options]
        noisy = [
            rank + self.noise * math.log(rng.expovariate(1.0)) for rank in ranks if rank is not None
        ]
        if len(noisy) < len(ranks):
            raise InputError(f"a page shows options that nobody knows: {options!r:.200}")
        return noisy.index(min(noisy))


class Tastes:
    """What each persona of the questions likes."""

    def __init__(self, questions: Iterable[Material], behaviour: Behaviour) -> None:
        self._questions = {
            _bare(text): question for question in questions for text in _texts(question.text)
        }
        self._behaviour = behaviour
        self._ranks: dict[str, dict[str, dict[str, float]]] = {}

    def draw(self, query: str, persona: str | None, rng: Random) -> Taste:
        """Return what someone likes who reads this query, and plays this persona."""
        question = self._questions.get(_bare(query))
        if question is None:
            raise InputError(f"a page shows a query that nobody knows: {query!r:.200}")
        if question.id not in self._ranks:
            self._ranks[question.id] = _rankings(question)
        rankings = self._ranks[question.id]
        ranks = list(rankings.values())
        noise = self._behaviour.noise * len(question.answers)
        if persona is not None:
            names = [_bare(spaced(name)) for name in rankings]
            if _bare(persona) not in names:
                raise InputError(f"a page shows a persona that nobody knows: {persona!r:.200}")
            return Taste(ranks[names.index(_bare(persona))], noise)
        one, other = rng.sample(ranks, 2) if len(ranks) > 1 else ranks * 2
        weight, shaken = rng.uniform(0.6, 1.0), _SHAKEN * len(question.answers)
        mixed = {
            text: weight * one[text] + (1.0 - weight) * other[text] + rng.gauss(0.0, shaken)
            for text in one
        }
        return Taste(mixed, 2.0 * noise)


def _rankings(question: Material) -> dict[str, dict[str, float]]:
    """Return how each persona ranks what a page may show; three strangers where there are none."""
    texts = {answer.label: list(_page_texts(answer)) for answer in question.answers}
    rankings = {}
    for name in question.personas or ("one", "two", "three"):
        order = question.rankings.get(name) or _by_direction(question, name)
        ranks = {text: float(rank) for rank, label in enumerate(order) for text in texts[label]}
        rankings[name] = ranks
    return rankings


def _by_direction(question: Material, name: str) -> list[str]:
    """Rank the answers of a question along a direction that follows from a name."""
    rng = Random(f"{question.id} {name}")  # noqa: S311 - a simulation
    direction = [rng.gauss(0.0, 1.0) for _ in range(question.pool.dimension)]
    labels = [candidate.label for candidate in question.pool]
    scores = dict(zip(labels, question.pool.features @ direction, strict=True))
    middle = sum(scores.values()) / len(scores)
    answers = [answer.label for answer in question.answers]
    return sorted(answers, key=lambda label: -scores.get(label, middle))


def _page_texts(answer: Candidate) -> Iterator[str]:
    """Yield what a page may say of an answer: its text in each language, or a picture's id."""
    texts = [answer.text, *(v for k, v in answer.meta.items() if k.startswith("text_"))]
    yield from (_bare(str(text)) for text in texts if text)
    if not answer.text and "media" in answer.meta:
        yield _bare(str(answer.meta["media"]))
    elif answer.image is not None and not answer.text:
        yield _bare(media.read(answer.image).id)


def _texts(text: str | Mapping[str, str]) -> list[str]:
    return [text] if isinstance(text, str) else list(text.values())


def _bare(text: str) -> str:
    """Return the letters and digits of a text: what is the same however it is shown."""
    return "".join(char for char in text.casefold() if char.isalnum())


@dataclass(slots=True)
class Log:
    """What happened to one person."""

    path: str = ""  # their address, once they have one
    # The answers that the server acknowledged, by stage and number: what was chosen, or what was
    # filled in.
    answers: dict[tuple[str, int], Answered] = field(default_factory=dict)
    code: str = ""  # the completion code, once it was shown
    # "finished", "left", "full" or "failed"; or the outcome with which the study ended for them.
    end: str = "failed"
    trouble: list[str] = field(default_factory=list)  # what should not have happened


class Visit:
    """The visit of one person of a crowd."""

    def __init__(self, crowd: Crowd, rng: Random) -> None:
        self._crowd, self._design, self._behaviour = crowd, crowd.design, crowd.behaviour
        self._rng = rng
        self._scripted = rng.random() >= self._behaviour.plain
        leaves = rng.random() < self._behaviour.drop_out
        self._leaves_after = rng.randrange(crowd.screens) if leaves else None
        languages = self._design.languages
        self._language = rng.choice(languages) if len(languages) > 1 else languages[0]
        self._browser = self._new_browser()
        self.log = Log()

    def _new_browser(self) -> Browser:
        return Browser(self._crowd.url, self._scripted, self._language)

    async def run(self) -> Log:
        """Take part to the end, or drop out on the way."""
        try:
            page = await self._enter()
            if page is not None:
                await self._go(page)
        except LostError as error:
            self.log.trouble.append(f"gave up: {error}")
        finally:
            self._browser.close()
        return self.log

    async def _enter(self) -> Page | None:
        address = f"/study/{self._design.slug}"
        first = address + _arrival_query(self._crowd.source)
        landing = read_page((await self._persist(first, None)).text)
        if not landing.has_form:
            self.log.end = "full"
            return None
        fields = landing.fields | landing.boxes
        reply = await self._persist(address, fields)
        if reply.status == 503:
            self.log.end = "full"
            return None
        if reply.location is None:
            self.log.trouble.append(f"consent was answered with {reply.status}")
            return None
        self.log.path = reply.location
        return read_page((await self._persist(self.log.path, None)).text)

    async def _go(self, page: Page) -> None:
        tastes: dict[str, Taste] = {}
        seen = 0
        while "outcome" not in page.words:
            if not page.has_form:
                self.log.trouble.append("a page has neither a form nor an end")
                return
            if seen == self._leaves_after:
                await self._leave()
                return
            query = page.words.get("query-text")
            if query is not None and query not in tastes:
                persona = page.words.get("persona-name")
                tastes[query] = self._crowd.tastes.draw(query, persona, self._rng)
            page = await self._do(page, tastes.get(query or ""))
            seen += 1
        self.log.code, self.log.end = page.words.get("code", "").strip(), page.words["outcome"]
        if self.log.end == COMPLETED:
            self.log.end = "finished"

    async def _leave(self) -> None:
        """Drop out: half of the people close the page, others say so, or withdraw."""
        self.log.end = "left"
        how = self._rng.choice(("", "", RETURNED, WITHDRAWN)) if self._design.withdraw else ""
        if how:
            reply = await self._persist(self.log.path, {"leave": how})
            if reply.status not in (200, 303):
                self.log.trouble.append(f"leaving was answered with {reply.status}")
            if how == WITHDRAWN:
                self.log.answers.clear()

    async def _do(self, page: Page, taste: Taste | None) -> Page:
        """Answer what a page asks, and return the next one."""
        if self._behaviour.think:
            await asyncio.sleep(self._rng.expovariate(1.0 / self._behaviour.think))
        if self._rng.random() < self._behaviour.reload:
            again = read_page((await self._persist(self.log.path, None)).text)
            if again != page:
                self.log.trouble.append("a page changed when it was loaded again")
        fields: dict[str, str | list[str]] = dict(page.fields)
        answered: Answered | None = None
        if page.options and taste is not None:
            answered = self._choose(page.options, taste)
            fields["response"] = str(answered)
        entry = self._design.page(split_stage(page.fields["stage"])[0])
        if entry is not None:
            await self._send_nothing(page, fields)
            filled = {name: self._fill(name, one, entry) for name, one in page.inputs.items()}
            fields |= filled
            answered = entry.parse(filled)[0] or None
        if "milliseconds" in page.fields:
            fields["milliseconds"] = str(self._rng.randrange(500, 20_000))
        begun = time.perf_counter()
        reply = await self._submit(fields)
        self._crowd.times.append(time.perf_counter() - begun)
        if answered is not None and reply.status in (200, 303):
            self.log.answers[page.fields["stage"], int(page.fields["step"])] = answered
        if reply.status == 303:
            reply = await self._persist(self.log.path, None)
        if reply.status != 200:
            raise LostError(f"an answer was answered with {reply.status}")
        return read_page(reply.text)

    def _choose(self, options: list[str], taste: Taste) -> int:
        """Return which option to take: what one likes, or what a check of attention says."""
        words = self._design.words_in(self._language)
        texts, instruction = [_bare(text) for text in options], _bare(words("check_choose"))
        if instruction not in texts:
            return taste.choose(options, self._rng)
        inattentive = self._rng.random() < self._behaviour.inattentive
        return self._rng.randrange(2) if inattentive else texts.index(instruction)

    async def _send_nothing(self, page: Page, fields: Form) -> None:
        """Send a page without answers, as the careless do: it must come back."""
        required = any("required" in one.attributes for one in page.inputs.values())
        if required and self._rng.random() < self._behaviour.careless:
            reply = await self._persist(self.log.path, fields)
            if reply.status != 422 or read_page(reply.text).inputs.keys() != page.inputs.keys():
                self.log.trouble.append(f"an empty page was answered with {reply.status}")

    def _fill(self, name: str, box: Input, page: PageEntry) -> list[str]:
        """Return an answer that the page allows: the right one where there is one."""
        entry = next(one for one in page.fields if one.id == name)
        if entry.correct is not None and self._rng.random() >= self._behaviour.inattentive:
            right = entry.correct if isinstance(entry.correct, list) else [str(entry.correct)]
            return right if entry.type == "choices" else right[:1]
        if box.kind == "number":
            low = 18 if entry.min is None else entry.min
            high = low + 50 if entry.max is None else entry.max
            low = min(low, high)
            if math.ceil(low) <= math.floor(high):
                return [str(self._rng.randint(math.ceil(low), math.floor(high)))]
            return [str(self._rng.uniform(low, high))]
        if box.kind in ("radio", "checkbox"):
            fitting = [value for value in box.values if value not in entry.screen_out]
            unfit = not fitting or self._rng.random() < _UNFIT
            return [self._rng.choice(box.values if unfit else fitting)]
        text = "Simulated.".ljust(math.ceil(entry.min or 0), ".")
        return [text[: math.floor(entry.max or LONGEST)]]

    async def _submit(self, fields: Form) -> Reply:
        """Send a form; the impatient send it twice."""
        if self._rng.random() >= self._behaviour.double:
            return await self._persist(self.log.path, fields)
        other = self._new_browser()
        try:
            both = (self._persist(self.log.path, fields), other.send(self.log.path, fields))
            reply, twin = await asyncio.gather(*both)
        finally:
            other.close()
        if twin.status != reply.status:
            self.log.trouble.append(f"sent twice: {reply.status} and {twin.status}")
        return reply

    async def _persist(self, path: str, fields: Form | None) -> Reply:
        """Send until it is answered, as our script does, and as people press the button again."""
        for number in range(_TRIES):
            lost = None
            if self._rng.random() < self._behaviour.lost:
                lost = self._rng.choice(("request", "reply"))
            try:
                reply = await self._browser.send(path, fields, lost)
            except LostError as error:
                if str(error):
                    self.log.trouble.append(f"connection: {error}")
                await asyncio.sleep(min(2.0, 0.02 * 2**number))
                continue
            if reply.status not in (429, 500, 502, 504):
                return reply
            self.log.trouble.append(f"{reply.status} at {'GET' if fields is None else 'POST'}")
            await asyncio.sleep(0.5)
        raise LostError("no answer after many tries")


def _arrival_query(source: str) -> str:
    """Return what a recruiting service puts behind the address."""
    name = secrets.token_hex(12)  # must differ between runs, whatever their seed
    if source == "prolific":
        query = {"PROLIFIC_PID": name, "STUDY_ID": "simulated", "SESSION_ID": f"s{name}"}
    elif source == "mturk":
        query = {
            "workerId": name,
            "assignmentId": f"a{name}",
            "hitId": "simulated",
            "turkSubmitTo": "https://workersandbox.mturk.com",
        }
    else:
        return ""
    return f"?{urlencode(query)}"


@dataclass(slots=True)
class CrowdReport:
    """What a simulation measured."""

    # How many people came to which end.
    finished: int = 0
    left: int = 0
    full: int = 0  # found no place
    failed: int = 0
    ended: int = 0  # before the last page: screened out, say
    answers: int = 0  # acknowledged by the server
    seconds: float = 0.0
    # Percentiles of the answer requests, in milliseconds.
    latency: dict[str, float] = field(default_factory=dict)
    # What should not have happened, and how often.
    troubles: dict[str, int] = field(default_factory=dict)
    # Answers that were acknowledged and are not in the database, or stand there otherwise, and rows
    # that nobody sent; None where the database could not be looked into.
    missing: int | None = None
    different: int | None = None
    extra: int | None = None


class Crowd:
    """Simulated people who come to a study until enough have finished, or no more can.

    `participants` is how many are to finish, `concurrency` how many are there at once, and `seed`
    for what they like and do. `progress` is called with how many have finished. `material` is the
    questions by domain; those of the design's files when not given.
    """

    def __init__(
        self,
        url: str,
        design: Design,
        behaviour: Behaviour,
        *,
        participants: int,
        concurrency: int = 200,
        source: str = "link",
        seed: int = 0,
        progress: Callable[[int], None] | None = None,
        material: Mapping[str, list[Material]] | None = None,
    ) -> None:
        platforms = " and ".join(design.recruitment.platforms)
        if source == "link" and platforms:
            raise OptionError(
                f"{design.slug!r} takes workers of {platforms} alone, who do not come by a plain "
                "link; give the platform as the source"
            )
        self.url, self.design, self.behaviour, self.source = url, design, behaviour, source
        self._participants, self._concurrency = participants, concurrency
        self._rng = Random(seed)  # noqa: S311 - a simulation
        material = material or design.load_questions()
        # How many there are at least, among which who drops out leaves.
        self.screens = _fewest_screens(design, {name: len(m) for name, m in material.items()})
        questions = [one for entries in material.values() for one in entries]
        self.tastes = Tastes(questions, behaviour)
        self._progress = progress or (lambda _: None)
        self.times: list[float] = []  # the seconds of every answer request
        self.logs: list[Log] = []
        self.finished = self._stuck = 0

    async def run(self) -> CrowdReport:
        """Run all visits, and return what was measured."""
        begun = time.perf_counter()
        crowd = min(self._concurrency, 2 * self._participants)
        async with asyncio.TaskGroup() as group:
            for _ in range(crowd):
                group.create_task(self._come_and_go())
        ends = Counter(log.end for log in self.logs)
        return CrowdReport(
            finished=self.finished,
            left=ends["left"],
            full=ends["full"],
            failed=ends["failed"],
            ended=sum(ends[outcome] for outcome in OUTCOMES),
            answers=sum(len(log.answers) for log in self.logs),
            seconds=round(time.perf_counter() - begun, 2),
            latency=_percentiles(self.times),
            troubles=dict(Counter(line for log in self.logs for line in log.trouble)),
        )

    async def _come_and_go(self) -> None:
        await asyncio.sleep(self._rng.uniform(0.0, 0.01 * self._concurrency))
        pause = _PAUSE
        while self.finished < self._participants and self._stuck < _STUCK:
            rng = Random(self._rng.getrandbits(64))  # noqa: S311 - a simulation
            log = await Visit(self, rng).run()
            self.logs.append(log)
            if log.end == "finished":
                self.finished, self._stuck = self.finished + 1, 0
                self._progress(self.finished)
            elif log.end == "full":
                await asyncio.sleep(self._rng.uniform(0.5, 1.5) * pause)
                pause = min(2.0 * pause, _LONGEST_PAUSE)
            elif log.end in (QUOTA_FULL, "failed"):
                self._stuck += 1


async def check_reachable(url: str) -> None:
    """Raise OptionError if no server answers at an address."""
    try:
        browser = Browser(url, scripted=False)
        await browser.send("/healthz", None)
    except (LostError, ValueError) as error:
        raise OptionError(
            f"no server answers at {url!r} ({error}); start one with `useralign serve`, or leave "
            "--url out"
        ) from error
    browser.close()


def _fewest_screens(design: Design, questions: Mapping[str, int]) -> int:
    """Return how many screens the shortest way through a study has, its first page left out."""
    ways = []
    for number, cell in enumerate(design.cells):
        sequence = design.sequence(number, questions[cell.domain])
        met = [(one.domain, one.method) for one in sequence]
        screens = sum(design.budget(*one) - 1 + len(design.checkpoints(*one)) for one in met)
        ways.append(screens + len(design.route(sequence)) - 1)
    return min(ways)


def run(crowd: Crowd, store: Store | None = None) -> CrowdReport:
    """Run a crowd, then compare what the server acknowledged with what it wrote down."""
    report = asyncio.run(crowd.run())
    if store is not None:
        report.missing, report.different, report.extra = audit(store, crowd.design.slug, crowd.logs)
    return report


def audit(store: Store, slug: str, logs: list[Log]) -> tuple[int, int, int]:
    """Count answers that are missing, different, or in the database without having been sent."""
    missing = different = extra = 0
    for log in logs:
        if not log.path:
            continue
        stored = _stored_answers(store, slug, digest(log.path.rsplit("/", 1)[-1]))
        missing += len(log.answers.keys() - stored.keys())
        unsure = log.end not in ("finished", *OUTCOMES)  # the last one may not have been heard
        extra += max(0, len(stored.keys() - log.answers.keys()) - unsure)
        both = log.answers.keys() & stored.keys()
        different += sum(stored[key] != log.answers[key] for key in both)
    return missing, different, extra


def _stored_answers(
    store: Store, slug: str, participant_id: str
) -> dict[tuple[str, int], Answered]:
    stored: dict[tuple[str, int], Answered] = {}
    with studies.reading(store, slug) as records:
        for _, answer in records.comparison_answers(participant_id):
            stored[stage_key(COMPARISONS, answer.round), answer.number] = answer.position
        for matchup in records.matchups(participant_id):
            if matchup.chosen is not None:
                key = stage_key(EVALUATION, matchup.round), matchup.number
                stored[key] = SIDES.index(matchup.chosen)
        for page in records.page_answers(participant_id):
            if page.page != CLIENT and not page.field.startswith("_"):
                entry = stored.setdefault((page.page, page.attempt), {})
                assert isinstance(entry, dict)  # noqa: S101 - no page is called like the task
                entry[page.field] = page.value
    return stored


def _percentiles(times: list[float]) -> dict[str, float]:
    """Return the median and the tail of some seconds, in milliseconds."""
    if not times:
        return {}
    marks = {"p50": 50, "p95": 95, "p99": 99, "max": 100}
    values = 1000 * np.percentile(times, list(marks.values()))
    return dict(zip(marks, values.round(1).tolist(), strict=True))
