"""The benchmark contract on the reference SDK (a2a-sdk), run inside its own environment.

Nothing here is tuned against the SDK: its default request handler, its own task stores, its own
routes, under the same HTTP server as the other sides. The agent sends the same events they do.
"""

# This file runs in the SDK's environment, which the type checker does not see.
# pyright: reportMissingImports=false, reportMissingModuleSource=false

import argparse
import asyncio
import time

import uvicorn
import uvloop
from a2a.helpers.proto_helpers import new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.cluster import (
    DatabaseTaskEventStream,
    TaskEventStream,
    VersionedDatabaseTaskStore,
    VersionedTaskStore,
)
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import DatabaseTaskStore, InMemoryTaskStore, TaskStore, TaskUpdater
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Artifact,
    Message,
    Part,
    Role,
    Task,
    TaskState,
    TaskStatus,
)
from google.protobuf.timestamp_pb2 import Timestamp
from starlette.applications import Starlette

# How long `fan` waits before its first chunk, so that its readers are all there. The same on
# every side.
FAN_DELAY_SECONDS = 1.5

# Status time of the first preloaded task: long past, so that tasks made later sort before it.
PRELOAD_EPOCH_SECONDS = 1_700_000_000


class BenchExecutor(AgentExecutor):
    """Do what the first word of the message says; see `benches/README.md` for the contract."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Run one turn."""
        task = new_task_from_user_message(context.message)
        task.id, task.context_id = context.task_id, context.context_id
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        text = context.get_user_input()
        word, _, rest = text.partition(" ")
        match word:
            case "stream":
                count, _, gap_ms = rest.partition(" ")
                await _stream(updater, int(count), int(gap_ms or 0) / 1000)
            case "fan":
                await asyncio.sleep(FAN_DELAY_SECONDS)
                await _stream(updater, int(rest), 0)
            case "hold":
                await updater.start_work()
                await asyncio.Event().wait()
            case _:
                await updater.add_artifact([new_text_part(text)])
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """End a `hold`."""
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def _stream(updater: TaskUpdater, count: int, gap_seconds: float) -> None:
    """Send one artifact in stamped chunks."""
    for index in range(count):
        if gap_seconds and index:
            await asyncio.sleep(gap_seconds)
        await updater.add_artifact(
            [new_text_part(f"#{index:06d}@{time.perf_counter_ns():018d};")],
            artifact_id="stream",
            append=index > 0,
            last_chunk=index == count - 1,
        )


async def _preload(store: TaskStore, count: int) -> None:
    """Put finished echo tasks straight into the store object, one second of status time apart."""
    context = ServerCallContext()
    for index in range(count):
        identifier = f"preload-{index:09d}"
        message = Message(
            message_id=f"m-{identifier}",
            task_id=identifier,
            context_id=f"c-{identifier}",
            role=Role.ROLE_USER,
            parts=[Part(text=f"echo {index}")],
        )
        task = Task(
            id=identifier,
            context_id=f"c-{identifier}",
            status=TaskStatus(
                state=TaskState.TASK_STATE_COMPLETED,
                timestamp=Timestamp(seconds=PRELOAD_EPOCH_SECONDS + index),
            ),
            artifacts=[Artifact(artifact_id="a", parts=[Part(text=f"echo {index}")])],
            history=[message],
        )
        await store.save(task, context)


def _make_store(
    url: str, *, is_cluster: bool
) -> tuple[TaskStore | VersionedTaskStore, TaskEventStream | None]:
    """Return a store and, in a cluster, the stream by which one replica hears of another."""
    if url == "memory:":
        return InMemoryTaskStore(), None
    # SQLAlchemy is absent from the environment of the in-memory server, which must not pay for it.
    from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415 - see above

    driver = url.replace("sqlite:", "sqlite+aiosqlite:").replace("gresql:", "gresql+asyncpg:")
    engine = create_async_engine(driver)
    if is_cluster:
        return VersionedDatabaseTaskStore(engine), DatabaseTaskEventStream(engine)
    return DatabaseTaskStore(engine), None


def _make_card(url: str) -> AgentCard:
    return AgentCard(
        name="Bench",
        description="Benchmark agent.",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="bench", name="bench", description="Bench.", tags=["bench"])],
    )


async def _serve(options: argparse.Namespace) -> None:
    store, events = _make_store(options.store, is_cluster=options.cluster)
    # Its tables, before another replica wants to make them.
    if not isinstance(store, InMemoryTaskStore):
        await store.initialize()
    if events is not None:
        await events.initialize()
    if options.preload:
        await _preload(store, options.preload)
    card = _make_card(f"http://127.0.0.1:{options.port}/")
    handler = DefaultRequestHandler(
        agent_executor=BenchExecutor(), task_store=store, agent_card=card, event_stream=events
    )
    if options.grpc:
        await _serve_grpc(options.port, handler)
    else:
        await _serve_http(options.port, handler, card)


async def _serve_grpc(port: int, handler: DefaultRequestHandler) -> None:
    # gRPC is absent from the environment of the HTTP server, which must not pay for it.
    import grpc  # noqa: PLC0415 - see above
    from a2a.server.request_handlers import GrpcHandler  # noqa: PLC0415 - see above
    from a2a.types import a2a_pb2_grpc  # noqa: PLC0415 - see above

    server = grpc.aio.server()
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    await server.wait_for_termination()


async def _serve_http(port: int, handler: DefaultRequestHandler, card: AgentCard) -> None:
    routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")]
    config = uvicorn.Config(
        Starlette(routes=routes),
        host="127.0.0.1",
        port=port,
        log_level="warning",
        access_log=False,
        http="httptools",
    )
    await uvicorn.Server(config).serve()


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--store", default="memory:")
    parser.add_argument("--preload", type=int, default=0)
    parser.add_argument("--grpc", action="store_true", help="serve gRPC instead of HTTP")
    parser.add_argument("--cluster", action="store_true", help="be one of several on a database")
    # uvloop's own runner: the preload needs the loop before uvicorn would make it.
    uvloop.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
