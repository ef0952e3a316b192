from collections.abc import Awaitable

import pytest

from dragoman.errors import PermissionDeniedError, UnavailableError
from dragoman.model.operations import Operation
from dragoman.server.admission.authorization import Access, AccessRequest
from dragoman.service.principal import Principal
from dragoman.service.service import Call

ADA = Principal(owner="ada", scopes=frozenset({"read"}))
CALL = Call(principal=ADA, tenant="acme")


async def test_without_a_policy_everything_is_allowed() -> None:
    access = Access()
    assert not access.is_restricted
    await access.check(Operation.CANCEL_TASK, CALL, "echo")


async def test_a_policy_is_told_who_wants_what_and_where() -> None:
    seen: list[AccessRequest] = []

    def policy(request: AccessRequest) -> bool:
        seen.append(request)
        return True

    access = Access(policy)
    assert access.is_restricted
    await access.check(Operation.GET_TASK, CALL, "echo")
    await access.check(Operation.LIST_TASKS, CALL)
    assert seen == [
        AccessRequest(
            principal=ADA, operation=Operation.GET_TASK, tenant="acme", skill_id="echo", owner="ada"
        ),
        AccessRequest(principal=ADA, operation=Operation.LIST_TASKS, tenant="acme", owner="ada"),
    ]


@pytest.mark.parametrize("answer", [False, None, 1, "yes", 0])
async def test_anything_but_true_refuses(answer: object) -> None:
    def policy(request: AccessRequest) -> bool:
        del request
        return answer  # type: ignore[return-value] - what a careless author writes

    with pytest.raises(PermissionDeniedError):
        await Access(policy).check(Operation.SEND_MESSAGE, CALL)


@pytest.mark.parametrize("verdict", [True, False])
async def test_a_policy_may_take_its_time(verdict: bool) -> None:  # noqa: FBT001 - a column
    async def ask_elsewhere() -> bool:
        return verdict

    def policy(request: AccessRequest) -> Awaitable[bool]:
        del request
        return ask_elsewhere()

    assert await Access(policy).allows(Operation.SEND_MESSAGE, CALL) is verdict


async def test_what_a_policy_raises_is_told_as_it_is() -> None:
    def policy(request: AccessRequest) -> bool:
        raise UnavailableError(f"nobody knows {request.principal.owner} now")

    with pytest.raises(UnavailableError, match="nobody knows ada now"):
        await Access(policy).check(Operation.SEND_MESSAGE, CALL)


async def test_without_sharing_a_call_is_in_the_records_of_its_caller() -> None:
    access = Access()
    assert not access.is_shared
    assert await access.shared(Operation.GET_TASK, CALL) is CALL
    assert CALL.owner == "ada"


async def test_whoever_shares_records_is_named_for_an_operation_and_a_tenant() -> None:
    def share(request: AccessRequest) -> str | None:
        is_reading = request.operation in (Operation.GET_TASK, Operation.LIST_TASKS)
        return "team" if request.tenant == "acme" and is_reading else None

    access = Access(sharing=share)
    assert access.is_shared
    assert (await access.shared(Operation.GET_TASK, CALL)).owner == "team"
    assert (await access.shared(Operation.CANCEL_TASK, CALL)).owner == "ada"
    assert (await access.shared(Operation.GET_TASK, Call(principal=ADA))).owner == "ada"


@pytest.mark.parametrize("answer", [None, ""])
async def test_no_name_leaves_the_caller_with_its_own(answer: str | None) -> None:
    async def ask_elsewhere(request: AccessRequest) -> str | None:
        del request
        return answer

    assert (await Access(sharing=ask_elsewhere).shared(Operation.GET_TASK, CALL)).owner == "ada"


async def test_a_policy_is_told_in_whose_records_a_call_works() -> None:
    seen: list[str] = []

    def policy(request: AccessRequest) -> bool:
        seen.append(request.owner)
        return True

    access = Access(policy, sharing=lambda _: "team")
    await access.check(Operation.GET_TASK, await access.shared(Operation.GET_TASK, CALL), "echo")
    assert seen == ["team"]
