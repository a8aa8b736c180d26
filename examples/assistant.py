"""An assistant that remembers, with any OpenAI-compatible server.

python examples/assistant.py http://localhost:8080/v1 qwen3
"""

import sys

from jiyi.sync import AgentMemory


def main(base_url: str, model: str, data: str = "./data") -> None:
    """Talk until the end of the input. Tomorrow it knows what was said today."""
    with AgentMemory.open(data, llm="openai-compatible", llm_base_url=base_url, llm_model=model) as memory:
        agent = memory.agent()  # today's session; the memory is the same every day
        for line in sys.stdin:
            if not line.strip():
                continue
            for piece in agent.reply(line.strip()):
                print(piece, end="", flush=True)
            print()
        agent.close()  # what is worth keeping is found and kept


if __name__ == "__main__":
    main(*sys.argv[1:])
