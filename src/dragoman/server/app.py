"""The ASGI application: from HTTP to the service and back, without a framework."""

from __future__ import annotations

import logging
import os
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from dragoman.auth.incoming.api_key import ApiKeys
from dragoman.auth.incoming.combining import Combination
from dragoman.clock import Clock, SystemClock
from dragoman.dialects.profiles.base import Serving
from dragoman.dialects.registry import Profiles
from dragoman.errors import MethodNotAllowedError, UsageError
from dragoman.model.cards import AgentCard
from dragoman.net.asgi import ASGIApp, Receive, Scope, Send
from dragoman.net.limits import Http1Limits, Http2Limits
from dragoman.server.admission.authentication import Guard
from dragoman.server.admission.authorization import Access
from dragoman.server.admission.client_address import Addressing
from dragoman.server.admission.concurrency import CallerLimits
from dragoman.server.admission.content import ContentLimits, RequestValidator
from dragoman.server.admission.rate_limits import RateSettings
from dragoman.server.cards.card import Describes, PublishedCards, capabilities_of
from dragoman.server.cards.extended import ExtendedCards
from dragoman.server.cards.published_keys import PublishedKeys
from dragoman.server.dispatch import Dispatcher
from dragoman.server.grpc.server import GrpcServer, Services
from dragoman.server.http.calls import OLD_PREFIX, HttpCalls
from dragoman.server.http.cards import (
    CARD_PATHS,
    JWKS_PATH,
    OLD_EXTENDED_CARD_PATHS,
    HttpCard,
    refuse,
)
from dragoman.server.http.cors import Cors
from dragoman.server.http.exchange import DisconnectedError, Exchange
from dragoman.server.http.media import JSON
from dragoman.server.http.metrics import METRICS_PATH, Metrics
from dragoman.server.limits import limits_of
from dragoman.server.settings import Settings, load_settings
from dragoman.server.tasks.runtime import Runtime
from dragoman.server.webhooks.keys import PushKeys, check_push, tell_unsigned
from dragoman.service.worker import Worker
from dragoman.stores.base import TaskStore

if TYPE_CHECKING:
    from dragoman.extensions.base import Presence
    from dragoman.server.cards.signing import CardSigning

__all__ = ("ASGIApp", "App", "PublishedAgent", "build_app")

_logger = logging.getLogger(__name__)

JSONRPC_PATHS: Final = frozenset({"/", "/a2a", "/api/a2a"})
HEALTH_PATHS: Final = frozenset({"/healthz", "/readyz"})


def _grpc_services() -> Services:
    """Import the forms of gRPC when they are needed: protobuf takes its time."""
    from dragoman.bindings.grpc.descriptions import files_of  # noqa: PLC0415 - see above
    from dragoman.bindings.grpc.v0_3 import V0_3_GRPC  # noqa: PLC0415 - see above
    from dragoman.bindings.grpc.v1_0 import V1_0_GRPC  # noqa: PLC0415 - see above

    dialects = (V1_0_GRPC, V0_3_GRPC)
    return Services(dialects=dialects, files=files_of(dialects))


async def _let_go(authentication: Combination | None, presence: Presence | None) -> None:
    """Have what goes along with an agent write what it keeps, and close its connections."""
    if authentication is not None:
        await authentication.flush()
    if presence is not None:
        await presence.aclose()


class PublishedAgent(Describes, Protocol):
    """An agent: it says what it is, and has a worker that does the work."""

    @property
    def worker(self) -> Worker:
        """What does the work."""
        ...


def build_app(
    agent: PublishedAgent,
    settings: Mapping[str, object] | Settings | None = None,
    *,
    store: TaskStore | None = None,
    clock: Clock | None = None,
) -> App:
    """Make the application of an agent; settings not given come from the environment.

    Args:
        store: where tasks are kept, instead of where the settings say.
        clock: the time it goes by; else the machine's.

    Raises:
        UsageError: a setting or the agent itself is wrong.
    """
    if not isinstance(settings, Settings):
        settings = load_settings(settings or {}, os.environ)
    return App(agent, settings, store=store, clock=clock)


def authentication_of(agent: Describes, api_keys: str | None = None) -> Combination | None:
    """Return what tells who calls an agent, None if nothing does.

    Args:
        api_keys: a file of keys, any of which will do beside what the agent itself asks for.

    Raises:
        UsageError: a skill needs scopes that nobody could ever have, or the file cannot be read.
    """
    alternatives = (*agent.auth, ApiKeys(api_keys)) if api_keys else agent.auth
    if alternatives:
        return Combination(alternatives)
    for skill_id in agent.skill_scopes:
        raise UsageError(
            f"skill {skill_id} needs scopes, and agent {agent.name!r} has no authenticator to "
            "grant any; give it auth=[...] or a file of api_keys"
        )
    return None


def signing_of(settings: Settings) -> CardSigning | None:
    """Return what signs the card, None if nothing does.

    Raises:
        UsageError: a key cannot be used, or the address is missing that a signed card names.
    """
    if not settings.card_key:
        return None
    # Cryptography takes its time.
    from dragoman.server.cards.signing import CardSigning  # noqa: PLC0415 - see above

    return CardSigning(settings.card_key, settings.public_url)


class App:
    """One agent as an ASGI application."""

    def __init__(
        self,
        agent: PublishedAgent,
        settings: Settings,
        *,
        store: TaskStore | None = None,
        clock: Clock | None = None,
    ) -> None:
        clock = clock or SystemClock()
        authentication = authentication_of(agent, settings.api_keys)
        access = Access(agent.authorize, agent.share)
        self.connection_limits: Final = limits_of(settings, Http1Limits)
        self._cors = Cors(settings.cors_origins) if settings.cors_origins else None
        if self._cors is not None and self._cors.allows_any and authentication is not None:
            raise UsageError(
                "cors_origins: browsers show some credentials for any page that asks them to, so "
                "an agent with authenticators has to name the pages instead of *"
            )
        caller_limits = CallerLimits(
            limits_of(settings, RateSettings),
            clock,
            max_streams=settings.max_streams_per_owner,
            trusted_proxies=settings.trusted_proxies,
        )
        profiles = Profiles(
            Serving(
                names=settings.profiles,
                account_prefixes=authentication.account_prefixes if authentication else (),
                is_strict=settings.strict_versions,
            )
        )
        signing = signing_of(settings)
        check_push(settings)
        tell_unsigned(settings)
        push_keys = PushKeys(settings, clock, is_passing=store is not None)
        self._cards = PublishedCards(
            agent, clock.now_ms(), authentication, signing, has_push=settings.push
        )
        self._cards.check_size(settings.max_card_bytes)
        self.runtime: Final = Runtime(
            agent.worker,
            settings,
            clock=clock,
            store=store,
            access=access,
            # R-13.3-1: it is for callers who are known.
            extended_card=ExtendedCards(agent, self._cards, access, signing).make
            if authentication
            else None,
            on_stop=partial(_let_go, authentication, agent.presence),
            push_keys=push_keys,
            rates=caller_limits.rates,
            marks_traces=settings.trace_metadata or profiles.marks_traces,
        )
        if authentication and settings.allow_anonymous:
            _logger.warning("allow_anonymous has no effect: this agent has authenticators")
        guard = Guard(
            authentication=authentication,
            allow_anonymous=settings.allow_anonymous,
            max_body_bytes=settings.max_body_bytes,
            max_depth=settings.max_depth,
            public_url=settings.public_url,
            allows_origin=self._cors.allows if self._cors is not None else lambda _: False,
            counter=caller_limits,
            needs_body=authentication is not None and authentication.needs_body,
        )
        validator = RequestValidator(
            tenants=agent.tenants,
            capabilities=capabilities_of(agent, has_push=settings.push),
            input_modes=(*agent.input_modes, *(m for s in agent.skills for m in s.input_modes)),
            hidden_input_modes=(m for s in agent.hidden_skills for m in s.input_modes),
            max_parts=settings.max_parts,
            max_id_length=settings.max_id_length,
            contents=limits_of(settings, ContentLimits),
        )
        dispatcher = Dispatcher(
            self.runtime,
            validator,
            is_strict=settings.strict_versions,
            addressing=Addressing(settings.public_url, settings.trusted_proxies),
            caller_limits=caller_limits,
            profiles=profiles,
            access=access,
        )
        self._calls = HttpCalls(
            dispatcher,
            guard,
            self.runtime.background,
            stall_seconds=settings.stall_seconds,
            force_json=settings.force_json,
            profiles=profiles,
        )
        self._card = HttpCard(self._cards, dispatcher, guard, settings)
        self._keys = PublishedKeys(signing, push_keys)
        self._metrics = Metrics(
            self.runtime,
            # Whoever runs the server is on its machine, or can show who it is.
            local=Guard(
                allow_anonymous=False,
                max_body_bytes=settings.max_body_bytes,
                max_depth=settings.max_depth,
                public_url=None,
            ),
            guard=guard if authentication is not None else None,
        )
        self.grpc: Final = GrpcServer(
            dispatcher,
            limits_of(settings, Http2Limits),
            services=_grpc_services,
            enter=guard.enter,
            is_ready=lambda: self.runtime.is_ready,
        )

    @property
    def card(self) -> AgentCard:
        """The card, for callers in this process: without addresses of its own."""
        return self._cards.card("")

    def offer_grpc(self, port: int = 0) -> None:
        """List gRPC on the card: on this port, or on the one that HTTP has.

        For a server that passes HTTP/2 on to ``grpc``; others cannot reach it.
        """
        self._cards.offer_grpc(port)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        if scope["type"] == "http":
            exchange = Exchange(scope, receive, send)
            try:
                if self._cors is None or not await self._cors.meet(exchange):
                    await self._serve(exchange)
            except DisconnectedError:
                _logger.debug("%s left before its request was read", exchange.peer)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003, "reason": "A2A has no WebSockets"})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            event = (await receive())["type"]
            if event == "lifespan.startup":
                try:
                    await self.runtime.start()
                except Exception as error:  # Reported to the ASGI server, which must not start.
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    raise
                await send({"type": "lifespan.startup.complete"})
            elif event == "lifespan.shutdown":
                await self.runtime.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    def _serve(self, exchange: Exchange) -> Coroutine[object, object, None]:
        path = exchange.path
        if path in JSONRPC_PATHS:
            return self._calls.jsonrpc(exchange)
        if path in CARD_PATHS:
            return self._card.card(exchange)
        if path == JWKS_PATH and (key_set := self._keys.document()) is not None:
            return self._card.keys(exchange, key_set)
        if path in HEALTH_PATHS:
            return self._health(exchange)
        if path == METRICS_PATH:
            return self._metrics.serve(exchange)
        if path == OLD_PREFIX or path.startswith(f"{OLD_PREFIX}/"):
            return self._calls.old_rest(exchange)
        if path in OLD_EXTENDED_CARD_PATHS:
            return self._card.old_extended_card(exchange)
        return self._calls.rest(exchange)

    async def _health(self, exchange: Exchange) -> None:
        """Tell whether the process lives (healthz) and whether it can take work (readyz)."""
        if exchange.method not in ("GET", "HEAD"):
            await refuse(exchange, MethodNotAllowedError(("GET", "HEAD")))
        elif exchange.path == "/healthz" or self.runtime.is_ready:
            await exchange.reply(200, JSON, b'{"status":"ok"}')
        else:
            await exchange.reply(503, JSON, b'{"status":"unavailable"}')
