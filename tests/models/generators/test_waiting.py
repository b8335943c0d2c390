"""Waiting for models without a loop of one's own, and leaving nothing open behind."""

from __future__ import annotations

import asyncio
import gc
import logging
import warnings

import pytest

from tests.models.generators.scripted_service import Reply, ScriptedService, chat
from useralign.models.generators import Cached, TextRequest
from useralign.models.generators.openai import OpenAI
from useralign.models.generators.waiting import wait_for

ASK = TextRequest("Where to?", seed=1)


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


def test_with_and_without_a_running_loop() -> None:
    async def inside() -> int:
        return wait_for(double(4))

    assert wait_for(double(3)) == 6
    assert asyncio.run(inside()) == 8


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("fails", [False, True])
def test_no_connection_outlives_its_loop(
    service: ScriptedService, caplog: pytest.LogCaptureFixture, *, fails: bool
) -> None:
    service.will(Reply(chat()))
    generator = OpenAI(base_url=service.base_url)

    async def use() -> str:
        text = (await generator.text(ASK)).text
        if fails:
            raise ValueError(text)
        return text

    with caplog.at_level(logging.DEBUG, "asyncio"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            if fails:
                with pytest.raises(ValueError, match=r"A walk\."):
                    wait_for(use(), generator)
            else:
                assert wait_for(use(), generator) == "A walk."
            gc.collect()
    assert not [r for r in caplog.records if r.levelno > logging.DEBUG]
    assert not generator._service._states


@pytest.mark.usefixtures("key")
def test_a_cache_lets_its_generator_go(service: ScriptedService, tmp_path: object) -> None:
    service.will(Reply(chat()))
    generator = OpenAI(base_url=service.base_url)
    cached = Cached(generator, str(tmp_path))
    assert wait_for(cached.text(ASK), cached).text == "A walk."
    assert not generator._service._states
