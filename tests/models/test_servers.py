"""Servers with models on this machine: found, not believed, and never waited for."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.local_server import LocalServer
from tests.models.scripted_service import Reply, ScriptedService, chat
from useralign.errors import ModelUnavailableError
from useralign.models import (
    Text,
    TextRequest,
    available,
    default_generator,
    generator_for,
    wait_for,
    weights,
)
from useralign.models import providers as servers
from useralign.models.providers import Provider, find_servers, parameter_count, providers

# What each of them replies, as its documentation shows it.
OLLAMA = {
    "models": [
        {
            "name": "llama3.2:latest",
            "model": "llama3.2:latest",
            "modified_at": "2026-05-04T17:37:44.706015396-07:00",
            "size": 2019393189,
            "digest": "a80c4f17acd55265feec403c7aef86be0c25983ab279d83f3bcd3abbcb5b8b72",
            "details": {
                "parent_model": "",
                "format": "gguf",
                "family": "llama",
                "families": ["llama"],
                "parameter_size": "3.2B",
                "quantization_level": "Q4_K_M",
            },
        },
        {
            "name": "smollm2:135m",
            "model": "smollm2:135m",
            "size": 270898672,
            "details": {"family": "llama", "parameter_size": "134.52M"},
        },
        {
            "name": "nomic-embed-text:latest",
            "size": 274302450,
            "details": {"family": "nomic-bert", "parameter_size": "137M"},
        },
    ]
}
LM_STUDIO = {
    "object": "list",
    "data": [
        {
            "id": "meta-llama-3.1-8b-instruct",
            "object": "model",
            "type": "llm",
            "publisher": "lmstudio-community",
            "arch": "llama",
            "compatibility_type": "gguf",
            "quantization": "Q4_K_M",
            "state": "not-loaded",
            "max_context_length": 131072,
        },
        {"id": "qwen2-vl-7b-instruct", "object": "model", "type": "vlm", "state": "loaded"},
        {"id": "text-embedding-nomic-v1.5", "object": "model", "type": "embeddings"},
    ],
}
LLAMA_CPP = {
    "models": [{"name": "gemma-3-4b-it-Q4_K_M.gguf", "model": "gemma-3-4b-it-Q4_K_M.gguf"}],
    "object": "list",
    "data": [
        {
            "id": "gemma-3-4b-it-Q4_K_M.gguf",
            "object": "model",
            "created": 1735142223,
            "owned_by": "llamacpp",
            "meta": {"vocab_type": 1, "n_ctx_train": 131072, "n_params": 3880099328},
        }
    ],
}
VLLM = {
    "object": "list",
    "data": [
        {
            "id": "Qwen/Qwen2.5-7B-Instruct",
            "object": "model",
            "created": 1739935000,
            "owned_by": "vllm",
            "root": "Qwen/Qwen2.5-7B-Instruct",
            "parent": None,
            "max_model_len": 32768,
        }
    ],
}
LLAMA_CPP_ROUTER = {
    "object": "list",
    "data": [
        {
            "id": f"ggml-org/{name}-GGUF:Q4_K_M",
            "object": "model",
            "owned_by": "llamacpp",
            "status": {"value": state, "args": ["llama-server", "-ctx", "4096"]},
        }
        for name, state in [("gemma-3-4b-it", "unloaded"), ("Qwen3-8B", "loaded")]
    ],
}
KINDS = {
    "ollama": ("/api/tags", OLLAMA, ["llama3.2:latest", "smollm2:135m"]),
    "lmstudio": (
        "/api/v0/models",
        LM_STUDIO,
        ["qwen2-vl-7b-instruct", "meta-llama-3.1-8b-instruct"],
    ),
    "llamacpp": ("/v1/models", LLAMA_CPP, ["gemma-3-4b-it-Q4_K_M.gguf"]),
    "vllm": ("/v1/models", VLLM, ["Qwen/Qwen2.5-7B-Instruct"]),
}


def forget_servers() -> None:
    """Look anew at the next call."""
    servers._last = None


def ask(name: str, **options: Any) -> Text:
    generator = generator_for(name)
    return wait_for(generator.text(TextRequest("What?", **options)), generator)


@pytest.fixture(scope="session")
def weights_of_smollm() -> Path:
    """The file itself, found before a test moves the folder it is in."""
    return weights.ensure("smollm2-135m")


@contextlib.contextmanager
def running() -> Iterator[ScriptedService]:
    server = ScriptedService()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[None]:
    """No key, no weights, nothing remembered, and the usual way to look."""
    for provider in providers().values():
        for variable in (provider.key, f"{provider.key}_FILE", provider.address or "X"):
            monkeypatch.delenv(variable, raising=False)
    monkeypatch.delenv("USERALIGN_SERVERS")
    monkeypatch.setenv("USERALIGN_CACHE", str(tmp_path))
    forget_servers()
    yield
    forget_servers()


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that moves providers to other ports, and hides the rest."""

    def move(**services: ScriptedService | str) -> None:
        table: dict[str, Provider] = {}
        for name, provider in providers().items():
            if name in services:
                service = services[name]
                url = service if isinstance(service, str) else service.base_url
                table[name] = replace(provider, base_url=url)
            elif not provider.is_server:
                table[name] = provider
        monkeypatch.setattr(servers, "providers", lambda: table)
        monkeypatch.setattr("useralign.models.choice.providers", lambda: table)
        monkeypatch.setattr("useralign.models.openai.providers", lambda: table)
        forget_servers()

    return move


def test_only_this_machine_is_asked() -> None:
    places = servers._places()
    assert [place.name for place in places] == list(KINDS)
    assert {urlsplit(place.base_url).hostname for place in places} == {"127.0.0.1"}
    assert servers.SECONDS < 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_found_and_used(kind: str, service: ScriptedService, at: Any) -> None:
    path, listed, names = KINDS[kind]
    service.pages[path] = Reply(listed)
    service.will(Reply(chat("Soup.")))
    at(**{kind: service})
    (server,) = find_servers()
    assert [model.name for model in server.models] == names
    assert service.visits == [(path, None)], "and no key was sent"
    choice = available()[0]
    assert choice.name == f"{kind}:{names[0]}" == default_generator()
    assert names[0] in choice.label
    assert providers()[kind].label in choice.label
    text = ask(choice.name)
    assert (text.text, text.usage.cost) == ("Soup.", 0.0)
    assert service.paths == ["/v1/chat/completions"]
    assert service.requests[0]["model"] == names[0]


@pytest.mark.parametrize("kind", ["ollama", "lmstudio"])
def test_the_common_path_is_asked_when_the_other_is_not_there(
    kind: str, service: ScriptedService, at: Any
) -> None:
    service.pages["/v1/models"] = Reply(VLLM)
    at(**{kind: service})
    (server,) = find_servers()
    assert [model.name for model in server.models] == ["Qwen/Qwen2.5-7B-Instruct"]


def test_of_several_the_one_that_is_loaded_goes_first(service: ScriptedService, at: Any) -> None:
    service.pages["/v1/models"] = Reply(LLAMA_CPP_ROUTER)
    at(llamacpp=service)
    assert default_generator() == "llamacpp:ggml-org/Qwen3-8B-GGUF:Q4_K_M"


def test_one_too_small_is_last_and_never_chosen(service: ScriptedService, at: Any) -> None:
    service.pages["/api/tags"] = Reply(OLLAMA)
    at(ollama=service)
    assert [(m.name, m.too_small) for m in available()] == [
        ("ollama:llama3.2:latest", False),
        ("ollama:smollm2:135m", True),
    ]
    service.pages["/api/tags"] = Reply({"models": OLLAMA["models"][1:]})
    forget_servers()
    with pytest.raises(ModelUnavailableError, match="smollm2:135m is here, but too small"):
        default_generator()
    assert generator_for("ollama:smollm2:135m").model == "smollm2:135m", "but it can be named"
    with pytest.raises(ModelUnavailableError, match=r"too small: smollm2:135m; name one"):
        generator_for("ollama")


def test_a_server_named_without_a_model_uses_its_first_usable_one(
    service: ScriptedService, at: Any
) -> None:
    service.pages["/api/tags"] = Reply({"models": OLLAMA["models"][::-1]})
    at(ollama=service)
    assert generator_for("ollama").model == "llama3.2:latest"
    at(ollama="http://127.0.0.1:1/v1")
    with pytest.raises(ModelUnavailableError, match=r"does not answer at .*start it: ollama serve"):
        generator_for("ollama")


GARBAGE = [
    Reply(b"<html>hello"),
    Reply(b""),
    Reply(b"{"),
    Reply(b"[" * 100_000),
    Reply(b'{"object": "list", "data": [' + b"1" * 5_000 + b"]}"),
    Reply([1, 2]),
    Reply({"models": "none"}),
    Reply({"data": [{"id": "a car"}]}),
    Reply({"object": "list", "data": {"id": "x"}}),
    Reply({"error": "no"}, 500),
    Reply(VLLM, 404),
    Reply(b'{"object": "list", "data": []' + b" " * (2 << 20) + b"}"),
    Reply(VLLM, cut=True),
]


@pytest.mark.parametrize("number", range(len(GARBAGE)))
def test_whatever_else_listens_there_is_passed_over(
    number: int, service: ScriptedService, at: Any
) -> None:
    with running() as good:
        good.pages["/v1/models"] = Reply(VLLM)
        service.pages["/v1/models"] = GARBAGE[number]
        at(llamacpp=service, vllm=good)
        assert [server.provider.name for server in find_servers()] == ["vllm"]


def test_names_that_cannot_be_shown_are_left_out(service: ScriptedService, at: Any) -> None:
    ids = ["fine", "", "a\x1b[2Jb", "x" * 300, "two\nlines", 7, None, "also fine"]
    rows = [{"id": name, "details": 3, "meta": {"n_params": "many"}} for name in ids]
    service.pages["/v1/models"] = Reply({"object": "list", "data": [*rows, "row"] * 40})
    at(vllm=service)
    (server,) = find_servers()
    assert {model.name for model in server.models} == {"fine", "also fine"}
    assert len(server.models) <= 100


def test_an_empty_server_says_so(service: ScriptedService, at: Any) -> None:
    service.pages["/api/tags"] = Reply({"models": []})
    at(ollama=service)
    (server,) = find_servers()
    assert (server.models, server.trouble) == ((), "has no model that writes")
    assert available() == []
    with pytest.raises(ModelUnavailableError, match="has no model that writes"):
        generator_for("ollama")


def test_nobody_listens(at: Any) -> None:
    with running() as service:
        url = service.base_url
    at(ollama=url, vllm=url)
    assert find_servers() == []


def test_a_server_that_does_not_answer_is_not_waited_for(service: ScriptedService, at: Any) -> None:
    # It answers only when the test lets it: had it been waited for, nothing would come back.
    silent = Reply(VLLM)
    silent.gate.clear()
    with running() as good:
        good.pages["/api/tags"] = Reply(OLLAMA)
        service.pages["/v1/models"] = silent
        at(ollama=good, vllm=service)
        assert [server.provider.name for server in find_servers()] == ["ollama"]
        silent.gate.set()


def test_a_redirect_is_not_followed(service: ScriptedService, at: Any) -> None:
    with running() as elsewhere:
        elsewhere.pages["/v1/models"] = Reply(VLLM)
        target = {"Location": f"{elsewhere.base_url}/models"}
        service.pages["/v1/models"] = Reply({}, 307, headers=target)
        at(vllm=service)
        assert find_servers() == []
        assert elsewhere.visits == []


def test_what_was_found_is_remembered_for_a_while(
    service: ScriptedService, at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.pages["/v1/models"] = Reply(VLLM)
    at(vllm=service)
    assert find_servers() == find_servers()
    assert len(service.visits) == 1
    monkeypatch.setattr(servers, "_FRESH_SECONDS", 0.0)
    find_servers()
    assert len(service.visits) == 2


def test_many_at_once_ask_once(service: ScriptedService, at: Any) -> None:
    service.pages["/v1/models"] = Reply(VLLM)
    at(vllm=service)
    threads = [threading.Thread(target=find_servers) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(service.visits) == 1


def test_inside_an_event_loop(service: ScriptedService, at: Any) -> None:
    service.pages["/v1/models"] = Reply(VLLM)
    at(vllm=service)

    async def run() -> int:
        return len(find_servers())

    assert asyncio.run(run()) == 1


def test_it_can_be_turned_off(
    service: ScriptedService, at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.pages["/v1/models"] = Reply(VLLM)
    at(vllm=service)
    monkeypatch.setenv("USERALIGN_SERVERS", "Off")
    assert available() == []
    assert service.visits == []


def test_a_server_with_a_key(
    service: ScriptedService, at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.pages["/v1/models"] = Reply({"error": "Unauthorized"}, 401)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-somebody-elses")
    at(vllm=service)
    (server,) = find_servers()
    assert server.trouble == "needs a key in VLLM_API_KEY"
    monkeypatch.setenv("VLLM_API_KEY", "token-abc")
    service.pages["/v1/models"] = Reply(VLLM)
    forget_servers()
    assert find_servers()[0].models
    assert service.visits == [("/v1/models", None), ("/v1/models", "Bearer token-abc")]


def test_addresses_that_a_person_names(
    service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.pages["/v1/models"] = Reply(VLLM)
    service.will(Reply(chat("Soup.")))
    root = service.base_url.removesuffix("/v1")
    monkeypatch.setenv("USERALIGN_SERVERS", f" {root}, ftp://u:secret@example.org/x ,")
    good, bad = find_servers()
    assert "expected http:// or https://" in bad.trouble
    assert "secret" not in repr(bad)
    name = good.name_of(good.models[0])
    assert name == f"{service.base_url}#Qwen/Qwen2.5-7B-Instruct" == default_generator()
    assert ask(name).text == "Soup."


@pytest.mark.parametrize(
    ("value", "url"),
    [
        ("127.0.0.1:9", "http://127.0.0.1:9/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),  # noqa: S104
        ("[::]:9", "http://127.0.0.1:9/v1"),
        ("gpu.local", "http://gpu.local:11434/v1"),
        ("https://gpu.local/ollama/", "https://gpu.local/ollama/v1"),
        ("http://[::1]:9", "http://[::1]:9/v1"),
    ],
)
def test_ollama_where_its_own_variable_says(
    value: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", value)
    assert providers()["ollama"].url == url


def test_a_variable_that_holds_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://")
    monkeypatch.setattr(servers, "_places", lambda: (providers()["ollama"],))
    (server,) = find_servers()
    assert "OLLAMA_HOST 'http:': expected http:// or https://" in server.trouble


@pytest.mark.parametrize(
    ("name", "size", "count"),
    [
        ("qwen2.5-coder-1.5b", None, 1.5e9),
        ("llama3.2:1b", None, 1e9),
        ("134.52M", None, 134.52e6),
        ("Qwen3-30B-A3B-4bit", None, 30e9),
        ("mixtral-8x7b", None, None),
        ("gemma3n:e4b", 3_000_000_000, 5e9),
        ("mystery-q4_k_m", None, None),
        ("mystery", True, None),
        ("mystery", "large", None),
    ],
)
def test_parameters_by_name_or_size(name: str, size: object, count: float | None) -> None:
    assert parameter_count(name, None if size is True else size) == count


def test_a_real_server(weights_of_smollm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smollm = weights_of_smollm.stem
    with LocalServer(weights_of_smollm) as server:
        monkeypatch.setenv("USERALIGN_SERVERS", server.base_url)
        monkeypatch.setenv("USERALIGN_MODEL_KEY", server.key)
        (model,) = available()
        assert (model.name, model.too_small) == (f"{server.base_url}#{smollm}", True)
        assert find_servers()[0].models[0].parameters == pytest.approx(134.5e6, rel=0.01)
        text = ask(model.name, max_tokens=4)
        assert text.model == smollm
        assert text.usage.output_tokens <= 4
