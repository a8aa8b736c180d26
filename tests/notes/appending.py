"""A process that appends to a workspace and says what was acknowledged: tests.notes.appending DATA WORKSPACE NAME N"""

import sys
from datetime import UTC, datetime

from jiyi.sync import AgentMemory

# All entries are of one day, also when midnight passes.
AT = datetime(2026, 11, 16, 12, tzinfo=UTC)


def main() -> None:
    data, workspace, name, count = sys.argv[1:]
    with AgentMemory.open(
        data, workspace=workspace, embedder="none", background_indexing=False, time_zone="UTC"
    ) as memory:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(int(count)):
            text = f"{name} 第 {number} 条\n---\n# not a heading {'长' * (number % 50)}"
            print(memory.notes.memory_append(text, source=f"{name}/{number}", at=AT).id, flush=True)


if __name__ == "__main__":
    main()
