"""Which version a request is served in: header, query, silence, rubbish."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.scenarios.agents import make_agent
from tests.scenarios.bindings import Binding, HttpJson, JsonRpc, drain, expect
from tests.support.serving import Served, serving
from tests.support.wire import Json, message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping


async def list_with(wire: Binding, headers: Mapping[str, str], query: str = "") -> Json:
    """Perform the simplest operation with these headers and this query, and nothing else."""
    request = wire.request("ListTasks", {}, headers)
    request.url = request.url.copy_with(query=query.encode())
    return wire.result(await wire.http.send(request))


@pytest.fixture(scope="module")
async def strict_agent() -> AsyncIterator[Served]:
    async with serving(make_agent(), strict_versions=True) as agent:
        yield agent


@pytest.fixture
async def bare(kind: type[Binding], served: Served) -> AsyncIterator[Binding]:
    """A client that says no version of its own accord."""
    async with kind(served.url, headers={}) as binding:
        yield binding


@pytest.fixture
async def strict(kind: type[Binding], strict_agent: Served) -> AsyncIterator[Binding]:
    """Such a client, of a server that follows the letter of the text."""
    async with kind(strict_agent.url, headers={}) as binding:
        yield binding


@pytest.mark.requirement("R-3.6.2-1", "R-9.2-1", "R-9.2-2", "R-11.2-1", "R-11.2-2")
async def test_the_version_is_read_from_its_header(strict: Binding) -> None:
    assert "tasks" in await list_with(strict, {"A2A-Version": "1.0"})


@pytest.mark.requirement("R-3.6.1-2")
async def test_the_version_is_read_from_the_query_too(strict: Binding) -> None:
    assert "tasks" in await list_with(strict, {}, "A2A-Version=1.0")


async def test_the_header_counts_before_the_query(strict: Binding) -> None:
    assert "tasks" in await list_with(strict, {"A2A-Version": "1.0"}, "A2A-Version=9.9")
    await expect(
        "VersionNotSupportedError",
        list_with(strict, {"A2A-Version": "9.9"}, "A2A-Version=1.0"),
    )


@pytest.mark.requirement("R-3.2.6-1", "R-9.2-3", "R-11.2-3")
@pytest.mark.parametrize("name", ["a2a-version", "A2A-VERSION", "A2a-vErsion"])
async def test_the_name_of_the_header_has_no_case(strict: Binding, name: str) -> None:
    assert "tasks" in await list_with(strict, {name: "1.0"})


@pytest.mark.requirement("R-3.6-3", "R-3.6-1")
@pytest.mark.parametrize("version", ["1.0.0", "1.0.1", "1.0.99"])
async def test_patch_numbers_play_no_part(strict: Binding, version: str) -> None:
    assert "tasks" in await list_with(strict, {"A2A-Version": version})


@pytest.mark.requirement("R-3.2.6-4", "R-3.6.2-2", "R-3.6-1")
@pytest.mark.parametrize("version", ["2.0", "1.1", "0.5", "1.5.0", "10.0"])
@pytest.mark.parametrize("is_strict", [False, True], ids=["lenient", "strict"])
async def test_a_version_that_is_not_served_is_refused(
    bare: Binding, strict: Binding, version: str, *, is_strict: bool
) -> None:
    wire = strict if is_strict else bare
    problem = await expect("VersionNotSupportedError", list_with(wire, {"A2A-Version": version}))
    offered = "1.0" if is_strict else "1.0,0.3,0.2,0.1"
    assert problem.metadata["supportedVersions"] == offered
    assert problem.metadata["requestedVersion"] == ".".join(version.split(".")[:2])


@pytest.mark.requirement("R-3.6.2-2")
async def test_a_version_that_is_not_served_is_refused_in_the_query_too(bare: Binding) -> None:
    await expect("VersionNotSupportedError", list_with(bare, {}, "A2A-Version=3.1"))


async def test_a_stream_in_a_version_that_is_not_served_is_refused(
    wire: Binding, context: str
) -> None:
    stream = wire.send_streaming_message(message(contextId=context), headers={"A2A-Version": "2.0"})
    await expect("VersionNotSupportedError", drain(stream))
    assert (await wire.list_tasks(contextId=context))["totalSize"] == 0


@pytest.mark.requirement("R-3.6.2-3")
@pytest.mark.parametrize("headers", [{}, {"A2A-Version": ""}], ids=["absent", "empty"])
async def test_strictly_no_version_means_0_3_which_is_not_served(
    strict: Binding, headers: dict[str, str]
) -> None:
    problem = await expect("VersionNotSupportedError", list_with(strict, headers))
    assert problem.metadata == {"requestedVersion": "0.3", "supportedVersions": "1.0"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"A2A-Version": ""},
        # D3 and D4 of the 0.x reference: what peers send by mistake with 1.0 names.
        {"A2A-Version": "0.3"},
        {"A2A-Version": "0.2.5"},
        # D5: what cannot be read at all.
        {"A2A-Version": "latest"},
    ],
    ids=repr,
)
async def test_leniently_the_name_of_the_method_tells_the_version(
    bare: Binding, headers: dict[str, str]
) -> None:
    assert "tasks" in await list_with(bare, headers)


@pytest.mark.parametrize("version", ["latest", "0.3", "1", "v1.0", "1.0, 1.0"])
async def test_strictly_nothing_else_is_taken_for_1_0(strict: Binding, version: str) -> None:
    await expect("VersionNotSupportedError", list_with(strict, {"A2A-Version": version}))


@pytest.mark.parametrize("version", ["9.9", "", "latest"])
async def test_the_card_is_served_whatever_the_version(strict: Binding, version: str) -> None:
    #
    response = await strict.http.get(
        "/.well-known/agent-card.json", headers={"A2A-Version": version}
    )
    assert response.status_code == 200


@pytest.mark.requirement("R-3.2.6-1")
async def test_the_name_of_the_query_parameter_is_exact(strict: Binding) -> None:
    # Header names have no case; names in a query do.
    await expect("VersionNotSupportedError", list_with(strict, {}, "a2a-version=1.0"))


async def test_an_unknown_method_is_unknown_in_every_version(rpc: JsonRpc) -> None:
    call = rpc.call("Nothing", {"message": message()}, headers={"A2A-Version": "9.9"})
    await expect("MethodNotFoundError", call)


async def test_an_unknown_route_is_unknown_in_every_version(rest: HttpJson) -> None:
    response = await rest.http.get("/nothing/here/at/all", headers={"A2A-Version": "9.9"})
    assert response.status_code == 404
