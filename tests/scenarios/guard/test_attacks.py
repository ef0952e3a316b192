"""Every attack on every operation, in every version, over every binding, by every scheme.

One server for each scheme hears all of them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import pytest

from dragoman.stores.memory.store import MemoryTaskStore
from dragoman.testing.clock import FakeClock
from tests.scenarios.bindings import Binding, HttpJson
from tests.scenarios.guard.attacks import (
    BAD_TOKENS,
    MATRIX,
    SCHEMES,
    Attack,
    Cell,
    Scheme,
)
from tests.scenarios.guard.callers import ByKey, ByToken, Callers
from tests.scenarios.guard.counting import Asked, counted
from tests.scenarios.guarding import (
    LINES,
    PEOPLE,
    PUSH,
    SENDS,
    Ask,
    Heard,
    Line,
    Verdict,
    call_of,
    guarded_agent,
    hear,
)
from tests.scenarios.old_wire import V0_1
from tests.support.auth.issuing import issuing
from tests.support.serving import serving
from tests.support.wire import Json, message

REASONS = {
    Attack.WRONG_CREDENTIALS: "it is not signed with a key of the issuer",
    Attack.EXPIRED: "it has expired (exp)",
    Attack.NOT_YET_VALID: "it is not good yet (nbf, iat)",
    Attack.WRONG_AUDIENCE: "it is for https://another.example (aud), not for us",
    Attack.WRONG_ISSUER: "it is not from the issuer",
    Attack.UNSIGNED: "it is no signed JWT: that has three parts",
    Attack.NONE_BUT_SIGNED: "it is signed with 'none', not accepted here",
    Attack.KEY_CONFUSION: "it is signed with 'HS256', not accepted here",
    Attack.KEY_OF_ITS_OWN: "it is not signed with a key of the issuer",
}
"""Why a token is refused, as the log has it; so each is refused for what is wrong with it."""


class Target(NamedTuple):
    """A server under attack, and what can be seen of what it does.

    Attributes:
        ran: the skills that were begun.
        people: a client of everybody who is known.
        wires: a client of nobody for every line, by its name.
    """

    callers: Callers
    asked: Asked
    ran: list[str]
    people: dict[str, HttpJson]
    wires: dict[str, Binding]

    async def begin(self, name: str) -> str:
        """Begin a task that waits for its owner, and return its id."""
        return (await self.people[name].task(message(metadata={"skillId": "ask"})))["id"]


@pytest.fixture(scope="module")
async def targets() -> AsyncIterator[dict[Scheme, Target]]:
    """A server for each scheme."""
    async with AsyncExitStack() as stack:
        issuer = await stack.enter_async_context(issuing(FakeClock(), "RS256"))
        found: dict[Scheme, Target] = {}
        callers: list[Callers] = [ByKey(), ByToken(issuer)]
        for each in callers:
            ran: list[str] = []
            store, asked = counted(MemoryTaskStore())
            agent = guarded_agent([each.authenticator], ran)
            # All attacks come from one address, so how many it may make is not limited here.
            served = await stack.enter_async_context(
                serving(agent, store=store, rate_limit_refusals="", shutdown_grace_seconds=0)
            )
            people = {
                person.owner: await stack.enter_async_context(
                    HttpJson(served.url, {"A2A-Version": "1.0", **each.good(person.owner)})
                )
                for person in PEOPLE.values()
            }
            wires = {
                line.name: await stack.enter_async_context(line.connect(served.url))
                for line in LINES
            }
            found[each.scheme] = Target(each, asked, ran, people, wires)
        yield found


@pytest.fixture
def cell(request: pytest.FixtureRequest) -> Cell:
    """One of the matrix."""
    return request.param


@pytest.fixture
def target(targets: dict[Scheme, Target], cell: Cell) -> Target:
    """What it is aimed at."""
    return targets[cell.scheme]


def entries_in(audit: pytest.LogCaptureFixture) -> list[Json]:
    return [record.__dict__["audit"] for record in audit.records if "audit" in record.__dict__]


async def aimed(target: Target, cell: Cell) -> Ask:
    """Return what an attack asks for: something about a task that exists, and is somebody's."""
    if cell.attack is Attack.NOT_PERMITTED:
        if cell.operation in SENDS:
            return Ask(cell.operation, skill="vault")
        return Ask(cell.operation, await target.begin(cell.attacker))
    is_tenant_named = cell.attack is Attack.OTHER_TENANT and cell.line.version == "1.0"
    tenant = "umbrella" if is_tenant_named else ""
    return Ask(cell.operation, await target.begin("ada"), tenant=tenant)


def assert_refused(heard: Heard, cell: Cell, challenge: str) -> None:
    """See that a refusal has the number, the status and the challenge of its binding."""
    line, verdict = cell.line, cell.verdict
    assert heard.code == line.code(verdict, cell.operation), heard.body
    assert heard.http == line.status(verdict), heard.body
    is_challenged = verdict is Verdict.UNAUTHENTICATED
    if line.binding != "gRPC":
        assert heard.challenges == ([challenge] if is_challenged else [])
    elif line.version == "1.0" and is_challenged:  # In 0.3 it is a number and a text.
        [info] = [each for each in error_in(heard)["details"] if "reason" in each]
        assert info["metadata"]["wwwAuthenticate"] == challenge


def error_in(heard: Heard) -> Any:
    return heard.about()["error"]


async def assert_as_it_was(target: Target, task_id: str) -> None:
    """See that a task still waits for Ada, and has heard nothing but its first message."""
    task = await target.people["ada"].get_task(task_id)
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert [said["role"] for said in task["history"]].count("ROLE_USER") == 1


@pytest.mark.requirement("R-7.4-1", "R-7.4-2", "R-13.1-1", "R-13.1-2", "R-3.3.2-6")
@pytest.mark.parametrize("cell", MATRIX, ids=[cell.name for cell in MATRIX], indirect=True)
async def test_an_attack_is_refused_as_its_binding_says_and_nothing_is_done(
    target: Target, cell: Cell, audit: pytest.LogCaptureFixture
) -> None:
    wish = await aimed(target, cell)
    callers = target.callers
    is_known = not cell.attack.is_at_the_door
    shown = callers.good(cell.attacker) if is_known else callers.bad(cell.attack)
    wire = target.wires[cell.line.name]
    target.asked.clear()
    target.ran.clear()
    audit.clear()
    heard = await hear(wire, *call_of(wire, wish), shown)
    [entry] = entries_in(audit)
    if cell.verdict is Verdict.ITS_OWN:
        assert heard.code is None, heard.body
        assert cell.operation in SENDS or wish.task_id not in heard.body
        assert entry["outcome"] == "accepted"
    else:
        assert_refused(heard, cell, callers.challenge(cell.attack))
        assert entry["outcome"] == "refused"
        assert entry["who"] == (cell.attacker if is_known else "")
        assert (target.ran, target.asked.writes) == ([], [])
    if not is_known:
        assert target.asked.names == []
    if cell.operation in SENDS and cell.attack is Attack.NOT_PERMITTED:
        assert "this needs the scope vault:open" in entry["detail"]
    if cell.attack is not Attack.NOT_PERMITTED:
        await assert_as_it_was(target, wish.task_id)


GOOD = [
    pytest.param(scheme, line, operation, id=f"{scheme.name}-{line.name}-{operation}")
    for scheme in SCHEMES
    for line in LINES
    for operation in line.operations
]


@pytest.mark.parametrize(("scheme", "line", "operation"), GOOD)
async def test_the_same_call_with_good_credentials_is_served(
    targets: dict[Scheme, Target], scheme: Scheme, line: Line, operation: str
) -> None:
    target = targets[scheme]
    wish = Ask(operation, await target.begin("ada"))
    heard = await asked_by_owner(target, target.wires[line.name], wish)
    if operation == "GetTaskPushNotificationConfig":
        # Of her own task she hears that it has no such webhook, in the words of the reference: 0.1
        # says null.
        none = None if line.kind is V0_1 else line.code(Verdict.NOT_FOUND, operation)
        assert heard.code == none, heard.body
    elif operation == "CreateTaskPushNotificationConfig":
        # What is wrong with it, if the name cannot be looked up here, is the address.
        assert heard.code is None or "url" in heard.body, heard.body
    elif operation in PUSH:
        assert heard.code is None, heard.body
    else:
        assert heard.code is None, heard.body
        is_about_it = operation != "GetExtendedAgentCard"
        assert (wish.task_id in heard.body) == is_about_it


async def asked_by_owner(target: Target, wire: Binding, wish: Ask) -> Heard:
    """Ask for a task of one's own. A stream of one that waits does not end: it has one frame."""
    call, shown = call_of(wire, wish), target.callers.good("ada")
    if wish.operation != "SubscribeToTask":
        return await hear(wire, *call, shown)
    async with wire.open(*call, headers=shown) as frames:
        return Heard(200, None, json.dumps((await anext(frames)).data), [])


@pytest.mark.parametrize("line", LINES, ids=[line.name for line in LINES])
async def test_what_is_wrong_with_a_token_is_told_to_the_log_alone(
    targets: dict[Scheme, Target], line: Line, audit: pytest.LogCaptureFixture
) -> None:
    target = targets[Scheme.JWT]
    answers: list[tuple[int, list[str], Json]] = []
    wire = target.wires[line.name]
    call = call_of(wire, Ask("GetTask", await target.begin("ada")))
    audit.clear()
    for attack in BAD_TOKENS:
        heard = await hear(wire, *call, target.callers.bad(attack))
        answers.append((heard.http, heard.challenges, heard.about()))
    assert answers == [answers[0]] * len(BAD_TOKENS)
    details = [entry["detail"] for entry in entries_in(audit)]
    reasons = [REASONS[attack] for attack in BAD_TOKENS]
    assert [found[: len(wanted)] for found, wanted in zip(details, reasons, strict=True)] == reasons


def test_the_matrix_leaves_out_no_operation_of_any_line() -> None:
    for attack in Attack:
        for scheme in attack.schemes:
            made = [
                (cell.line.name, cell.operation)
                for cell in MATRIX
                if (cell.scheme, cell.attack) == (scheme, attack)
            ]
            assert made == [(line.name, each) for line in LINES for each in line.operations]
