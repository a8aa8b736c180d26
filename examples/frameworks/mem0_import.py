"""A program written for mem0 that runs on jiyi: only the import has changed. No model and no key are needed."""

import tempfile

from jiyi.compat.mem0 import Memory  # in place of: from mem0 import Memory


def main() -> None:
    """Add, search and correct, as with mem0."""
    with tempfile.TemporaryDirectory() as folder, Memory(folder) as memory:
        memory.add("I am allergic to penicillin.", user_id="alice")
        added = memory.add("Prefers tea", user_id="alice", metadata={"kind": "drink"}, infer=False)["results"][0]
        memory.update(added["id"], "Prefers green tea")
        for found in memory.search("What am I allergic to?", filters={"user_id": "alice"}, top_k=1)["results"]:
            print(found["memory"])
        for found in memory.get_all(filters={"user_id": "alice", "kind": "drink"})["results"]:
            print(found["memory"], [change["event"] for change in memory.history(found["id"])])


if __name__ == "__main__":
    main()
