"""A process that works on notes until it is killed, and says what is done: tests.crash.notes_worker DATA WS SEED"""

import random
import sys
from pathlib import Path

from jiyi.sync import AgentMemory


def text_of(name: str) -> str:
    """What is written under a name; long enough now and then that a write takes several pages."""
    chance = random.Random(name)
    return f"{name}\n---\n# {'一条很长的笔记 ' * chance.choice([1, 1, 5, 5, 300, 900])}\n```"


def main() -> None:
    data, workspace, seed = sys.argv[1:]
    chance = random.Random(seed)
    with AgentMemory.open(
        data,
        workspace=workspace,
        embedder="none",
        background_indexing=False,
        time_zone="UTC",
        max_note_day_bytes=1 << 26,
        max_note_file_bytes=1 << 26,
    ) as memory:
        print("ready", flush=True)
        for number in range(10_000):
            step = chance.choices(("append", "edit", "reindex", "take"), (6, 2, 2, 1))[0]
            if step == "append":
                name = f"{seed}-{number}"
                done = memory.notes.memory_append(text_of(name))
                print(f"appended {name} {done.id}", flush=True)
            elif step == "edit":
                Path(workspace, f"memory/topic-{chance.randrange(5)}.md").write_text(
                    "\n\n".join(f"# Part {n}\n\n{chance.random()}" for n in range(chance.randrange(1, 40))), "utf-8"
                )
            elif step == "reindex":
                memory.notes.reindex()
                memory.drain()
            else:
                for note in memory.notes.take_candidates(limit=3).written:
                    print(f"taken {note.id}", flush=True)


if __name__ == "__main__":
    main()
