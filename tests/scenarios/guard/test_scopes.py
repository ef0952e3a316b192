"""Scopes and hidden skills, what a skill knows of its caller, and what is said before that."""

from __future__ import annotations

import asyncio

import pytest

from tests.scenarios.bindings import Binding, HttpJson
from tests.scenarios.guard.asking import ADA, BOB, ask
from tests.scenarios.guarding import Ask, Line
from tests.support.serving import Served
from tests.support.wire import Json, message


@pytest.mark.requirement("R-3.3.2-7", "R-T.ent-6")
async def test_a_missing_scope_is_named_before_anything_else_is(
    people: dict[str, HttpJson],
) -> None:
    # Not what is wrong with the parameters: that is for those who may use the skill.
    sent = message("no number", metadata={"skillId": "vault"})
    response = await people[BOB].respond("SendMessage", {"message": sent})
    assert response.status_code == 403
    error = response.json()["error"]
    assert error["message"] == "Permission denied: this needs the scope vault:open"
    assert error["details"][0]["metadata"] == {"missingScopes": "vault:open"}


async def test_a_hidden_skill_and_one_that_never_was_are_the_same(
    people: dict[str, HttpJson],
) -> None:
    answers: list[Json] = []
    for skill in ("cellar", "attic"):
        sent = message(metadata={"skillId": skill})
        response = await people[BOB].respond("SendMessage", {"message": sent})
        assert response.status_code == 400
        answers.append(response.json())
    assert answers[0] == answers[1]
    sent = {**message(), "metadata": {"skillId": "cellar"}, "parts": [{"data": CELLAR}]}
    assert (await people[ADA].task(sent))["status"]["state"] == "TASK_STATE_COMPLETED"


CELLAR: Json = {"bottles": 2, "year": 1978}


async def test_the_public_card_does_not_hint_at_what_is_hidden(served: Served) -> None:
    async with HttpJson(served.url, {}) as stranger:
        for version in ("", "1.0", "0.3", "0.1"):
            card = await stranger.http.get(
                "/.well-known/agent-card.json", headers={"A2A-Version": version}
            )
            assert card.status_code == 200
            assert "cellar" not in card.text
            assert "bottles" not in card.text
            assert "vault" in card.text


# --- what a skill knows of its caller -----------------------------------------------------------


async def test_a_skill_knows_who_calls(line: Line, served: Served) -> None:
    async with line.connect(served.url) as wire:
        heard = await ask(wire, Ask("SendMessage", "mine" * (line.version == "0.1"), "whoami"), ADA)
    assert '"user":"ada"' in heard.body.replace(": ", ":")
    assert "vault:open" in heard.body


@pytest.mark.requirement("R-7.6.1-2", "R-7.6.1-3", "R-7.6.1-7")
async def test_an_authorization_that_a_task_asks_for_is_its_owners_to_give(
    people: dict[str, HttpJson],
) -> None:
    asked = await people[ADA].task(message("Pay", metadata={"skillId": "sign_in"}))
    assert asked["status"]["state"] == "TASK_STATE_AUTH_REQUIRED"
    assert asked["status"]["message"]["parts"] == [
        {"text": "Sign in, please."},
        {"data": {"url": "https://id.example/"}},
    ]
    stranger = await people[BOB].respond(
        "SendMessage", {"message": message("signed", taskId=asked["id"])}
    )
    assert stranger.status_code == 404
    done = await people[ADA].task(message("signed", taskId=asked["id"]))
    assert done["artifacts"][0]["parts"] == [{"text": "Pay for ada: signed"}]


# --- before the body ----------------------------------------------------------------------------


@pytest.mark.requirement("R-3.3.2-5")
async def test_a_challenge_is_told_on_bindings_without_headers_too(
    line: Line, wire: Binding
) -> None:
    heard = await ask(wire, Ask("SendMessage"), "")
    if line.name != "0.3 OldGrpc":  # Its errors are a number and a text.
        assert "ApiKey realm=" in heard.body


async def test_nobody_learns_the_limits_without_a_key(served: Served) -> None:
    host, _, port = served.url.removeprefix("http://").partition(":")
    for path in ("/", "/message:send", "/v1/message:send", "/no/such/route"):
        reader, writer = await asyncio.open_connection(host, int(port))
        # Nothing of the body is sent: whoever wanted to read it would wait for ever.
        writer.write(
            f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: text/plain\r\n"
            f"Content-Length: {1 << 40}\r\n\r\n".encode()
        )
        assert (await reader.readline()).split()[1] == b"401", path
        writer.close()
