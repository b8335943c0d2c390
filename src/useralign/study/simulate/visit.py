"""One simulated person's way through a study, page by page, as a browser would go it."""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from useralign.study.simulate.browser import Browser, LostError, Page, Reply, read

if TYPE_CHECKING:
    from random import Random

    from useralign.study.simulate.people import Behaviour, Minds, Taste

_TRIES = 60


@dataclass(slots=True)
class Log:
    """What happened to one person.

    Parameters
    ----------
    path : str
        Their address, once they have one.
    told : dict of (str, int) to int
        The answers that the server acknowledged, by stage and number.
    code : str
        The completion code, once it was shown.
    end : {"finished", "left", "full", "failed"}
    trouble : list of str
        What should not have happened.
    """

    path: str = ""
    told: dict[tuple[str, int], int] = field(default_factory=dict)
    code: str = ""
    end: str = "failed"
    trouble: list[str] = field(default_factory=list)


class Visit:
    """A person on their way.

    Parameters
    ----------
    url, slug : str
    source : {"link", "prolific", "mturk"}
    minds : Minds
    behaviour : Behaviour
    rng : Random
    times : list of float
        Where the seconds of every answer request are added.
    """

    def __init__(
        self,
        url: str,
        slug: str,
        *,
        source: str,
        minds: Minds,
        behaviour: Behaviour,
        rng: Random,
        times: list[float],
    ) -> None:
        self._url, self._slug = url, slug
        self._minds, self._behaviour, self._rng, self._times = minds, behaviour, rng, times
        self._scripted = rng.random() >= behaviour.plain
        self._browser = Browser(url, self._scripted)
        self._query = _arrival(source, rng)
        self._leaves_after = rng.randrange(25) if rng.random() < behaviour.drop_out else None
        self.log = Log()

    async def run(self) -> Log:
        """Go all the way, or leave on it."""
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
        first = f"/study/{self._slug}{self._query}"
        landing = read((await self._persist(first, None)).text)
        if not landing.has_form:
            self.log.end = "full"
            return None
        fields = landing.fields | landing.boxes
        reply = await self._persist(f"/study/{self._slug}", fields)
        if reply.status == 503:
            self.log.end = "full"
            return None
        if reply.location is None:
            self.log.trouble.append(f"consent was answered with {reply.status}")
            return None
        self.log.path = reply.location
        return read((await self._persist(self.log.path, None)).text)

    async def _go(self, page: Page) -> None:
        taste: Taste | None = None
        seen = 0
        while not page.words.get("code"):
            if not page.has_form:
                self.log.trouble.append("a page has neither a form nor a code")
                return
            if seen == self._leaves_after:
                self.log.end = "left"
                return
            if taste is None:
                words = page.words
                taste = self._minds.taste(words["query-text"], words.get("persona-name"), self._rng)
            page = await self._do(page, taste)
            seen += 1
        self.log.code, self.log.end = page.words["code"].strip(), "finished"

    async def _do(self, page: Page, taste: Taste) -> Page:
        """Answer what a page asks, and return the next one."""
        if self._behaviour.think:
            await asyncio.sleep(self._rng.expovariate(1.0 / self._behaviour.think))
        if self._rng.random() < self._behaviour.reload:
            again = read((await self._persist(self.log.path, None)).text)
            if again != page:
                self.log.trouble.append("a page changed when it was loaded again")
        fields = dict(page.fields)
        if page.options:
            choice = taste.choose(page.options, self._behaviour, self._rng)
            fields |= {"told": str(choice), "milliseconds": str(self._rng.randrange(500, 20_000))}
        begun = time.perf_counter()
        reply = await self._submit(fields)
        self._times.append(time.perf_counter() - begun)
        if page.options and reply.status in (200, 303):
            self.log.told[fields["stage"], int(fields["step"])] = choice
        if reply.status == 303:
            reply = await self._persist(self.log.path, None)
        if reply.status != 200:
            self.log.trouble.append(f"an answer was answered with {reply.status}")
        return read(reply.text)

    async def _submit(self, fields: dict[str, str]) -> Reply:
        """Send a form; the impatient send it twice."""
        if self._rng.random() >= self._behaviour.double:
            return await self._persist(self.log.path, fields)
        other = Browser(self._url, self._scripted)
        try:
            both = (self._persist(self.log.path, fields), other.send(self.log.path, fields))
            reply, twin = await asyncio.gather(*both)
        finally:
            other.close()
        if twin.status != reply.status:
            self.log.trouble.append(f"sent twice: {reply.status} and {twin.status}")
        return reply

    async def _persist(self, path: str, fields: dict[str, str] | None) -> Reply:
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


def _arrival(source: str, rng: Random) -> str:
    """Return what a recruiting service puts behind the address."""
    del rng  # names must differ between runs
    name = secrets.token_hex(12)
    if source == "prolific":
        given = {"PROLIFIC_PID": name, "STUDY_ID": "simulated", "SESSION_ID": f"s{name}"}
    elif source == "mturk":
        given = {
            "workerId": name,
            "assignmentId": f"a{name}",
            "hitId": "simulated",
            "turkSubmitTo": "https://workersandbox.mturk.com",
        }
    else:
        return ""
    return f"?{urlencode(given)}"
