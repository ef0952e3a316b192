"""The test of a module is in its mirror place.

``engine/states.py`` is tested by ``tests/unit/engine/test_states.py``, or by several files that say
which part they are about: ``test_states_canceling.py``. Exceptions are listed here, with the
reason.
"""

from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).resolve().parents[1]
SOURCE: Final = TESTS.parent / "src" / "dragoman"

NO_BEHAVIOUR: Final = frozenset(
    {
        # Ports: what they promise is shown by each implementation.
        "bus/base.py",
        "conformance/interface.py",
        "dialects/base.py",
        "dialects/profiles/base.py",
        "extensions/base.py",
        "server/tasks/watcher.py",
        "service/service.py",
        "service/worker.py",
        "stores/base.py",
        "stores/scope.py",
        "stores/webhooks.py",
        # Values: what happens on a connection, and what may; and the names of ASGI.
        "net/asgi.py",
        "net/http2/protocol/events.py",
        "net/limits.py",
        # Values: the names of members.
        "dialects/profiles/xpr/members.py",
        # Names of an extension, and what a profile adds to a version.
        "dialects/additions.py",
        "model/client_tools.py",
        # Values: what can be asked of a task, and what must then be done.
        "engine/commands.py",
        "engine/effects.py",
    }
)
"""Modules of declarations alone."""

SHOWN_ELSEWHERE: Final = {
    # The checker of agents is shown on live ones, good and broken.
    "cli/commands/conformance.py": "cli/test_conform.py",
    "cli/session/conformance_lines.py": "cli/test_conform.py",
    # The program is shown as a user starts it.
    "__main__.py": "unit/cli/serving/test_serve.py",
    # Public names are loaded lazily, package by package.
    "_lazy.py": "architecture/test_exports.py",
    # Which members of a value are written, and which exclude each other, is one subject.
    "model/cards.py": "unit/model/test_presence.py",
    "model/messages.py": "unit/model/test_presence.py",
    "model/operations.py": "unit/model/test_unions.py",
    "model/parts.py": "unit/model/test_unions.py",
    "model/push.py": "unit/model/test_presence.py",
    "model/security.py": "unit/model/test_unions.py",
    "model/tasks.py": "unit/model/test_presence.py",
    # Commands, and the agent to practise on: shown as their requirements ask for it.
    "cli/commands/auth.py": "cli/test_auth_login.py",
    "cli/commands/auth_login.py": "cli/test_auth_login.py",
    "cli/commands/catalog.py": "cli/test_catalog.py",
    "cli/commands/demo_server.py": "cli/test_demo_server.py",
    "cli/commands/skill.py": "cli/test_skill.py",
    # The calls of a context, made from a thread.
    # What a card declares is what the gate enforces.
    "model/media_types.py": "unit/server/admission/test_content.py",
    # The codec is the door to its dialect: nobody else calls these.
    "dialects/v1_0/card.py": "unit/dialects/v1_0/test_codec.py",
    "dialects/v1_0/decode.py": "unit/dialects/v1_0/test_codec.py",
    "dialects/v1_0/methods.py": "unit/dialects/v1_0/test_codec.py",
    "dialects/v1_0/routes.py": "unit/bindings/test_rest.py",
    # A body that is not UTF-8 is shown on each binding.
    "bindings/base.py": "unit/bindings/test_jsonrpc.py",
    # Buses keep the promises of one port; what only one of them has is shown on a real server.
    "bus/local.py": "contracts/test_bus.py",
    "bus/nats/bus.py": "contracts/test_bus_nats.py",
    # A webhook is registered and told as clients of every version see it.
    "server/webhooks/setup.py": "scenarios/test_push.py",
    "server/webhooks/registrations.py": "scenarios/test_push.py",
    # Stores keep the promises of one port, shown for all of them alike.
    "server/tasks/ending.py": "unit/server/tasks/test_task_end.py",
    # Stores are found by their addresses.
    "stores/memory/address.py": "unit/stores/test_opening.py",
    "stores/postgres/address.py": "unit/stores/test_opening.py",
    "stores/sqlite/address.py": "unit/stores/test_opening.py",
    "stores/memory/store.py": "contracts/test_task_store.py",
    "stores/memory/shared.py": "contracts/test_shared_task_store.py",
    "stores/postgres/commits.py": "unit/stores/postgres/test_store.py",
    "stores/postgres/lookups.py": "unit/stores/postgres/test_store.py",
    "stores/postgres/reader.py": "contracts/test_task_store.py",
    "stores/postgres/rows.py": "contracts/test_task_store.py",
    "stores/memory/webhooks.py": "contracts/test_webhook_store.py",
    "stores/sqlite/lock.py": "unit/stores/sqlite/test_store.py",
    "stores/sqlite/reader.py": "contracts/test_task_store.py",
    "stores/sqlite/rows.py": "contracts/test_task_store.py",
    "stores/shared/states.py": "contracts/test_task_store.py",
    "stores/shared/webhook_rows.py": "contracts/test_webhook_store.py",
    "stores/sqlite/writer.py": "contracts/test_task_store.py",
}
"""Modules whose behaviour is shown by another test than their own."""

NO_MODULE: Final = frozenset(
    {
        # What skills do with models of pydantic, through all of the authoring API.
        "unit/agent/test_pydantic.py",
        # What the older forms cannot carry, by the table in tests/support/losses.py, and round
        # trips of all of the model.
        "unit/dialects/test_card_losses.py",
        "unit/dialects/test_losses.py",
        "unit/dialects/profiles/xpr/test_losses.py",
        "unit/dialects/test_roundtrips.py",
        # Recorded messages of 0.2 and 0.3.
        "unit/dialects/v0_3/test_vectors.py",
        # Every wire object of 1.0: round trips, a vector, a rejected twin per required field.
        "unit/dialects/v1_0/test_required.py",
        "unit/dialects/v1_0/test_roundtrip.py",
        "unit/dialects/v1_0/test_vectors.py",
        # The scripts in migrations/, from every version on.
        "unit/stores/sqlite/test_migrations.py",
        # Rules that hold for all values of the model.
        "unit/model/test_presence.py",
        "unit/model/test_unions.py",
    }
)
"""Unit tests of a subject that is no single module."""

MODULES: Final = tuple(
    path.relative_to(SOURCE).as_posix()
    for path in sorted(SOURCE.rglob("*.py"))
    if path.name != "__init__.py"
)
UNIT_TESTS: Final = tuple(
    path.relative_to(TESTS).as_posix() for path in sorted(TESTS.glob("unit/**/test_*.py"))
)


def module_of(test: str) -> str:
    """Return the module that a test is about: the longest one that its name begins with, or ""."""
    folder, _, name = test.removeprefix("unit/").rpartition("/")
    words = name.removeprefix("test_").removesuffix(".py").split("_")
    for count in range(len(words), 0, -1):
        module = "/".join(part for part in (folder, f"{'_'.join(words[:count])}.py") if part)
        if module in MODULES:
            return module
    return ""


TESTED: Final = frozenset(module_of(test) for test in UNIT_TESTS)
EXPECTED: Final = tuple(
    module for module in MODULES if module not in NO_BEHAVIOUR and module not in SHOWN_ELSEWHERE
)


@pytest.mark.parametrize("module", EXPECTED)
def test_every_module_has_its_test(module: str) -> None:
    assert module in TESTED


@pytest.mark.parametrize("test", [test for test in UNIT_TESTS if test not in NO_MODULE])
def test_every_test_has_its_module(test: str) -> None:
    assert module_of(test)


@pytest.mark.parametrize(("module", "test"), SHOWN_ELSEWHERE.items())
def test_what_is_shown_elsewhere_is_shown(module: str, test: str) -> None:
    assert module in MODULES
    assert (TESTS / test).is_file()


def test_no_exception_has_become_needless() -> None:
    excepted = {*NO_BEHAVIOUR, *SHOWN_ELSEWHERE}
    assert excepted <= set(MODULES)
    assert set(UNIT_TESTS) >= NO_MODULE
    assert sorted(excepted & TESTED) == []
    assert [test for test in NO_MODULE if module_of(test)] == []
