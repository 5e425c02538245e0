"""The protocol's methods as typed calls, and the sessions that are open."""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import msgspec

from clients.python.connection import Connection
from clients.python.errors import ApiError, BadAnswer, ClientError, InternalError, RateLimited, Unavailable
from clients.python.json_data import Json, Object
from clients.python.session import Session
from clients.python.views import (
    Description,
    Event,
    Game,
    Identity,
    Login,
    Player,
    Replay,
    ServerInfo,
    SessionPage,
    Verdict,
    View,
)

T = TypeVar("T")

DEFAULT_URL: Final = "ws://127.0.0.1:8000/ws"

_RESENDABLE: Final = frozenset(
    {
        "rpc.discover",
        "server.info",
        "auth.use",
        "auth.token_list",
        "games.list",
        "games.describe",
        "session.get",
        "session.list",
        "session.move",
        "session.undo",
        "session.resign",
        "session.subscribe",
        "session.unsubscribe",
        "session.record",
        "record.verify",
        "record.replay",
        "daily.list",
        "daily.start",
        "leaderboard.list",
        "leaderboard.top",
        "leaderboard.around",
        "player.get",
        "race.get",
        "race.list",
        "race.subscribe",
        "race.unsubscribe",
        "account.subscribe",
    }
)
"""Methods that are the same said once or twice."""


class _Opened(msgspec.Struct):
    view: dict[str, Any]


_event: Final = msgspec.json.Decoder(Event).decode
_object: Final = msgspec.json.Decoder(dict[str, Any]).decode
_opened: Final = msgspec.json.Decoder(_Opened).decode
_json: Final = msgspec.json.Decoder().decode


def connect(
    url: str = DEFAULT_URL,
    token: str | None = None,
    *,
    timeout: float = 30.0,
    retry_for: float = 60.0,
    heartbeat: float = 5.0,
) -> "Client":
    """Return a client to be entered: `async with connect(url) as client:`.

    Args:
        url: a `ws://` or `wss://` address. It never carries a token.
        token: whom to act for; see also `Client.guest` and `Client.use`.
        timeout: seconds after which a call that is not answered raises `CallTimeout`.
        retry_for: seconds for which a connection that broke is tried to be made again.
        heartbeat: seconds of silence after which the server is asked for a sign of life. A connection that
            has died without a word is found in at most three times as many, so choose it with `timeout`.

    Raises:
        ValueError: `url` is no WebSocket address.
    """
    return Client(url, token, timeout=timeout, retry_for=retry_for, heartbeat=heartbeat)


class Client:
    """A player's side of one connection, which comes back by itself when it breaks.

    Then the player is authenticated and all open sessions are subscribed to again, with the events that were
    missed, and calls under way are sent again where that is safe. All methods raise `ApiError` if the server
    refuses, `CallTimeout` without an answer, and `ConnectionLost` where the connection broke and either
    cannot be made again or the call is not one to be sent twice.
    """

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float, retry_for: float, heartbeat: float
    ) -> None:
        """Prepare a client; see `connect`."""
        self._token = token
        self._identity: Identity | None = None
        self._sessions: dict[str, Session] = {}
        self._listeners: dict[str, list[Callable[[Any], object]]] = {}
        self._onlookers: list[Callable[[bool], object]] = []
        self._connection = Connection(
            url,
            timeout=timeout,
            retry_for=retry_for,
            heartbeat=heartbeat,
            on_notification=self._notified,
            on_connected=self._connected,
            on_end=self._ended,
            on_state=self._changed_state,
        )

    async def __aenter__(self) -> Self:
        """Connect.

        Raises:
            ConnectionLost: the server cannot be reached.
            Unauthenticated: the token is not valid.
        """
        await self._connection.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection. Sessions go on, on the server."""
        await self._connection.close()

    @property
    def token(self) -> str | None:
        """The token that the client acts with. Keep it as a secret."""
        return self._token

    @property
    def player(self) -> Player | None:
        """Whom the client acts for, if for anybody."""
        return self._identity.player if self._identity else None

    @property
    def reconnects(self) -> int:
        """How often the connection broke and was made again."""
        return max(0, self._connection.connected - 1)

    async def call(self, method: str, /, **params: object) -> Any:  # noqa: ANN401  The method says what it is.
        """Call any method, and return its result as plain data. Params that are None count as absent.

        Where the result changes a session that is open here, the session learns of it a little later.
        """
        resend = method in _RESENDABLE or params.get("request_id") is not None
        return await self._connection.call(method, params, _json, resend=resend)

    def on(self, method: str, callback: Callable[[Any], object]) -> None:
        """Have `callback` called with the params of each notification `method`, as plain data.

        It is called from the event loop and must not block. Only the events of sessions are repaired after a
        broken connection; for others subscribe again, with `since`.
        """
        self._listeners.setdefault(method, []).append(callback)

    def on_connection(self, callback: Callable[[bool], object]) -> None:
        """Have `callback` called with False when the connection breaks and True when it is there again.

        It is called from the event loop and must not block. That the connection is given up or closed is not
        told: calls and watches raise `ConnectionLost` then.
        """
        self._onlookers.append(callback)

    # Who one is.

    async def guest(self, name: str | None = None) -> Player:
        """Become a new guest, and act for them from here on."""
        login = await self._call("auth.guest", Login, name=name)
        return (await self.use(login.token)).player

    async def use(self, token: str) -> Identity:
        """Act with another token from here on. If it is not valid, nothing changes."""
        identity = await self._call("auth.use", Identity, token=token)
        self._token, self._identity = token, identity
        return identity

    async def logout(self) -> None:
        """Revoke the token, and act for nobody from here on."""
        await self.call("auth.logout")
        self._token = self._identity = None

    # What there is.

    async def info(self) -> ServerInfo:
        """Return what the server says of itself."""
        return await self._call("server.info", ServerInfo)

    async def games(self, *, lang: str | None = None) -> tuple[Game, ...]:
        """Return all games that the server has."""
        return await self._call("games.list", tuple[Game, ...], lang=lang)

    async def describe(
        self, game: str, options: Mapping[str, object] | None = None, *, lang: str | None = None
    ) -> Description:
        """Return a game with its layout and rules."""
        return await self._call("games.describe", Description, game=game, options=options, lang=lang)

    # Sessions.

    async def create(
        self,
        game: str,
        options: Mapping[str, object] | None = None,
        *,
        seed: str | None = None,
        public: bool | None = None,
        request_id: str | None = None,
    ) -> Session:
        """Begin a session. One that was begun with the same `request_id` before is returned as it is now.

        Without a `request_id` a new one is drawn, so that a lost answer never leads to a second session.
        """
        session = await self._connection.call(
            "session.create",
            {
                "game": game,
                "options": options,
                "seed": seed,
                "public": public,
                "request_id": request_id or secrets.token_hex(16),
            },
            lambda result: self._adopt(_object(result)),
            resend=True,
        )
        await session.catch_up()
        return session

    async def open(self, session: str) -> Session:
        """Take up a session, or watch somebody's that may be watched."""
        opened = self._sessions.get(session)
        if opened is None:
            opened = await self._connection.call(
                "session.subscribe", {"session": session}, self._opened, resend=True
            )
        await opened.follow()
        return opened

    async def view(self, session: str, *, seq: int | None = None) -> View:
        """Return the view of a session, also one that is not open, now or after an event."""
        return await self._call("session.get", View, session=session, seq=seq)

    async def sessions(
        self,
        *,
        status: str | None = None,
        game: str | None = None,
        mode: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> SessionPage:
        """Return a page of one's own sessions, newest first."""
        return await self._call(
            "session.list", SessionPage, status=status, game=game, mode=mode, cursor=cursor, limit=limit
        )

    # Records.

    async def record(self, session: str) -> Object:
        """Return a session's record as plain data, to be kept or verified as it is; see `Record.of`."""
        return await self._connection.call("session.record", {"session": session}, _object, resend=True)

    async def verify(self, record: Mapping[str, Json]) -> Verdict:
        """Have a record played again, and return whether it holds."""
        return await self._call("record.verify", Verdict, record=record)

    async def replay(self, record: Mapping[str, Json], *, since: int | None = None) -> Replay:
        """Return what a record shows: its first view, and up to a thousand events after `since`."""
        return await self._call("record.replay", Replay, record=record, since=since)

    async def _call(self, method: str, result: type[T], **params: object) -> T:
        def read(raw: msgspec.Raw) -> T:
            return msgspec.json.decode(raw, type=result)

        return await self._connection.call(method, params, read, resend=method in _RESENDABLE)

    def _adopt(self, data: Object) -> Session:
        """Make a session of a view, unless it is open; in the reading task, so that no event comes before."""
        ident = data.get("session")
        if isinstance(ident, str) and (known := self._sessions.get(ident)):
            return known
        session = Session(self._connection, data, self._forget)
        self._sessions[session.id] = session
        return session

    def _opened(self, result: msgspec.Raw) -> Session:
        view = _opened(result).view
        session = self._adopt(view)
        if session.data is view:
            session.subscribed()
        return session

    def _forget(self, session: Session) -> None:
        self._sessions.pop(session.id, None)

    def _notified(self, method: str, params: msgspec.Raw) -> None:
        if method == "session.event":
            try:
                event = _event(params)
            except msgspec.DecodeError as error:
                raise BadAnswer(f"an event is not of the protocol: {error}") from error
            if (session := self._sessions.get(event.session)) is not None:
                session.hear(event)
        if listeners := self._listeners.get(method):
            loop = asyncio.get_running_loop()
            data = _json(params)
            for callback in listeners:
                loop.call_soon(callback, data)

    async def _connected(self) -> None:
        """Be on a new connection what one was on the last."""
        if self._token is not None:

            def read(raw: msgspec.Raw) -> Identity:
                return msgspec.json.decode(raw, type=Identity)

            params = {"token": self._token}
            self._identity = await self._connection.call("auth.use", params, read, resend=False, urgent=True)
        # All at once, or the last one would wait for as many answers as there are sessions.
        taking_up = [asyncio.create_task(_take_up(session)) for session in self._sessions.values()]
        try:
            await asyncio.gather(*taking_up)
        finally:
            for task in taking_up:
                task.cancel()

    def _changed_state(self, connected: bool) -> None:
        loop = asyncio.get_running_loop()
        for callback in self._onlookers:
            loop.call_soon(callback, connected)

    def _ended(self, reason: ClientError | None) -> None:
        for session in list(self._sessions.values()):
            session.end(reason)


async def _take_up(session: Session) -> None:
    """Subscribe to a session again, on a new connection."""
    try:
        await session.catch_up(urgent=True)
    except (Unavailable, RateLimited, InternalError):
        raise
    except (ApiError, BadAnswer) as error:
        # It may be watched no longer, or is gone; the other sessions are none the worse for it.
        session.end(error)
