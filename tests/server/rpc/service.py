"""A small service on the RPC layer, and a server to run it on a real port in a test's event loop."""

import asyncio
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette

from server.buckets import Now
from server.config import Limits
from server.rpc.call import Call
from server.rpc.dispatch import Dispatcher
from server.rpc.errors import IllegalMove, InvalidParams, NotFound, Unavailable
from server.rpc.http import HttpEndpoint
from server.rpc.http_protocol import HttpProtocol
from server.rpc.messages import notification
from server.rpc.methods import Method, NoParams
from server.rpc.openrpc import with_discovery
from server.rpc.routes import rpc_routes
from server.rpc.socket import SocketEndpoint
from server.rpc.socket_protocol import SocketProtocol
from tests.rates import unhurried

PLAYER, READER, UNKNOWN, STORE_DOWN = "player-token", "reader-token", "no-such-token", "store-down"
SECRET = "the seed is 42"


class Params(msgspec.Struct, forbid_unknown_fields=True):
    """The base of all params."""


class DescribeParams(Params):
    game: str
    options: dict[str, int] | None = None
    lang: str | None = None


class Description(msgspec.Struct):
    game: str
    options: dict[str, int]


class MoveParams(Params):
    session: str
    move: str
    seq: int


class Moved(msgspec.Struct):
    seq: int
    patch: list[dict[str, str]]


class SessionParams(Params):
    session: str


class TokenParams(Params):
    token: str


class Card(Params):
    rank: int
    suit: str | None = None


class RecordParams(Params):
    record: dict[str, Any]
    cards: list[Card] | None = None


@dataclass(frozen=True)
class Player:
    scopes: frozenset[str]
    revoked: bool = False
    key: str = ""


class Service:
    """The handlers, with what they wait for in the hands of the test."""

    def __init__(self) -> None:
        self.moves: list[asyncio.Future[Moved]] = []
        """What `session.move` has promised; a session called "sync" is answered at once."""
        self.created = asyncio.Event()
        """Lets `session.create` end."""
        self.started = asyncio.Event()
        """Set when `session.create` or `session.move` was called."""
        self.informed = asyncio.Event()
        """Set when `server.info` was called."""
        self.calls = 0
        """How often it was."""
        self.tokens: list[str] = []
        """Those that were looked up, in order."""
        self.seen: list[str] = []
        """The sessions that were asked for, in order."""

    async def authenticate(self, token: str) -> Player | None:
        self.tokens.append(token)
        if token == STORE_DOWN:
            raise Unavailable
        scopes = {PLAYER: {"read", "play"}, READER: {"read"}}.get(token)
        return Player(frozenset(scopes), key=token) if scopes else None

    def info(self, _call: Call, _params: NoParams) -> dict[str, int]:
        """Tell about the server."""
        self.informed.set()
        self.calls += 1
        return {"protocol": 1}

    def describe(self, _call: Call, params: DescribeParams) -> Description:
        """Describe a game."""
        if params.game != "klondike":
            raise NotFound(f"There is no game {params.game}.")
        return Description(params.game, params.options or {})

    def move(self, _call: Call, params: MoveParams) -> asyncio.Future[Moved] | Moved:
        """Make a move."""
        self.seen.append(params.session)
        if params.session == "sync":
            return Moved(params.seq + 1, [])
        if params.move == "a-a":
            raise IllegalMove("target_locked", params.seq)
        future: asyncio.Future[Moved] = asyncio.get_running_loop().create_future()
        self.moves.append(future)
        self.started.set()
        return future

    async def create(self, _call: Call, _params: NoParams) -> dict[str, str]:
        """Create a session."""
        self.started.set()
        await self.created.wait()
        return {"session": "new"}

    async def subscribe(self, call: Call, params: SessionParams) -> None:
        """Subscribe to a session."""
        assert call.connection is not None
        call.answer({"view": params.session})
        call.answer({"view": "a second answer"})
        call.connection.notify(event(params.session, 1))
        await asyncio.sleep(0)
        call.connection.notify(event(params.session, 2).encode())

    async def use(self, call: Call, params: TokenParams) -> dict[str, list[str]]:
        """Act for another player."""
        assert call.connection is not None
        # The loop runs on, as it does while a store is asked.
        await asyncio.sleep(0)
        caller = await self.authenticate(params.token)
        if caller is None:
            raise NotFound
        call.connection.caller = caller
        call.connection.meter.act_for(caller.key)
        return {"scopes": sorted(caller.scopes)}

    def get(self, call: Call, params: SessionParams) -> str:
        """Get a session's view."""
        if params.session == "none":
            raise NotFound
        call.require("play")
        return params.session

    def verify(self, _call: Call, params: RecordParams) -> int:
        """Verify a record."""
        if "seed" not in params.record:
            raise InvalidParams("/record/seed")
        return len(params.record)

    def undo(self, _call: Call, _params: NoParams) -> None:
        """Fail at once."""
        raise RuntimeError(SECRET)

    async def resign(self, _call: Call, _params: NoParams) -> None:
        """Fail later."""
        await asyncio.sleep(0)
        raise RuntimeError(SECRET)

    def listing(self, _call: Call, _params: NoParams) -> object:
        """Return what has no JSON."""
        return object()

    def methods(self) -> tuple[Method[Any], ...]:
        return (
            Method("server.info", NoParams, dict[str, int], self.info),
            Method("games.describe", DescribeParams, Description, self.describe, errors=(NotFound,)),
            Method("session.move", MoveParams, Moved, self.move, scope="play", errors=(IllegalMove,)),
            Method("session.create", NoParams, dict[str, str], self.create),
            Method(
                "session.subscribe",
                SessionParams,
                dict[str, str],
                self.subscribe,
                scope="read",
                socket_only=True,
            ),
            Method("session.get", SessionParams, str, self.get, scope="play", looks_first=True),
            Method("auth.use", TokenParams, dict[str, list[str]], self.use, socket_only=True, serial=True),
            Method("record.verify", RecordParams, int, self.verify),
            Method("session.undo", NoParams, None, self.undo),
            Method("session.resign", NoParams, None, self.resign),
            Method("session.list", NoParams, None, self.listing),
        )


def event(session: str, seq: int) -> str:
    return notification("session.event", {"session": session, "seq": seq})


class _Server(uvicorn.Server):
    """A server that says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


@dataclass(frozen=True)
class Running:
    """A server on a port of 127.0.0.1, with its parts."""

    port: int
    service: Service
    dispatcher: Dispatcher
    socket: SocketEndpoint
    document: bytes

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def ws(self) -> str:
        return f"ws://127.0.0.1:{self.port}/ws"


@asynccontextmanager
async def run(
    limits: Limits | None = None,
    *,
    protocol: type[SocketProtocol] = SocketProtocol,
    http_protocol: type[HttpProtocol] = HttpProtocol,
    close_seconds: float = 5.0,
    body_seconds: float = 10.0,
    ping_seconds: float = 20.0,
    now: Now | None = None,
) -> AsyncGenerator[Running]:
    """Serve a new `Service` until the block ends; limits on rates hold if there is a clock for them."""
    limits = (limits or Limits()) if now is not None else unhurried(limits)
    service = Service()
    methods, document = with_discovery(service.methods(), "0.0.0")
    dispatcher = Dispatcher(methods, limits, now or time.monotonic_ns)
    sockets = SocketEndpoint(dispatcher, service.authenticate, limits, close_seconds=close_seconds)
    http = HttpEndpoint(dispatcher, service.authenticate, limits, body_seconds=body_seconds)
    server = _Server(
        uvicorn.Config(
            Starlette(routes=rpc_routes(sockets, http, document)),
            ws=protocol,
            http=http_protocol,
            ws_max_size=limits.hard_bytes,
            ws_ping_interval=ping_seconds,
            ws_ping_timeout=ping_seconds,
            ws_per_message_deflate=False,
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=5,
        )
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve([listener]))
        await server.listening.wait()
        try:
            yield Running(listener.getsockname()[1], service, dispatcher, sockets, document)
        finally:
            server.should_exit = True
            await serving
