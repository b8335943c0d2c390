"""Requests for one candidate, or for interests, and their replies read."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from useralign.models.generators.base import ImageRequest, Text, TextRequest
from useralign.pool import Candidate
from useralign.pooling import prompts
from useralign.pooling.parse import parse_answer, parse_interests
from useralign.pooling.pictures import picture_problem
from useralign.pooling.plan import seed_of
from useralign.pooling.words import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from useralign.models.generators.base import Picture
    from useralign.pooling.desk import Desk
    from useralign.pooling.recipe import Recipe


_WITH_IDEA = 0.5


class Asker:
    """Asks as a recipe says.

    Parameters
    ----------
    question : str
    recipe : Recipe
    desk : Desk
    """

    def __init__(self, question: str, recipe: Recipe, desk: Desk) -> None:
        self._question = question
        self._recipe = recipe
        self._desk = desk

    async def candidate(
        self, name: str, role: str, interest: str | None = None, idea: str | None = None
    ) -> tuple[Candidate, str | None]:
        """Ask for one text or picture; return it, and what is wrong with it if anything is.

        Parameters
        ----------
        name : str
            The candidate's id, which its seed follows from.
        role : str
            What it counts as.
        interest : str, optional
        idea : str, optional
            What the answer is to suggest.
        """
        if self._recipe.kind == "image":
            return await self._picture(name, role, interest)
        request = self._request(name, role, interest, idea)
        reply = await self._desk.text(role, name, request)
        verdict = parse_answer(
            reply.text,
            question=self._question,
            prompt=f"{request.system}\n{request.prompt}",
            finish=reply.finish,
            limit=self._recipe.sentences,
            least=self._recipe.min_words,
        )
        meta = _provenance(request, reply) | {"temperature": request.temperature}
        if idea:
            meta["idea"] = idea
        return Candidate(text=verdict.text, id=name, meta=meta), verdict.problem

    async def interests(self, name: str, known: Sequence[str]) -> list[str]:
        """Ask for the interests that are missing, and return those that are new.

        Raises
        ------
        ModelAnswerError
            If there are none in the reply.
        """
        wanted = self._recipe.by_interest - len(known)
        request = TextRequest(
            prompt=prompts.interests(self._question, wanted, known),
            system=prompts.REASONING,
            temperature=self._recipe.interest_temperature,
            max_tokens=100 + 40 * wanted,
            seed=seed_of(self._recipe.seed, name),
            min_p=self._recipe.min_p,
            schema=prompts.interests_schema(wanted),
        )
        reply = await self._desk.text("interests", name, request)
        old = [words(interest) for interest in known]
        new = [item for item in parse_interests(reply.text) if words(item) not in old]
        return new[:wanted]

    async def _picture(
        self, name: str, role: str, interest: str | None
    ) -> tuple[Candidate, str | None]:
        request = ImageRequest(
            prompt=prompts.picture(self._question, interest),
            size=self._recipe.image_size,
            quality=self._recipe.image_quality,
            seed=seed_of(self._recipe.seed, name),
        )
        reply, path = await self._desk.picture(role, name, request)
        meta = _provenance(request, reply) | {"sha256": hashlib.sha256(reply.data).hexdigest()}
        candidate = Candidate(text=interest or "", image=str(path), id=name, meta=meta)
        return candidate, picture_problem(reply.data)

    def _request(self, name: str, role: str, interest: str | None, idea: str | None) -> TextRequest:
        recipe, question = self._recipe, self._question
        if idea:
            prompt = prompts.for_idea(question, idea, interest)
        elif interest:
            prompt = prompts.for_interest(question, interest)
        else:
            prompt = prompts.unbiased(question)
        plain = role == "baseline"
        temperature = recipe.baseline_temperature if plain else recipe.temperature
        return TextRequest(
            prompt=prompt,
            system=recipe.system,
            # With an idea of its own an answer need not vary much, and a cool head errs less.
            temperature=min(temperature, _WITH_IDEA) if idea else temperature,
            max_tokens=recipe.max_tokens,
            seed=seed_of(recipe.seed, name),
            min_p=None if plain else recipe.min_p,
            begin=prompts.beginning(idea) if idea and self._desk.generator.continues else "",
        )


def _provenance(request: TextRequest | ImageRequest, reply: Text | Picture) -> dict[str, Any]:
    facts: dict[str, Any] = {"prompt": request.prompt, "model": reply.model, "seed": request.seed}
    if isinstance(reply, Text):
        facts["finish"] = reply.finish
    return {**facts, "cached": reply.cached, "usage": asdict(reply.usage)}
