from pathlib import Path

from dragoman.adapters.notebook import Notebook
from dragoman.adapters.pydantic_ai import NotedConversations

ANN = ("", "ann", "c-1")
BOB = ("", "bob", "c-1")


async def test_entries_come_in_order_and_survive(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/notes.db"
    notebook = Notebook(url)
    conversations = NotedConversations(notebook)
    await conversations.add(ANN, "run-1", b"one")
    await conversations.add(ANN, "run-2", b"two")
    notebook.close()
    later = Notebook(url)
    assert await NotedConversations(later).read(ANN) == [b"one", b"two"]
    assert await NotedConversations(later).read(ANN, 1) == [b"one"]
    later.close()


async def test_a_run_is_noted_once() -> None:
    conversations = NotedConversations(Notebook("memory:"))
    await conversations.add(ANN, "run-1", b"one")
    await conversations.add(ANN, "run-1", b"one, again")
    assert await conversations.read(ANN) == [b"one"]


async def test_nobody_reads_the_conversation_of_somebody_else() -> None:
    conversations = NotedConversations(Notebook("memory:"))
    await conversations.add(ANN, "run-1", b"secret")
    assert await conversations.read(BOB) == []
