"""A message history and a retriever of LangChain on a memory.

Needs: pip install 'jiyi[langchain]'
"""

import tempfile

from langchain_core.messages import AIMessage, HumanMessage

from jiyi.integrations.langchain import JiyiChatMessageHistory, JiyiRetriever
from jiyi.sync import AgentMemory


def main() -> None:
    """What was said comes back, and is found from another conversation."""
    with tempfile.TemporaryDirectory() as folder, AgentMemory.open(folder) as memory:
        history = JiyiChatMessageHistory("monday", memory, scope="ann")
        history.add_messages([HumanMessage("My locker is 4711"), AIMessage("I will remember that")])
        print([message.content for message in history.messages])
        documents = JiyiRetriever(memory=memory, scope="ann", limit=1).invoke("Which locker is mine?")
        print(documents[0].page_content)


if __name__ == "__main__":
    main()
