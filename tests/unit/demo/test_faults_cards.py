from dragoman.demo.faults import with_card
from dragoman.net.asgi import REPLY
from tests.unit.demo.test_faults import Event


async def test_the_card_is_another_and_all_else_is_the_same() -> None:
    sent: list[Event] = []

    async def app(scope: Event, receive: object, send: object) -> None:
        del receive, send
        sent.append(scope)

    async def keep(event: Event) -> None:
        sent.append(event)

    async def receive() -> Event:
        raise NotImplementedError

    shown = with_card(app, b"{}")
    await shown({"type": "http", "path": "/.well-known/agent-card.json"}, receive, keep)
    assert (sent[0]["type"], sent[0]["body"]) == (REPLY, b"{}")
    for scope in ({"type": "http", "path": "/tasks"}, {"type": "lifespan"}):
        await shown(scope, receive, keep)
        assert sent[-1] is scope
