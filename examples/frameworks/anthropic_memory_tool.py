"""Claude's memory tool on a memory. The calls are those that Claude would make; with a key, pass the tool to a client.

Needs: pip install 'jiyi[anthropic]'
"""

import tempfile

from jiyi.integrations.anthropic import JiyiMemoryTool
from jiyi.sync import AgentMemory


def main() -> None:
    """A file is written, corrected, read, and recalled like every other memory."""
    with tempfile.TemporaryDirectory() as folder, AgentMemory.open(folder) as memory:
        tool = JiyiMemoryTool(memory, scope="ann")
        # client.beta.messages.run_tools(model="…", max_tokens=1024, messages=[…], tools=[tool]).until_done()
        path = "/memories/family.md"
        print(tool.call({"command": "create", "path": path, "file_text": "Paula is allergic to penicillin"}))
        tool.call({"command": "str_replace", "path": path, "old_str": "penicillin", "new_str": "peanuts"})
        print(tool.call({"command": "view", "path": path}))
        for hit in memory.recall("What is Paula allergic to?", scope="ann", limit=1):
            print("recalled:", hit.content)


if __name__ == "__main__":
    main()
