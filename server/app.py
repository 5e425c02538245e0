"""The application: its parts put together, from the settings alone."""

import asyncio
import gc
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Final

import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from server.api import about, auth, games, records, sessions
from server.auth import Auth, Caller
from server.bus import Bus
from server.clock import Clock, SystemClock
from server.config import Limits
from server.housekeeping import Housekeeping
from server.ids import id_text
from server.live import LiveSessions
from server.metrics import Metrics
from server.quotas import Quotas
from server.reading import Reading
from server.rpc.dispatch import Dispatcher
from server.rpc.http import HttpEndpoint
from server.rpc.openrpc import with_discovery
from server.rpc.routes import rpc_routes
from server.rpc.socket import SocketEndpoint
from server.sessions import Sessions
from server.store.database import Database
from server.store.entries import Entry
from server.store.errors import StoreUnavailable
from server.store.journal import Journal
from server.watching import Watching

_GREETING: Final = """\
Patience Arena
WebSocket        /ws
JSON-RPC         POST /rpc
OpenRPC          /openrpc.json
In a terminal    patience play klondike
"""
_GC_THRESHOLDS: Final = (50_000, 20, 100)

_log: Final[structlog.stdlib.BoundLogger] = structlog.get_logger(__name__)


class Arena:
    """One server process. `app` is what an ASGI server runs."""

    def __init__(
        self, database_url: str, redis_url: str, limits: Limits | None = None, clock: Clock | None = None
    ) -> None:
        """Put the parts together; nothing is connected before the application starts up."""
        self.limits = limits = limits or Limits()
        clock = clock or SystemClock()
        timeout = limits.store_timeout_ms / 1000
        self._database = Database(database_url, timeout=timeout)
        self._journal = Journal(
            self._database,
            self._committed,
            rows=limits.journal_rows,
            waiting=limits.journal_waiting,
            timeout=timeout,
        )
        self._watching = Watching(limits.subscriptions)
        self._bus = Bus(redis_url, self._watching)
        self._live = LiveSessions(
            self._database,
            self._journal,
            clock,
            self._watching,
            self._doubted,
            limits.cached_sessions,
            limits.cached_events,
        )
        self.housekeeping = Housekeeping(self._database, self._live, clock, limits.idle_ms)
        self._quotas = Quotas(redis_url, limits)
        tokens = Auth(self._database, clock)
        playing = Sessions(self._database, self._live, clock, self._quotas, limits.open_sessions)
        reading = Reading(self._database, self._live, self._watching, clock)
        methods, document = with_discovery(
            (
                *about.methods(clock, limits),
                *games.METHODS,
                *auth.methods(tokens, self._quotas, self._revoked, self._watching.drop),
                *sessions.methods(playing, reading),
                *records.methods(reading),
            ),
            version("patience-arena"),
        )
        dispatcher = Dispatcher(methods, limits)
        self._socket = SocketEndpoint(dispatcher, tokens.find, limits)
        self._metrics = self._measure(Metrics(dispatcher.tally))
        self._draining = False
        self.app = Starlette(
            routes=[
                *rpc_routes(self._socket, HttpEndpoint(dispatcher, tokens.find, limits), document),
                Route("/", self._greet),
                Route("/healthz", self._healthz),
                Route("/readyz", self._readyz),
                Route("/metrics", self._metrics.respond),
            ],
            lifespan=self._lifespan,
        )
        # A redirect would go to whatever host the request names.
        self.app.router.redirect_slashes = False

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncGenerator[None]:
        """Connect, serve, and leave nothing undone."""
        await self._journal.start()
        await self._bus.start(self._live)
        self.housekeeping.start()
        # What is here now stays for good, so the collector need not go through it again and again. Sessions
        # hold no cycles either: it is there for what others leave behind, and may wait.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*_GC_THRESHOLDS)
        try:
            yield
        finally:
            await self.housekeeping.close()
            await self._live.close(self.limits.drain_ms / 1000)
            await self._journal.close()
            await self._bus.close()
            await self._quotas.close()
            await self._database.close()

    async def drain(self) -> None:
        """Stop taking calls, answer what is under way, and part with every client."""
        self._draining = True
        _log.info("draining", connections=len(self._socket.connections))
        await self._socket.drain(self.limits.drain_ms / 1000)

    def _committed(self, entries: Sequence[Entry]) -> None:
        """Tell other processes what has become durable."""
        self._bus.tell(entries)

    def _doubted(self, entry: Entry) -> None:
        """Let everybody look whether an event has become durable after all."""
        self._bus.tell((entry,))
        text = id_text(entry.session)
        if self._watching.lacks(text, entry.seq):
            self._live.catch_up(text)

    def _revoked(self, caller: Caller) -> None:
        """Let every connection here that acts by a revoked token act for nobody."""
        for connection in self._socket.connections:
            acting = connection.caller
            if isinstance(acting, Caller) and acting.token == caller.token:
                connection.caller = None
                connection.meter.act_for(None)
                self._watching.drop(connection)

    def _measure(self, metrics: Metrics) -> Metrics:
        """Say what is worth watching."""
        metrics.gauge("patience_connections", "Open WebSockets.", lambda: len(self._socket.connections))
        metrics.gauge("patience_live_sessions", "Sessions in memory.", lambda: len(self._live))
        metrics.gauge("patience_live_events", "Events of those.", lambda: self._live.events)
        metrics.gauge("patience_subscriptions", "Subscriptions.", lambda: len(self._watching))
        metrics.gauge(
            "patience_journal_waiting", "Events that wait for a commit.", lambda: self._journal.waiting
        )
        metrics.counter("patience_journal_commits", "Commits of events.", lambda: self._journal.commits)
        metrics.counter("patience_journal_events", "Events made durable.", lambda: self._journal.rows)
        metrics.counter(
            "patience_sessions_expired", "Idle sessions ended.", lambda: self.housekeeping.expired
        )
        metrics.counter("patience_bus_told", "Hints given to other processes.", lambda: self._bus.told)
        metrics.counter("patience_bus_failures", "Times that Redis took no hint.", lambda: self._bus.failures)
        metrics.counter("patience_bus_heard", "Hints taken from other processes.", lambda: self._bus.heard)
        return metrics

    async def _greet(self, _request: Request) -> Response:
        """Tell whoever opens the printed address where things are."""
        return PlainTextResponse(_GREETING)

    async def _healthz(self, _request: Request) -> Response:
        """The process lives."""
        return JSONResponse({"status": "ok"})

    async def _readyz(self, _request: Request) -> Response:
        """Its stores answer. Without Redis it can be played on all the same."""
        if self._draining:
            return JSONResponse({"status": "draining"}, 503)
        database, redis = await asyncio.gather(self._database_answers(), self._bus.ping())
        if not database:
            return JSONResponse({"status": "unavailable", "database": False, "redis": redis}, 503)
        status = "ready" if redis else "degraded"
        return JSONResponse({"status": status, "database": True, "redis": redis})

    async def _database_answers(self) -> bool:
        try:
            await self._database.ping()
        except StoreUnavailable:
            return False
        return True
