"""A bot: it asks everybody who writes to it, many at once, and answers with what fits them."""

import asyncio
from collections import defaultdict

import useralign as ua

DISHES = [
    "A hot curry.",
    "A mild soup.",
    "Sweet pancakes.",
    "Crisp salad.",
    "Roast fish.",
    "Ramen.",
]
inbox: defaultdict[str, asyncio.Queue[str]] = defaultdict(asyncio.Queue)  # your messenger's


async def send(person: str, text: str) -> None:
    """Send a message; here it is printed."""
    print(f"to {person}: {text}")


async def serve(person: str, question: str) -> None:
    """Ask somebody a few screens, and send them their answer."""

    async def ask(screen: ua.Comparison) -> ua.Candidate | str:
        await send(person, " ".join(f"{n}) {c.text}" for n, c in enumerate(screen.candidates, 1)))
        key = await inbox[person].get()
        return screen.candidates[int(key) - 1] if key.isdecimal() else "neither"

    session = await ua.personalise_async(question, DISHES, ask=ask)
    await send(person, f"Yours: {session.best.text}")


async def main() -> None:
    """Serve two people at once, who type ahead."""
    for person, keys in (("Ada", "1n12134123"), ("Bo", "2211111111")):
        for key in keys:
            inbox[person].put_nowait(key)
    await asyncio.gather(serve("Ada", "Dinner?"), serve("Bo", "Supper?"))


if __name__ == "__main__":
    asyncio.run(main())
