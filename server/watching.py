"""Subscriptions: which connection is told of which session's events, each once and in order.

Every subscription knows the last `seq` that its connection has. Whatever carries a session forward in this
process, a call or the store, publishes each event here before it lets go of the session, so that nothing can
overtake anything.
"""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from server.ids import parse_id
from server.rpc.connection import Connection
from server.rpc.errors import NotAllowed
from server.rpc.messages import notification
from server.timeline import Happened, Timeline

_NOBODY: Final[dict[Connection, int]] = {}


class Watching:
    """The subscriptions of one process; sessions are named by their ids as they stand on the wire."""

    def __init__(self, most: int) -> None:
        """Let a connection subscribe to ``most`` sessions."""
        self._most = most
        self._sessions: dict[str, dict[Connection, int]] = {}
        self._connections: dict[Connection, set[str]] = {}
        self._expected: Counter[str] = Counter()
        self._names: dict[bytes, str] = {}

    def __len__(self) -> int:
        """Return how many subscriptions there are."""
        return sum(map(len, self._connections.values()))

    def add(self, session: str, connection: Connection, seq: int) -> None:
        """Subscribe a connection that has all events up to ``seq``; one that is subscribed begins anew.

        Raises:
            NotAllowed: the connection has too many subscriptions.
        """
        mine = self._connections.get(connection)
        known = mine is not None
        if mine is None:
            mine = self._connections[connection] = set()
        if session not in mine and len(mine) >= self._most:
            raise NotAllowed(
                f"A connection subscribes to {self._most} sessions at most; unsubscribe from some."
            )
        mine.add(session)
        self._note(session)
        self._sessions.setdefault(session, {})[connection] = seq
        if not known:
            # Last, since a connection that has ended by now calls back at once.
            connection.on_close(lambda: self._part(connection))

    @contextmanager
    def expecting(self, session: str) -> Generator[None]:
        """Count a session as one that somebody is subscribed to, and who lacks all that is hinted at.

        To be entered before the store is asked for what a subscription begins with: what becomes durable
        between that answer and the subscription is known from a hint alone, which must not be passed over.
        """
        self._expected[session] += 1
        self._note(session)
        try:
            yield
        finally:
            self._expected[session] -= 1
            if not self._expected[session]:
                del self._expected[session]
                self._forget(session)

    def remove(self, session: str, connection: Connection) -> None:
        """End a subscription, if there is one."""
        self._connections.get(connection, set()).discard(session)
        watchers = self._sessions.get(session)
        if watchers is not None:
            watchers.pop(connection, None)
            if not watchers:
                del self._sessions[session]
                self._forget(session)

    def drop(self, connection: Connection) -> None:
        """End all subscriptions of a connection. It may subscribe again."""
        for session in tuple(self._connections.get(connection, ())):
            self.remove(session, connection)

    def _part(self, connection: Connection) -> None:
        """Forget a connection that has ended."""
        self.drop(connection)
        self._connections.pop(connection, None)

    def _note(self, session: str) -> None:
        """Know a session by the bytes of its id as well."""
        ident = parse_id(session)
        if ident is not None:
            self._names[ident.bytes] = session

    def _forget(self, session: str) -> None:
        """Do so no longer, unless somebody is or may soon be subscribed to it."""
        ident = parse_id(session)
        if ident is not None and session not in self._sessions and session not in self._expected:
            self._names.pop(ident.bytes, None)

    def known(self, ident: bytes) -> str | None:
        """Return the session of this id, if somebody is or may soon be subscribed to it."""
        return self._names.get(ident)

    def lacks(self, session: str, seq: int) -> bool:
        """Tell whether somebody is or may soon be subscribed who was not told of the event of that number."""
        if session in self._expected:
            return True
        return any(has < seq for has in self._sessions.get(session, _NOBODY).values())

    def sessions(self) -> list[str]:
        """Return the sessions to which somebody is or may soon be subscribed."""
        return list(self._sessions.keys() | self._expected.keys())

    def told(self, session: str) -> int | None:
        """Return the last event that all who are subscribed to a session were told of; None if nobody is."""
        return min(self._sessions.get(session, _NOBODY).values(), default=None)

    def progress(self) -> list[tuple[str, int]]:
        """Return each session with the last event that all who are subscribed to it were told of."""
        return [(session, min(watchers.values())) for session, watchers in self._sessions.items()]

    def publish(self, timeline: Timeline, happened: Happened, origin: object = None) -> None:
        """Tell subscribers of a durable event, but for ``origin``, which gets the answer."""
        watchers = self._sessions.get(timeline.text)
        if not watchers:
            return
        seq, text = happened.seq, ""
        for connection, has in watchers.items():
            if has == seq - 1:
                watchers[connection] = seq
                if connection is not origin:
                    text = text or notification("session.event", happened.event(timeline.text))
                    connection.notify(text)
