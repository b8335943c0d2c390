"""Services by their names: the data file, what is sent to each, and keys that never show."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.models.scripted_service import Reply, ScriptedService, chat
from useralign.errors import ModelError, ModelUnavailableError, OptionError
from useralign.models import TextRequest, available, generator_for, wait_for
from useralign.models.choice import services
from useralign.models.providers import COMPATIBLE, at_address, providers

if TYPE_CHECKING:
    from pathlib import Path

REQUEST = TextRequest("q", seed=5, min_p=0.1, schema={"type": "object"})
SERVICES = [provider.name for provider in services()]
NOT_SENT = {
    "openai": set(),
    "anthropic": {"response_format", "seed", "min_p"},
    "gemini": {"seed", "min_p"},
    "openrouter": set(),
    "groq": {"min_p"},
    "mistral": {"seed", "min_p"},
}


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    for provider in providers().values():
        for variable in (provider.key, f"{provider.key}_FILE", provider.address or "X"):
            monkeypatch.delenv(variable, raising=False)


def test_the_table() -> None:
    assert list(NOT_SENT) == SERVICES
    keys = [provider.key for provider in providers().values()]
    assert len(set(keys)) == len(keys)
    for provider in providers().values():
        assert provider.label
        assert provider.source.startswith("https://") or provider.name == COMPATIBLE
        parts = urlsplit(provider.base_url)
        assert not provider.base_url.endswith("/")
        if provider.is_server:
            assert (parts.scheme, parts.hostname) == ("http", "127.0.0.1")
            # It was tried five times, for ten minutes each.
            assert provider.timeout * (1 + provider.retries) <= 1200, "one that hangs is given up"
        elif provider.name != COMPATIBLE:
            assert parts.scheme == "https"
            assert provider.model, "a service has a model that is used when none is named"


@pytest.mark.parametrize("name", SERVICES)
def test_what_is_sent(
    name: str, service: ScriptedService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key_file = tmp_path / "key"
    key_file.write_text(f"key-of-{name}\n")
    monkeypatch.setenv(f"{name.upper()}_API_KEY_FILE", str(key_file))
    assert [model.name for model in available()] == [name]
    service.will(Reply(chat("Soup.")))
    generator = generator_for(f"{name}:a/b:c", base_url=service.base_url)
    assert wait_for(generator.text(REQUEST), generator).text == "Soup."
    assert service.keys == [f"Bearer key-of-{name}"]
    (sent,) = service.requests
    assert sent["model"] == "a/b:c"
    assert {"seed", "min_p", "response_format"} - sent.keys() == NOT_SENT[name]
    assert sent.get("random_seed") == (5 if name == "mistral" else None)
    assert generator.identity["generator"] == name
    assert generator.makes == ({"text", "image"} if name == "openai" else {"text"})


@pytest.mark.parametrize("name", SERVICES)
def test_without_a_key_it_says_which(name: str) -> None:
    variable = f"{name.upper()}_API_KEY"
    with pytest.raises(ModelUnavailableError, match=f"set {variable}, .*{variable}_FILE"):
        generator_for(name)
    assert available() == []


@pytest.mark.parametrize("name", SERVICES)
def test_the_default_goes_to_its_own_address(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{name.upper()}_API_KEY", "key-of-mine")
    generator = generator_for(name)
    provider = providers()[name]
    assert (generator.model, generator.identity["base_url"]) == (provider.model, provider.base_url)
    assert "key-of-mine" not in repr(generator)


def test_no_key_of_anybody_shows(service: ScriptedService, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, provider in enumerate(providers().values()):
        monkeypatch.setenv(provider.key, f"very-secret-{number}")
    words = " and ".join(f"very-secret-{number}" for number in range(len(providers())))
    for status in (400, 401, 403, 404, 429, 500):
        service.will(Reply({"error": {"message": f"your keys are {words}"}}, status))
        generator = generator_for("groq:x", base_url=service.base_url, max_retries=0)
        with pytest.raises(ModelError) as caught:
            wait_for(generator.text(TextRequest("q")), generator)
        assert "very-secret" not in str(caught.value), status
    assert set(service.keys) == {"Bearer very-secret-4"}, "and only its own was sent"


def test_a_model_without_temperatures(service: ScriptedService) -> None:
    refusal = "`temperature` is deprecated for this model."
    service.will(Reply({"error": {"message": refusal}}, 400), Reply(chat("Soup.")))
    generator = generator_for(f"{service.base_url}#m")
    assert wait_for(generator.text(TextRequest("q")), generator).text == "Soup."
    assert ["temperature" in request for request in service.requests] == [True, False]


def test_a_refusal_in_mistrals_form_is_understood(service: ScriptedService) -> None:
    detail = [{"type": "extra_forbidden", "loc": ["body", "min_p"], "msg": "Extra inputs"}]
    error = {"object": "error", "message": {"detail": detail}}
    service.will(Reply(error, 422), Reply(chat("Soup.")))
    generator = generator_for(f"{service.base_url}#m")
    assert wait_for(generator.text(REQUEST), generator).text == "Soup."
    assert "min_p" not in service.requests[1]
    assert "response_format" in service.requests[1]


def test_an_address_of_ones_own(service: ScriptedService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-strangers")
    service.will(Reply(chat("Soup.")))
    root = service.base_url.removesuffix("/v1")
    generator = generator_for(f"{root}#models/some-7b.gguf")
    assert wait_for(generator.text(TextRequest("q")), generator).text == "Soup."
    assert service.paths == ["/v1/chat/completions"]
    assert service.requests[0]["model"] == "models/some-7b.gguf"
    assert service.keys == ["Bearer none"]
    monkeypatch.setenv("USERALIGN_MODEL_KEY", "my-own")
    other = generator_for(f"{service.base_url}#m")
    wait_for(other.text(TextRequest("q")), other)
    assert service.keys[1] == "Bearer my-own"


def test_an_address_without_a_model_uses_the_first(service: ScriptedService) -> None:
    service.pages["/v1/models"] = Reply({"object": "list", "data": [{"id": "only-one"}]})
    assert generator_for(service.base_url).model == "only-one"
    service.pages.clear()
    with pytest.raises(ModelUnavailableError, match="does not answer at"):
        generator_for(service.base_url)


@pytest.mark.parametrize("address", ["http://#m", "https://h:99999/v1#m", "http://h:x#m"])
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(OptionError, match="expected http:// or https://"):
        at_address(address)


def test_the_openai_variable_may_lack_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:9/")
    assert generator_for("openai").identity["base_url"] == "http://localhost:9/v1"
    assert [model.label for model in available()] == ["OpenAI-compatible service"]
