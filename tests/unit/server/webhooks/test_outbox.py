import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from dragoman import telemetry
from dragoman.engine.journal import TURN, JournalEntry
from dragoman.errors import StoreError
from dragoman.model.documents import encode_entry
from dragoman.model.events import TaskArtifactUpdateEvent, TaskEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Artifact, TaskState, TaskStatus
from dragoman.push.notification import OutgoingNotification
from dragoman.server.tasks.delivery import Delivery, encode
from dragoman.server.webhooks.outbox import WebhookOutbox, notification_id
from dragoman.stores.base import NewTask, Scope, TaskWrite
from dragoman.stores.memory.store import MemoryTaskStore
from dragoman.stores.webhooks import EventKind, NewWebhook, Webhook, WebhookKey
from tests.support.tracing import Traced
from tests.support.wire import Json

SUBMITTED, WORKING, COMPLETED = TaskState.SUBMITTED, TaskState.WORKING, TaskState.COMPLETED
CHUNKS = 600
"""More than are read at once."""


def status(state: TaskState) -> TaskStatusUpdateEvent:
    return TaskStatusUpdateEvent(task_id="t", context_id="c", status=TaskStatus(state=state))


def chunk(number: int) -> TaskArtifactUpdateEvent:
    made = Artifact(artifact_id=f"a-{number % 2}", parts=(Part(text=f"{number} "),))
    return TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=made, append=number > 1)


def asked(text: str) -> Message:
    return Message(message_id=text, role=Role.USER, parts=(Part(text=text),))


TRACE = f"00-{'a' * 32}-{'b' * 16}-01"
BEGUN_BY = Delivery(message=asked("hello"), trace=TRACE)

LOG: tuple[TaskEvent, ...] = (
    status(SUBMITTED),
    status(WORKING),
    *map(chunk, range(CHUNKS)),
    status(COMPLETED),
)


@pytest.fixture
async def store() -> AsyncIterator[MemoryTaskStore]:
    store = MemoryTaskStore()
    await store.open()
    created = NewTask(
        scope=Scope("", "alice"),
        context_id="c",
        skill_id="s",
        origin_dialect="1.0",
        created_ms=0,
    )
    entries = [encode_entry(asked("hello")), *map(encode_entry, LOG)]
    done: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    store.append(
        TaskWrite(
            task_id="t",
            epoch=1,
            expected_seq=0,
            created=created,
            entries=tuple(entries),
            events=len(LOG),
            state=COMPLETED,
            journal=(JournalEntry(n=1, kind=TURN, name="", result=encode(BEGUN_BY)),),
        ),
        done.set_result,
    )
    assert await done is None
    yield store
    await store.close()


def webhook(
    dialect: str = "1.0",
    *,
    cursor: int = 0,
    state: TaskState | None = None,
    wants: tuple[EventKind, ...] = ("states",),
    letter_seq: int = 0,
    shown_id: str = "t",
) -> Webhook:
    return Webhook(
        key=WebhookKey("t", "w"),
        scope=Scope("", "alice"),
        new=NewWebhook(
            config=TaskPushNotificationConfig(id="w", task_id=shown_id, url="https://h.example/"),
            dialect=dialect,
            host="h.example",
            created_ms=0,
            wants=wants,
        ),
        cursor=cursor,
        state=state,
        letter_seq=letter_seq,
    )


OLD_LABEL = {"Content-Type": "application/json"}


async def parcel_of(store: MemoryTaskStore, hook: Webhook) -> tuple[OutgoingNotification, Json]:
    notice = await WebhookOutbox(store).next_notice(hook)
    assert notice.parcel is not None
    return notice.parcel, msgspec.json.decode(notice.parcel.body)


async def test_the_next_news_are_found_however_far_away(store: MemoryTaskStore) -> None:
    notice = await WebhookOutbox(store).next_notice(webhook(cursor=2, state=WORKING))
    assert (notice.seq, notice.state) == (len(LOG), COMPLETED)


async def test_a_parcel_is_of_the_trace_of_its_turn_if_anything_is_traced(
    store: MemoryTaskStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await parcel_of(store, webhook()))[0].trace == ""
    monkeypatch.setattr(telemetry, "active", Traced().telemetry)
    assert (await parcel_of(store, webhook()))[0].trace == TRACE


async def test_at_the_end_of_the_log_there_is_nothing_to_tell(store: MemoryTaskStore) -> None:
    notice = await WebhookOutbox(store).next_notice(webhook(cursor=len(LOG), state=COMPLETED))
    assert (notice.seq, notice.state, notice.parcel) == (len(LOG), COMPLETED, None)


async def test_1_0_is_told_the_event_as_a_stream_has_it(store: MemoryTaskStore) -> None:
    parcel, _ = await parcel_of(store, webhook())
    assert parcel.body == encode_entry(LOG[0])
    assert parcel.headers == {"Content-Type": "application/a2a+json", "A2A-Version": "1.0"}


@pytest.mark.parametrize(
    "dialect",
    ["0.3", "0.3-rest", "0.3-proto", "0.3-grpc+raw", "0.3+type", "0.3-rest+type", "rxjs"],
)
async def test_0_3_is_told_the_task_as_it_was_then(store: MemoryTaskStore, dialect: str) -> None:
    hook = webhook(dialect, wants=("artifacts",), cursor=4, state=WORKING)
    parcel, body = await parcel_of(store, hook)
    assert parcel.headers == OLD_LABEL
    assert (body["kind"], body["id"], body["contextId"]) == ("task", "t", "c")
    assert body["status"]["state"] == "working"
    texts = [part["text"] for made in body["artifacts"] for part in made["parts"]]
    assert texts == ["0 2 ", "1 "]
    part = body["artifacts"][0]["parts"][0]
    assert ("type" in part, part["kind"]) == (dialect.endswith("+type"), "text")
    assert [message["messageId"] for message in body["history"]] == ["hello"]


async def test_0_1_is_told_by_the_name_that_it_has_for_the_task(store: MemoryTaskStore) -> None:
    parcel, body = await parcel_of(store, webhook("0.1+kind", shown_id="my task"))
    assert parcel.headers == OLD_LABEL
    assert (body["id"], body["taskId"], body["eventType"]) == ("my task", "my task", "taskUpdate")
    assert body["status"]["state"] == "submitted"


async def test_a_dead_letter_comes_first_and_as_it_was(store: MemoryTaskStore) -> None:
    hook = webhook(cursor=len(LOG), state=COMPLETED, letter_seq=2)
    notice = await WebhookOutbox(store).next_notice(hook)
    assert (notice.seq, notice.state) == (2, COMPLETED)
    assert notice.parcel is not None
    assert notice.parcel.body == encode_entry(LOG[1])
    before, _ = await parcel_of(store, webhook(cursor=1, state=SUBMITTED))
    assert notice.parcel.id == before.id


async def test_a_dead_letter_of_no_event_is_an_error(store: MemoryTaskStore) -> None:
    with pytest.raises(StoreError, match="task t has no event 9999"):
        await WebhookOutbox(store).next_notice(webhook(letter_seq=9999))


def test_every_notification_has_an_id_that_a_header_can_carry() -> None:
    strange = Webhook(
        key=WebhookKey("t", "schön\nund anders"),
        scope=Scope("", "alice"),
        new=webhook().new,
        cursor=0,
        state=None,
    )
    ids = {notification_id(each, seq) for each in (strange, webhook()) for seq in (1, 2)}
    assert len(ids) == 4
    assert all(each.isascii() and each.isprintable() and " " not in each for each in ids)
