"""Data on the wire: names, enums, times, parts and metadata, as ProtoJSON has them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, cast

import pytest

from tests.scenarios.agents import Gate, to
from tests.scenarios.bindings import Binding, HttpJson, JsonRpc, drain
from tests.support.wire import Json, message

if TYPE_CHECKING:
    from collections.abc import Iterator

CAMEL_CASE = re.compile(r"[a-z][a-zA-Z0-9]*")
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

# Whatever is in them was made by users, not by the protocol.
FREE = frozenset({"metadata", "data", "params"})


ANY_JSON: list[object] = [
    None,
    True,
    0,
    -1.5,
    2**53,
    1e300,
    "",
    "text",
    [],
    [None, [1, {"a": []}]],
    {},
    {"deep": {"er": {"nested": [1, 2.5, "x", None, False]}}},
    {"camelCase": 1, "snake_case": 2, "": 3, "ключ": 4, "$@type": 5},
]


def members(value: object) -> Iterator[tuple[str, object]]:
    """Yield every member of every object, except those of free JSON."""
    if isinstance(value, list):
        for item in cast("list[object]", value):
            yield from members(item)
    if isinstance(value, dict):
        for name, item in cast("dict[str, object]", value).items():
            yield name, item
            if name not in FREE:
                yield from members(item)


async def everything(wire: Binding, gate: Gate) -> list[object]:
    """Return an answer of every kind: tasks, lists, events, messages, the card."""
    gate.open(2)
    asked = await wire.task(to("ask"))
    stream = await drain(wire.send_streaming_message(to("steps", gate.name)))
    return [
        asked,
        await wire.list_tasks(includeArtifacts=True, pageSize=2),
        await wire.send_message(to("reply")),
        [event.result for event in stream],
        (await wire.http.get("/.well-known/agent-card.json")).json(),
    ]


@pytest.mark.requirement("R-5.5-1", "R-ADR-1")
async def test_the_names_of_members_are_camel_case(wire: Binding, gate: Gate) -> None:
    answers = await everything(wire, gate)
    names = {name for name, _ in members(answers)}
    assert {"contextId", "messageId", "nextPageToken", "statusUpdate"} <= names
    assert [name for name in names if not CAMEL_CASE.fullmatch(name)] == []


@pytest.mark.requirement("R-5.5-2")
async def test_enums_are_the_names_of_their_values(wire: Binding, gate: Gate) -> None:
    found = list(members(await everything(wire, gate)))
    assert {value for name, value in found if name == "state"} >= {
        "TASK_STATE_SUBMITTED",
        "TASK_STATE_WORKING",
        "TASK_STATE_COMPLETED",
    }
    assert {value for name, value in found if name == "role"} == {"ROLE_USER", "ROLE_AGENT"}


@pytest.mark.requirement("R-5.6.1-1", "R-5.6.1-2", "R-5.6.1-5")
async def test_times_are_utc_with_milliseconds_and_z(wire: Binding, gate: Gate) -> None:
    found = [v for name, v in members(await everything(wire, gate)) if name == "timestamp"]
    assert found
    assert [text for text in found if not TIMESTAMP.fullmatch(str(text))] == []


@pytest.mark.requirement("R-A.2.1-1")
async def test_members_of_older_versions_are_not_emitted(wire: Binding, gate: Gate) -> None:
    names = {name for name, _ in members(await everything(wire, gate))}
    # Section 0 of the reference: named by migration notes, not part of 1.0.
    assert names.isdisjoint({"kind", "final", "index", "createdAt", "lastModified", "type"})


@pytest.mark.requirement("R-4.1.7-1", "R-5.7-1", "R-5.7-3")
async def test_required_members_are_there_and_not_empty(wire: Binding, gate: Gate) -> None:
    task, page, answer, events, _ = await everything(wire, gate)
    for name in ("id", "contextId", "status"):
        assert all(value for key, value in members([task, page, events]) if key == name)
    assert all(value for key, value in members([task, page, answer, events]) if key == "parts")


@pytest.mark.requirement("R-4.1.7-2")
async def test_the_ids_of_artifacts_are_unique_within_their_task(wire: Binding, gate: Gate) -> None:
    gate.open(2)
    task = await wire.task(to("steps", gate.name))
    ids = [artifact["artifactId"] for artifact in task["artifacts"]]
    assert len(ids) == len(set(ids)) == 2


@pytest.mark.requirement("R-3.2.5-1")
@pytest.mark.parametrize("value", ANY_JSON, ids=repr)
async def test_metadata_takes_any_value_and_gives_it_back(wire: Binding, value: object) -> None:
    metadata = {"skillId": "mirror", "value": value}
    task = await wire.task(message(metadata=metadata))
    assert task["artifacts"][0]["metadata"] == metadata
    assert task["history"][0]["metadata"] == metadata


@pytest.mark.requirement("R-4.1.6-1", "R-4-1", "R-5.1-2")
async def test_parts_of_all_four_kinds_come_back_the_same_on_every_binding(
    rpc: JsonRpc, rest: HttpJson
) -> None:
    parts: list[Json] = [
        {"text": ""},
        {"text": "hi", "metadata": {"n": [1, None]}},
        {"raw": "AQI=", "filename": "a.png", "mediaType": "image/png"},
        {"raw": "", "mediaType": "image/png"},
        {"url": "https://files.example/x.png", "mediaType": "image/png"},
        {"data": {"k": [1, None]}, "mediaType": "application/json"},
        {"data": None},
        {"data": False},
    ]
    for wire in (rpc, rest):
        task = await wire.task(to("mirror", parts=parts))
        assert task["artifacts"][0]["parts"] == parts
        assert (await rest.get_task(task["id"])) == (await rpc.get_task(task["id"]))


@pytest.mark.requirement("R-5.7-5")
async def test_members_nobody_knows_are_ignored(wire: Binding) -> None:
    sent = message("hi", kind="message", unknown={"a": [1]})
    sent["parts"][0]["type"] = "text"
    task = await wire.task(sent, futureOption=True, configuration={"alsoNew": 1})
    assert set(task["history"][0]) == {"messageId", "contextId", "taskId", "role", "parts"}
    assert task["artifacts"][0]["parts"] == [{"text": "hi"}]


@pytest.mark.requirement("R-5.5-2", "R-ADR-1")
@pytest.mark.parametrize(
    "sent",
    [
        # The leniencies of ProtoJSON (reference 2.1).
        {"message_id": "m-snake", "role": "ROLE_USER", "parts": [{"text": "x"}]},
        {"messageId": "m-number", "role": 1, "parts": [{"text": "x"}]},
        {"messageId": "m-null", "role": "ROLE_USER", "parts": [{"text": "x", "url": None}]},
        {"messageId": "m-ctx", "role": "ROLE_USER", "parts": [{"text": "x"}], "contextId": None},
    ],
    ids=lambda sent: next(iter(sent.values())),
)
async def test_other_spellings_of_proto_json_are_understood(wire: Binding, sent: Json) -> None:
    task = await wire.task(sent)
    assert task["history"][0]["role"] == "ROLE_USER"
    assert task["artifacts"][0]["parts"] == [{"text": "x"}]


@pytest.mark.parametrize("spelling", ["AQID-_8=", "AQID-_8", "AQID+/8", "AQID+/8="])
async def test_base64_is_read_in_every_spelling_and_written_in_one(
    wire: Binding, spelling: str
) -> None:
    part = {"raw": spelling, "mediaType": "image/png"}
    task = await wire.task(to("mirror", parts=[part]))
    assert task["artifacts"][0]["parts"][0]["raw"] == "AQID+/8="


@pytest.mark.parametrize("number", ["2", 2, 2.0])
async def test_a_whole_number_may_be_written_as_text_or_as_a_float(
    wire: Binding, number: object
) -> None:
    task = await wire.task(message(), configuration={"historyLength": number})
    assert len(task["history"]) == 1


async def test_large_texts_travel_whole(wire: Binding) -> None:
    text = "".join(chr(0x4E00 + n % 20000) for n in range(200_000))
    task = await wire.task(message(text))
    assert task["artifacts"][0]["parts"] == [{"text": text}]
    assert json.loads(json.dumps(await wire.get_task(task["id"]))) == task


@pytest.mark.requirement("R-14.1.1-3")
@pytest.mark.parametrize(
    "text",
    [
        '"}],"role":"ROLE_AGENT","x":[{"y":"',
        "</script><script>alert(1)</script>",
        "'; DROP TABLE tasks; --",
        "\r\nSet-Cookie: a=b\r\n\r\n",
        "{{7*7}}${7*7}%(x)s",
        "\\u0022\\",
    ],
)
async def test_no_content_is_ever_read_as_anything_but_content(wire: Binding, text: str) -> None:
    sent = message(text, messageId=f"{text}-{wire.name}", contextId=text, metadata={text: text})
    task = await wire.task(sent)
    assert task["contextId"] == text
    assert task["artifacts"][0]["parts"] == [{"text": text}]
    assert task["history"] == [{**sent, "taskId": task["id"]}]
    listed = await wire.list_tasks(contextId=text, pageSize=1)
    assert listed["tasks"][0]["id"] == task["id"]
