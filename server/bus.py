"""Fan-out between processes: a hint over Redis that a session has gone on, or that a token is revoked.

Nothing depends on hints but how soon somebody is told: whoever hears one reads Postgres. While Redis is away
play goes on. When it is back, whoever lost it looks at everything again, and tells what the others may have
missed, who need not have lost it at the same time.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Mapping, Sequence
from typing import Final, Protocol, Self, cast
from uuid import UUID

import msgspec
import structlog
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from server.backlog import Backlog
from server.live import LiveSessions
from server.store.entries import Entry
from server.watching import Watching

_CHANNEL: Final = "patience-arena:sessions"
_MOST_WAITING: Final = 10_000
_PACE: Final = 0.005
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0
_TIMEOUT: Final = 2.0
_FAREWELL: Final = 1.0
"""Seconds that Redis has to take what waits to be told when the process stops."""
_ANY: Final = 2**31
"""A number that no event has reached."""
_SILENCE: Final = 3.0
"""Seconds after which Redis is asked for a sign of life, and within which it gives one."""

_log: Final[structlog.stdlib.BoundLogger] = structlog.get_logger(__name__)


class _PubSub(Protocol):
    """What is used of redis-py's subscriptions."""

    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *error: object) -> None: ...
    async def subscribe(self, channel: str) -> None: ...
    async def ping(self) -> None: ...
    async def get_message(self, *, timeout: float) -> Mapping[str, object] | None: ...  # noqa: ASYNC109  It is redis-py's.


class _Redis(Protocol):
    """What is used of redis-py, whose own types leave much open."""

    def ping(self) -> Awaitable[bool]: ...
    def publish(self, channel: str, message: bytes) -> Awaitable[int]: ...
    def pubsub(self) -> _PubSub: ...
    def aclose(self) -> Awaitable[None]: ...


class _Hint(msgspec.Struct, array_like=True):
    """What one process tells the others: who it is, and how far which sessions have come."""

    sender: str
    sessions: msgspec.Raw
    """A list of pairs of an id's bytes and `seq`, decoded by those who did not send it. None at all mean that
    there were too many to be named."""


_encode: Final = msgspec.msgpack.Encoder(uuid_format="bytes").encode
_decode: Final = msgspec.msgpack.Decoder(_Hint).decode
_decode_sessions: Final = msgspec.msgpack.Decoder(list[tuple[bytes, int]]).decode


class Bus:
    """One process's ear and mouth."""

    def __init__(self, redis_url: str, watching: Watching) -> None:
        """Connect to nothing yet."""
        redis = Redis.from_url(  # pyright: ignore[reportUnknownMemberType]  It leaves its keywords open.
            redis_url, socket_timeout=_TIMEOUT, socket_connect_timeout=_TIMEOUT
        )
        self._redis = cast("_Redis", redis)
        self._watching = watching
        self._backlog: Backlog | None = None
        self._name = secrets.token_hex(8)
        self._news: list[tuple[UUID, int]] = []
        self._lost = False
        self._wake = asyncio.Event()
        self._all_told = asyncio.Event()
        self._all_told.set()
        self._tasks: list[asyncio.Task[None]] = []
        self.heard = self.told = self.failures = 0
        """Hints taken and given since the start, and how often Redis took none."""

    async def start(self, live: LiveSessions) -> None:
        """Begin to listen and to tell; Redis need not be there."""
        self._backlog = Backlog(live, self._watching)
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._tell())]

    async def close(self) -> None:
        """Tell what waits to be told, if Redis takes it at once, and stop."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL):
                await self._all_told.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(RedisError, OSError):
            await self._redis.aclose()

    async def ping(self) -> bool:
        """Tell whether Redis answers."""
        try:
            return bool(await self._redis.ping())
        except (RedisError, OSError):
            return False

    def tell(self, entries: Sequence[Entry]) -> None:
        """Let other processes know that these events are durable."""
        if len(self._news) > _MOST_WAITING:
            # Redis has been away for long.
            self._news.clear()
            self._lost = True
        self._news += [(entry.session, entry.seq) for entry in entries]
        self._all_told.clear()
        self._wake.set()

    async def _tell(self) -> None:
        """Publish what is new, as much at a time as there is."""
        pause = _FIRST_PAUSE
        while True:
            await self._wake.wait()
            self._wake.clear()
            news, self._news = self._news, []
            lost, self._lost = self._lost, False
            if not news and not lost:
                self._all_told.set()
                continue
            try:
                await self._redis.publish(_CHANNEL, self._hint([] if lost else news))
                self.told += len(news)
                pause = _FIRST_PAUSE
                if not self._news:
                    self._all_told.set()
                # Under load hints are gathered: they cost more than what they tell.
                await asyncio.sleep(_PACE)
            except (RedisError, OSError):
                self._news[:0] = news
                self._lost = self._lost or lost
                self._wake.set()
                self.failures += 1
                await asyncio.sleep(pause)
                pause = min(_LONGEST_PAUSE, pause * 2)

    def _hint(self, news: Sequence[tuple[UUID, int]]) -> bytes:
        """Encode what is new."""
        return _encode(_Hint(self._name, msgspec.Raw(_encode(news))))

    async def _listen(self) -> None:
        """Hear what other processes tell, for as long as the process lives."""
        pause = _FIRST_PAUSE
        while True:
            try:
                async with self._redis.pubsub() as pubsub:
                    await pubsub.subscribe(_CHANNEL)
                    asked = False
                    while True:
                        message = await pubsub.get_message(timeout=_SILENCE)
                        if message is not None:
                            pause, asked = _FIRST_PAUSE, False
                            self._hear(message)
                        elif asked:
                            raise RedisConnectionError("no sign of life")
                        else:
                            # The other end may have gone without a word, which reading alone never shows.
                            await pubsub.ping()
                            asked = True
            except (RedisError, OSError) as error:
                _log.warning("bus_away", error=type(error).__name__)
                await asyncio.sleep(pause)
                pause = min(_LONGEST_PAUSE, pause * 2)

    def _hear(self, message: Mapping[str, object]) -> None:
        """Look into what a message hints at."""
        assert self._backlog is not None, "it has been started"
        if message["type"] == "subscribe":
            # The first time, and after every connection that was lost: something may have been missed.
            self._look_at_everything(self._backlog)
        data = message["data"]
        if message["type"] != "message" or not isinstance(data, bytes):
            return
        try:
            hint = _decode(data)
            if hint.sender == self._name:
                return
            sessions = _decode_sessions(hint.sessions)
        except msgspec.DecodeError:
            _log.warning("bus_garbled")
            return
        if not sessions:
            self._look_at_everything(self._backlog)
        self.heard += len(sessions)
        known = self._watching.known
        for ident, seq in sessions:
            # Of most of what a process hears nobody here wants to know.
            text = known(ident)
            if text is not None and self._watching.lacks(text, seq):
                self._backlog.add(text, seq)

    def _look_at_everything(self, backlog: Backlog) -> None:
        """Let all sessions that somebody is subscribed to catch up."""
        for text in self._watching.sessions():
            backlog.add(text, _ANY)
