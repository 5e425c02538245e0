"""Reading sessions: views, pages of events, lists and records, each for those who may see it."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final, cast

import msgspec

from server import wire
from server.auth import Caller
from server.clock import Clock, elapsed_ms, rfc3339
from server.ids import id_text, parse_id
from server.live import LiveSessions
from server.rpc.call import Call
from server.rpc.connection import Connection
from server.rpc.errors import InvalidParams, NotFound, RpcError
from server.sight import see
from server.store.database import Database
from server.store.events import load_events
from server.store.players import Player
from server.store.sessions import Session, SessionLine, list_sessions
from server.sweep import Sweep
from server.timeline import Happened, Timeline
from server.turns import Place
from server.watching import Watching

PAGE: Final = 1_000
"""How many events one answer has at most."""


async def read_events(
    database: Database, row: Session, player: wire.Player, since: int, most: int
) -> list[Happened]:
    """Read at most so many events of a session after ``since``, with all that was told of them."""
    async with database.reading() as db:
        events = await load_events(db, row.id, limit=since + most)
    timeline = Timeline(row, player)
    await timeline.skip(events[:since])
    return [happened async for happened in timeline.advance(events[since:])]


async def _read_upto(database: Database, row: Session, player: wire.Player, seq: int) -> Timeline:
    """Read a session as it was after an event."""
    async with database.reading() as db:
        events = await load_events(db, row.id, limit=seq)
    timeline = Timeline(row, player)
    await timeline.skip(events)
    return timeline


class _Digest(msgspec.Struct):
    """What is looked at of a record."""

    digest: str


class Reading:
    """Reads sessions. What is returned as a task goes on when the caller has gone."""

    def __init__(self, database: Database, live: LiveSessions, watching: Watching, clock: Clock) -> None:
        """Read from ``database`` what is not in memory."""
        self._database = database
        self._live = live
        self._watching = watching
        self._clock = clock
        self._sweep = Sweep(database, live, watching)

    def view(self, call: Call, text: str, seq: int | None) -> "asyncio.Task[None]":
        """Answer with a session's view, as it is, or as it was after the event ``seq``."""
        return self._start(self._view(self._live.queue(text), call, seq))

    def record(self, call: Call, text: str) -> "asyncio.Task[None]":
        """Answer with a session's record."""
        return self._start(self._record(self._live.queue(text), call))

    def subscribe(self, call: Call, text: str, since: int | None) -> "asyncio.Task[None]":
        """Subscribe a call's connection to a session, and answer before anything is told of it."""
        return self._start(self._subscribe(self._live.queue(text), call, since))

    def unsubscribe(self, call: Call, text: str) -> "asyncio.Task[wire.Empty] | wire.Empty":
        """End a subscription, in the order of the calls for a session."""
        connection = call.connection
        assert connection is not None, "the method is for sockets only"
        if not self._live.knows(text):
            # Then no subscription is under way either.
            self._watching.remove(text, connection)
            return wire.Empty()
        return self._start(self._unsubscribe(self._live.queue(text), connection))

    async def _unsubscribe(self, place: Place, connection: Connection) -> wire.Empty:
        try:
            live = await self._live.enter(place)
            live.leave()
        except NotFound:
            pass
        self._watching.remove(place.live.text, connection)
        return wire.Empty()

    def _start(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        return self._live.spawn(work)

    @asynccontextmanager
    async def _seen(self, place: Place, call: Call) -> AsyncGenerator[Timeline]:
        """Hold a session as it is now, if the call's player may see it, until the call is answered.

        A refusal answers it too, so that no call that came later is answered before.
        """
        live = await self._live.enter(place, fresh=True)
        try:
            see(cast("Caller | None", call.caller), live.timeline)
            yield live.timeline
        except RpcError as error:
            call.refuse(error)
        finally:
            live.leave()

    async def _view(self, place: Place, call: Call, seq: int | None) -> None:
        async with self._seen(place, call) as timeline:
            if seq is None:
                call.answer(timeline.view(timeline.elapsed(self._clock.now())))
                return
            _check_seq(timeline, "/seq", seq)
            then = timeline
            if seq != timeline.seq:
                then = await _read_upto(self._database, timeline.row, timeline.player, seq)
            call.answer(then.view(then.history[-1][2] if then.history else 0))

    async def _record(self, place: Place, call: Call) -> None:
        async with self._seen(place, call) as timeline:
            call.answer(timeline.record(self._clock.now()))

    async def _subscribe(self, place: Place, call: Call, since: int | None) -> None:
        connection = call.connection
        assert connection is not None, "the method is for sockets only"
        text = place.live.text
        with self._watching.expecting(text):
            async with self._seen(place, call) as timeline:
                if since is None:
                    self._watch(connection, timeline)
                    call.answer({"view": timeline.view(timeline.elapsed(self._clock.now()))})
                    return
                _check_seq(timeline, "/since", since)
                missed: list[Happened] = []
                if since < timeline.seq:
                    # What another process makes meanwhile is not of this page: it is told afterwards.
                    most = min(PAGE, timeline.seq - since)
                    missed = await read_events(self._database, timeline.row, timeline.player, since, most)
                more = since + len(missed) < timeline.seq
                if more:
                    # Live events begin after the last page, also for one who was subscribed before.
                    self._watching.remove(text, connection)
                else:
                    self._watch(connection, timeline)
                call.answer({"events": [happened.event(text) for happened in missed], "more": more})

    def _watch(self, connection: Connection, timeline: Timeline) -> None:
        """Subscribe a connection, if whom it acts for by now may see the session."""
        see(cast("Caller | None", connection.caller), timeline)
        self._watching.add(timeline.text, connection, timeline.seq)
        self._sweep.begin()

    async def source(self, text: str, digest: str) -> Session | None:
        """Return the session that a record was made of; None if it is none of ours, or not as it is.

        Args:
            text: the session that the record names.
            digest: the record's, which covers all that it says.

        Raises:
            StoreUnavailable: the store is away.
        """
        try:
            live = await self._live.enter(self._live.queue(text), fresh=True)
        except NotFound:
            return None
        try:
            ours = msgspec.json.decode(live.timeline.record(self._clock.now()), type=_Digest)
            return live.timeline.row if ours.digest == digest else None
        finally:
            live.leave()

    async def list(
        self,
        player: Player,
        *,
        status: str | None,
        game: str | None,
        mode: str | None,
        cursor: str | None,
        limit: int,
    ) -> wire.SessionPage:
        """Return a page of a player's sessions, newest first."""
        before = None if cursor is None else parse_id(cursor)
        if cursor is not None and before is None:
            raise InvalidParams("/cursor", "This is no cursor; give the one of the page before, or none.")
        if game is not None and "\0" in game:
            # PostgreSQL has no such text, so nothing is called that; it would not even take the question.
            return wire.SessionPage([], None)
        async with self._database.reading() as db:
            lines = await list_sessions(
                db, player.id, status=status, game=game, mode=mode, before=before, limit=limit + 1
            )
        page = [self._item(line) for line in lines[:limit]]
        return wire.SessionPage(page, id_text(lines[limit - 1].id) if len(lines) > limit else None)

    def _item(self, line: SessionLine) -> wire.SessionItem:
        """Return a session as it stands in a list."""
        elapsed = line.elapsed_ms
        return wire.SessionItem(
            session=id_text(line.id),
            game=line.game,
            variant=line.variant,
            mode=cast("wire.Mode", line.mode),
            status=cast("wire.Status", line.status),
            score=line.score,
            moves=line.moves,
            elapsed_ms=elapsed_ms(line.created_at, self._clock.now()) if elapsed is None else elapsed,
            started_at=rfc3339(line.created_at),
            ended_at=None if line.ended_at is None else rfc3339(line.ended_at),
        )


def _check_seq(timeline: Timeline, path: str, seq: int) -> None:
    """Refuse a number that the session has not reached.

    Raises:
        InvalidParams: it is greater than the last event's.
    """
    if seq > timeline.seq:
        raise InvalidParams(path, f"The session is at seq {timeline.seq}; give 0 to {timeline.seq}.")
