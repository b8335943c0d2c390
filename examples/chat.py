"""A chat that asks which of two answers you like better, until it knows which one you want.

Set OPENAI_API_KEY; for a service other than OpenAI's, OPENAI_BASE_URL and MODEL, too.
"""

import os

from openai import OpenAI

import useralign as ua

client = OpenAI()
model = os.environ.get("MODEL", "gpt-4o-mini")


def answers(question: str, count: int = 8) -> list[str]:
    """Ask the model several times, and drop what it repeats."""
    asked = f"{question} Answer in one sentence."
    replies = (
        client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": asked}], temperature=1, max_tokens=60
        )
        for _ in range(count)
    )
    texts = [reply.choices[0].message.content or "" for reply in replies]
    return list(dict.fromkeys(text.strip() for text in texts if text.strip()))


while question := input("\nYou: ").strip():
    session = ua.Session(ua.Pool.from_texts(question, answers(question)), budget=5, seed=None)
    while (pair := session.ask()) is not None:
        print(f"\n1. {pair.first.text}\n2. {pair.second.text}")
        key = input("Which is better, 1 or 2? ").strip()
        session.tell(pair.second if key == "2" else pair.first)
    print(f"\nModel: {session.best.text}")
