"""An application of the OpenAI client whose answers fit the person, after they chose once or twice.

    useralign serve                                  # in front of the model that you have
    OPENAI_BASE_URL=http://127.0.0.1:8000/v1 OPENAI_API_KEY=key python endpoint.py

That address is all that changes. To learn, it shows the alternatives and sends back the choice.
"""

import os

from openai import OpenAI

client = OpenAI()  # the key is one of `useralign serve keys add NAME`
model = os.environ.get("MODEL", "gpt-4o-mini")

while question := input("\nYou: ").strip():
    reply = client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": question}], user="ada"
    )
    print(f"\nModel: {reply.choices[0].message.content}")

    more = (reply.model_extra or {})["useralign"]  # the alternatives, and where to send the choice
    if more["session"] is None:
        continue
    print("\n".join(f"  {one['index']}. {one['content']}" for one in more["alternatives"]))
    if key := input("Would you rather have had one of these? ").strip():
        told = {"user": "ada", "session": more["session"], "choice": int(key)}
        client.post("/feedback", cast_to=object, body=told)
