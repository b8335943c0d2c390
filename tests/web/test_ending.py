"""The last page: a shortlist, and what may come after it."""

from __future__ import annotations

import re

import pytest

from tests.web.browser import Browser, Page
from tests.web.test_pages import answered
from useralign.store import Interactions, Store, digest


def session_id(page: Page) -> str:
    return page.path.split("?")[0].rpartition("/")[2]


def finals(page: Page) -> list[int]:
    """Return the candidates that can be taken: the winner, the runners-up, then all in order."""
    return [int(k) for k in re.findall(r'value="final-(\d+)"', page.text)]


def test_the_shortlist_and_all_answers_in_order(browser: Browser, store: Store) -> None:
    end = browser.finish(browser.begin(method="few"))
    owner = digest(browser.client.cookies["useralign"])
    session = Interactions(store).open(session_id(end), owner).session
    ranking = [candidate.index for candidate in session.ranking]
    assert finals(end) == [*ranking[:3], *ranking[1:]]
    assert len(end.bodies) == 3
    assert "Two more screens" in end.text
    price = re.search(r"about (\d+) more question", end.text)
    assert price
    assert int(price[1]) == session.proof_price()
    assert "More like this" not in end.text  # there is no model here


@pytest.mark.parametrize("place", [0, 1, 2, 9])
def test_this_one(browser: Browser, store: Store, place: int) -> None:
    end = browser.finish(browser.begin(method="few"))
    wanted = finals(end)[place]
    chosen = browser.answer(end, f"final-{wanted}")
    assert "Your choice" in chosen.text
    assert "Change my mind" in chosen.text
    assert browser.answer(end, f"final-{wanted}").text == chosen.text  # sent twice
    session = (
        Interactions(store)
        .open(session_id(end), digest(browser.client.cookies["useralign"]))
        .session
    )
    assert (session.best.index, session.stop_reason) == (wanted, "chosen")
    assert chosen.bodies[0] == browser.get(chosen.path).bodies[0]
    assert [kind for _, kind in answered(store)][-1] == "final"
    back = browser.answer(chosen, "undo")
    assert finals(back) == finals(end)


def test_another_choice_after_the_first(browser: Browser, store: Store) -> None:
    end = browser.finish(browser.begin(method="few"))
    first, second, third, *_ = finals(end)
    chosen = browser.answer(end, f"final-{second}")
    other = browser.answer(chosen, f"final-{third}")
    assert other.bodies[0] in end.bodies
    owner = digest(browser.client.cookies["useralign"])
    session = Interactions(store).open(session_id(end), owner).session
    assert session.best.index == third
    assert [answer.kind for answer in session.answers].count("final") == 1
    assert finals(browser.answer(other, "undo"))[0] == first


def test_a_choice_after_good_enough_is_taken_back_first(browser: Browser) -> None:
    stopped = browser.answer(browser.answer(browser.begin(method="few")), "stop")
    chosen = browser.answer(stopped, f"final-{finals(stopped)[1]}")
    again = browser.answer(chosen, "undo")
    assert again.over
    assert again.bodies == stopped.bodies
    assert not browser.answer(again, "undo").over


def test_two_more_screens(browser: Browser) -> None:
    end = browser.finish(browser.begin(method="few"))
    count = int(re.findall(r"after (\d) screen", end.text)[0])
    more = browser.answer(end, "go_on")
    assert not more.over
    assert f"{count + 1} of about {count + 2}" in more.text
    assert browser.answer(end, "go_on").bodies == more.bodies  # sent twice
    last = browser.answer(more)
    assert f"{count + 2} of {count + 2}" in last.text
    assert f"after {count + 2} screens" in browser.answer(last).text


def test_two_more_screens_can_be_undone(browser: Browser) -> None:
    end = browser.finish(browser.begin(method="few"))
    back = browser.answer(browser.answer(end, "go_on"), "undo")
    assert (back.over, back.bodies) == (True, end.bodies)


def test_a_proof(browser: Browser, store: Store) -> None:
    end = browser.finish(browser.begin(method="few"))
    price = int(re.findall(r"about (\d+) more question", end.text)[0])
    page = browser.answer(end, "prove")
    assert len(page.bodies) == 2
    asked = 0
    while not page.over:
        page, asked = browser.answer(page), asked + 1
    assert "No other answer here can suit you better" in page.text
    assert "Prove it" not in page.text
    assert "Two more screens" not in page.text
    assert asked >= 1
    assert price >= 1
    kinds = [kind for _, kind in answered(store)]
    assert kinds.count("prove") == 1


def test_somebody_to_whom_all_is_equal(browser: Browser) -> None:
    page = browser.begin(method="few")
    for _ in range(3):
        page = browser.answer(page, "equal")
    assert page.over
    assert "These are equally good for you." in page.text
    page = browser.begin(method="few")
    for _ in range(5):
        page = browser.answer(page, "neither")
    assert page.over
    assert "None of those you saw was right for you." in page.text


@pytest.mark.parametrize(
    ("count", "response", "ending"),
    [
        (4, "equal", "These are equally good for you."),
        (4, "neither", "None of those you saw was right for you."),
        (5, "neither", "It is the only one left."),
    ],
)
def test_an_end_without_a_favourite_promises_nothing(
    browser: Browser, count: int, response: str, ending: str
) -> None:
    names = "\n".join(["Anna", "Bert", "Carla", "Doris", "Emil"][:count])
    page = browser.answer(browser.begin("Which name?", list=names, method="few"), response)
    assert page.over
    assert ending in page.text
    assert "% sure" not in page.text


@pytest.mark.parametrize("response", ["final-99", "final--1", "final-", "final", "8", "proof"])
def test_what_cannot_be_chosen(browser: Browser, store: Store, response: str) -> None:
    end = browser.finish(browser.begin(method="few"))
    before = answered(store)
    page = browser.answer(end, response)
    assert page.over
    assert page.status == 200
    assert answered(store) == before


TEXTS = [f"An answer about {word}." for word in ("tea", "rice", "figs", "oats", "corn", "plums")]


def test_the_api_ends_the_same_way(browser: Browser) -> None:
    client = browser.client
    pool = client.post("/api/pools", json={"question": "Which?", "texts": TEXTS}).json()
    session = client.post("/api/sessions", json={"pool": pool["id"], "seed": 1}).json()
    assert (session["method"], session["shown"], session["budget"]) == ("frugal", 4, 5)
    screen = session["comparison"]
    assert screen["expected_screens"] == 2
    path = f"/api/sessions/{session['id']}"
    while screen["finished"] is None:
        body = {"step": screen["step"], "winner": screen["candidates"][0]["id"]}
        screen = client.post(f"{path}/answers", json=body).json()
    result = client.get(f"{path}/result").json()
    assert [item["id"] for item in result["shortlist"]] == result["ranking"][:3]
    assert result["answer"]["id"] == result["ranking"][0]
    assert result["why"].startswith("You ")
    step = screen["step"]
    if result["proof_price"]:
        proof = client.post(f"{path}/answers", json={"step": step, "kind": "prove"}).json()
        assert len(proof["candidates"]) == 2
        step = proof["step"]
    body = {"step": step, "kind": "final", "winner": result["ranking"][2]}
    chosen = client.post(f"{path}/answers", json=body)
    assert chosen.json()["finished"] == "chosen"
    assert client.post(f"{path}/answers", json=body).json() == chosen.json()
    assert client.get(f"{path}/result").json()["answer"]["id"] == result["ranking"][2]
    more = client.post(f"{path}/answers", json={"step": step + 1, "kind": "go_on"}).json()
    assert more["finished"] in (None, "exhausted")
    wrong = {"step": more["step"], "kind": "final", "winner": "nobody"}
    reply = client.post(f"{path}/answers", json=wrong)
    assert reply.status_code == 422
    assert "any candidate" in reply.json()["detail"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"method": "useralign"}, ("useralign", 2, None)),
        ({"budget": 3}, ("frugal", 4, 3)),
        ({"shown": 3}, ("frugal", 3, 5)),
        ({"shown": None, "budget": None}, ("frugal", 4, None)),
        ({"options": {"sure": 0.5}}, ("frugal", 4, 5)),
    ],
    ids=str,
)
def test_what_is_given_takes_the_place_of_the_presets(
    browser: Browser, options: dict[str, object], expected: tuple[object, ...]
) -> None:
    client = browser.client
    pool = client.post("/api/pools", json={"question": "Which?", "texts": TEXTS}).json()
    session = client.post("/api/sessions", json={"pool": pool["id"], **options}).json()
    assert (session["method"], session["shown"], session["budget"]) == expected
