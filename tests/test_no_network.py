"""The embedded profile is on this machine alone."""

import subprocess
import sys
from pathlib import Path

from tests.crash.harness import ROOT

PROGRAM = """
import sys
from pathlib import Path

calls = []
def watch(event, arguments):
    # An event loop wakes itself up through a pair of sockets, which is no connection.
    if event in ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        calls.append((event, repr(arguments)))
sys.addaudithook(watch)

from jiyi.sync import AgentMemory
folder = Path(sys.argv[1])
(folder / "workspace").mkdir()
with AgentMemory.open(folder / "data", workspace=folder / "workspace") as memory:
    memory.store("tea", "我喜欢龙井茶")
    assert [hit.key for hit in memory.recall("喝什么茶")] == ["tea"]
    memory.chat("s").put({"role": "user", "content": "hello"})
    memory.notes.memory_append("a note about walruses")
    assert memory.notes.memory_search("walruses")
    memory.runtime.remember("fact", "judged", "because", ["tag"], memory_scope="main")
    memory.longterm.extract_and_store_memories_for_round("main", "s", "我对花生过敏", "记住了")
    memory.run_jobs()
    memory.export_jsonl(folder / "export.jsonl")
    memory.doctor()
assert not calls, calls
"""


def test_the_embedded_profile_opens_no_network_connection(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
