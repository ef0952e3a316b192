import sys
from pathlib import Path

import pytest

from dragoman import Agent
from dragoman.agent.adapter_loading import AGENT_ADAPTERS, AdapterFunction
from dragoman.errors import UsageError


@pytest.mark.parametrize("name", sorted(AGENT_ADAPTERS))
def test_every_adapter_is_where_it_is_said_to_be(name: str) -> None:
    assert callable(AGENT_ADAPTERS[name].load())
    assert callable(getattr(Agent, f"from_{name}"))


def test_what_is_not_installed_is_told_with_the_extra_that_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made_of_nothing.py").write_text("import no_such_framework\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    adapter = AdapterFunction("made_of_nothing", "make", "nothing")
    with pytest.raises(UsageError, match=r"no_such_framework.*pip install 'dragoman\[nothing\]'"):
        adapter("source", {})


def test_a_mistake_of_our_own_is_not_taken_for_a_missing_extra() -> None:
    with pytest.raises(ModuleNotFoundError):
        AdapterFunction("dragoman.adapters.nowhere", "make", "nothing").load()
