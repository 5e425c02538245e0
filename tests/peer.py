"""Somebody at the other end of a WebSocket, who speaks the protocol with nothing in between.

Not our own client: what is sent and what comes back is under the test's eyes, and all of it is judged.
"""

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from tests.contract import Contract, Json

SECONDS = 30
"""How long anything may take."""


class Refused(Exception):
    """A call was answered with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(error)
        self.data: Json = error["data"]
        self.kind: str = self.data["kind"]
        self.message: str = error["message"]


class Lost(Exception):
    """The connection ended before the answer came, or there was none to be had."""


class Peer:
    """One WebSocket. Answers are found by their ids, events in the order in which they came."""

    def __init__(self, url: str, token: str | None = None, contract: Contract | None = None) -> None:
        self._url = url
        self._headers = {"authorization": f"Bearer {token}"} if token else {}
        self._contract = contract
        self._waiting: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._last = 0
        self._events: deque[Json] = deque()
        self._news = asyncio.Event()
        self.frames: list[str] = []
        """Everything that was received, as text."""
        self.token: str = token or ""
        self.player: Json = {}

    async def __aenter__(self) -> Self:
        try:
            self.socket: ClientConnection = await connect(
                self._url,
                additional_headers=self._headers,
                compression=None,
                max_size=None,
                open_timeout=SECONDS,
            )
        except (OSError, WebSocketException) as error:
            raise Lost from error
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.socket.close()
        await self._reader

    @property
    def closed(self) -> bool:
        """Whether the connection has ended."""
        return self._reader.done()

    async def until_closed(self) -> int | None:
        """Wait for the end of the connection and return the close code."""
        async with asyncio.timeout(SECONDS):
            await asyncio.shield(self._reader)
        return self.socket.close_code

    async def _read(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for frame in self.socket:
                assert isinstance(frame, str)
                self.frames.append(frame)
                self._take(json.loads(frame))
        for _, future in self._waiting.values():
            if not future.done():
                future.set_exception(Lost())
        self._news.set()

    def _take(self, message: Json | list[Json]) -> None:
        if isinstance(message, list):
            # The answer to a batch, which the test has sent by itself.
            return
        if "method" in message:
            self._events.append(message)
            self._news.set()
        elif message.get("id") in self._waiting:
            method, future = self._waiting.pop(message["id"])
            if not future.done():
                self._settle(method, message, future)

    def _settle(self, method: str, message: Json, future: asyncio.Future[Any]) -> None:
        try:
            if "error" in message:
                if self._contract is not None:
                    self._contract.check_error(method, message["error"])
                future.set_exception(Refused(message["error"]))
            else:
                if self._contract is not None:
                    self._contract.check_result(method, message["result"])
                future.set_result(message["result"])
        except Exception as error:  # noqa: BLE001  What does not hold fails the test that waits.
            future.set_exception(error)

    async def begin(self, method: str, /, **params: object) -> asyncio.Future[Any]:
        """Send a call and return the future of its result; it fails with `Refused` or `Lost`."""
        self._last += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[self._last] = method, future
        message = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}
        try:
            await self.socket.send(json.dumps(message))
        except ConnectionClosed:
            raise Lost from None
        return future

    async def call(self, method: str, /, **params: object) -> Any:
        """Make a call and return its result."""
        async with asyncio.timeout(SECONDS):
            return await (await self.begin(method, **params))

    async def refused(self, method: str, /, **params: object) -> Json:
        """Make a call that is refused and return the error's `data`."""
        try:
            result = await self.call(method, **params)
        except Refused as refusal:
            return refusal.data
        raise AssertionError(f"{method} was not refused: {result}")

    async def kind(self, method: str, /, **params: object) -> str:
        """Make a call that is refused and return the error's kind."""
        return (await self.refused(method, **params))["kind"]

    async def notified(self) -> Json:
        """Return the next notification, whole."""
        async with asyncio.timeout(SECONDS):
            while not self._events:
                if self.closed:
                    raise Lost
                self._news.clear()
                await self._news.wait()
        return self._events.popleft()

    async def event(self) -> Json:
        """Return the params of the next notification, which must be a `session.event`."""
        message = await self.notified()
        assert message["method"] == "session.event"
        if self._contract is not None:
            self._contract.check_event(message["params"])
        return message["params"]

    async def events(self, count: int) -> list[Json]:
        """Return the params of so many events."""
        return [await self.event() for _ in range(count)]

    async def quiet(self) -> bool:
        """Tell whether no event is left, all that was sent before this call having come."""
        await self.call("server.info")
        return not self._events

    async def log_in(self, token: str | None = None) -> None:
        """Act for a new guest, or for whom a token belongs to."""
        self.token = token or (await self.call("auth.guest"))["token"]
        self.player = (await self.call("auth.use", token=self.token))["player"]

    async def deal(self, game: str = "klondike", **params: object) -> Json:
        """Create a session and return its view."""
        return await self.call("session.create", game=game, **params)

    async def play(self, session: str, moves: list[str], seq: int = 0) -> int:
        """Make moves one after another and return the last one's `seq`."""
        for move in moves:
            seq = (await self.call("session.move", session=session, move=move, seq=seq))["seq"]
        return seq


async def outcome(future: asyncio.Future[Any]) -> str:
    """Wait for a call and return its error's kind, or "done"."""
    try:
        async with asyncio.timeout(SECONDS):
            await future
    except Refused as refused:
        return refused.kind
    return "done"


@asynccontextmanager
async def guest(url: str, contract: Contract | None = None) -> AsyncGenerator[Peer]:
    """Give the connection of a new guest."""
    async with Peer(url, contract=contract) as peer:
        await peer.log_in()
        yield peer
