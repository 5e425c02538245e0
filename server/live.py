"""Live sessions: a bounded cache of what Postgres holds, each session carried forward by one call at a time.

A session is held while it changes: from the moment a call is judged until its event is durable, or is known
not to be. What is held is seen by nobody else, so only what is committed is ever shown. A session whose
event failed is dropped and read again by whoever comes next.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol, TypeVar

from engine import EventKind
from server.clock import Clock
from server.ids import parse_id
from server.rpc.connection import Connection
from server.rpc.errors import NotFound, Unavailable
from server.store.database import Database
from server.store.entries import Entry
from server.store.errors import StoreUnavailable
from server.store.events import load_events
from server.store.journal import Journal
from server.store.players import find_player
from server.store.sessions import load_session
from server.storing import storing
from server.timeline import Happened, Timeline, wire_player
from server.turns import Live, Place

_ROUNDS: Final = 16
"""How many sessions are looked at to make room for one."""

_LATER: Final = 0.5
"""Seconds until what could not be read is tried again."""

T = TypeVar("T")

NO_SESSION: Final = "There is no such session; check its id."


class Audience(Protocol):
    """Those who are told of events that have become durable."""

    def publish(self, timeline: Timeline, happened: Happened, origin: object = None) -> None:
        """Tell all but ``origin``, which gets the answer."""
        ...

    def told(self, session: str) -> int | None:
        """Return the last event that all who listen to a session were told of; None if nobody does."""
        ...


class Asking(Protocol):
    """Who asks for an event: a call, or the server itself."""

    @property
    def connection(self) -> Connection | None:
        """Where it was asked for."""
        ...

    def answer_json(self, result: str) -> None:
        """Take the change, which is durable."""
        ...

    def fail(self, error: Exception) -> None:
        """Take the news that nobody knows whether it is, or that it cannot be."""
        ...


class LiveSessions:
    """The sessions that this process has in memory."""

    def __init__(
        self,
        database: Database,
        journal: Journal,
        clock: Clock,
        audience: Audience,
        doubt: Callable[[Entry], None],
        most: int,
        most_events: int,
    ) -> None:
        """Keep at most ``most`` sessions that nobody is busy with, of ``most_events`` events in all.

        ``audience`` is told of every event that is found or made, ``doubt`` with an entry of which nobody
        knows whether it is durable.
        """
        self._database = database
        self._journal = journal
        self._clock = clock
        self._audience = audience
        self._publish = audience.publish
        self._doubt = doubt
        self._most = most
        self._most_events = most_events
        self._events = 0
        self._cache: OrderedDict[str, Live] = OrderedDict()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._behind: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """Return how many sessions are in memory."""
        return len(self._cache)

    @property
    def events(self) -> int:
        """How many events the sessions in memory hold."""
        return self._events

    def knows(self, text: str) -> bool:
        """Tell whether a session is in memory, or being read into it."""
        return text in self._cache

    def idle(self, text: str) -> Live | None:
        """Return a session that is in memory and nobody's turn, held for the caller; None otherwise."""
        live = self._cache.get(text)
        if live is None or live.busy:
            return None
        live.busy = True
        self._cache.move_to_end(text)
        return live

    def queue(self, text: str) -> Place:
        """Take a place in a session's queue, in the order of the calls of this. It must be entered."""
        live = self._cache.get(text)
        if live is None:
            live = self._cache[text] = Live(text)
            return Place(live, None)
        self._cache.move_to_end(text)
        return Place(live, live.queue())

    async def enter(self, place: Place, *, fresh: bool = False) -> Live:
        """Wait for a place's turn and return the session, held for the caller. Must not be cancelled.

        Args:
            place: where the caller stands.
            fresh: whether to look for events that other processes have made.

        Raises:
            NotFound: there is no such session.
            StoreUnavailable: the store is away.
        """
        while True:
            live, turn = place
            if turn is None:
                await self._load(live)
                return live
            await turn
            if not live.dead:
                if fresh:
                    await self.refresh(live)
                return live
            live.leave()
            place = self.queue(live.text)

    async def _load(self, live: Live) -> None:
        """Read a session from the store into its place."""
        try:
            session = parse_id(live.text)
            if session is None:
                raise NotFound(NO_SESSION)
            async with self._database.reading() as db:
                row = await load_session(db, session)
                if row is None:
                    raise NotFound(NO_SESSION)
                player = await find_player(db, row.player)
                events = await load_events(db, session)
            assert player is not None, "a foreign key sees to it"
            timeline = Timeline(row, wire_player(player))
            told = self._audience.told(live.text)
            known = len(events) if told is None else min(told, len(events))
            await timeline.skip(events[:known])
            async for happened in timeline.advance(events[known:]):
                self._publish(timeline, happened)
        except BaseException:
            self.drop(live)
            raise
        live.timeline = timeline
        self._events += live.events
        self._shrink()

    async def refresh(self, live: Live) -> None:
        """Let a held session catch up with what other processes have made of it.

        Raises:
            StoreUnavailable: the store is away; the session is dropped.
        """
        timeline = live.timeline
        try:
            async with self._database.reading() as db:
                events = await load_events(db, timeline.row.id, since=timeline.seq)
            async for happened in timeline.advance(events):
                self._events += 1
                live.last = happened
                self._publish(timeline, happened)
        except BaseException:
            self.drop(live)
            raise

    def add(self, timeline: Timeline) -> None:
        """Take a session into memory that has just been made."""
        live = Live(timeline.text)
        live.timeline = timeline
        live.leave()
        self._cache[timeline.text] = live
        self._events += live.events
        self._shrink()

    def forget(self, text: str) -> None:
        """Make room of a session that is of no more use here, unless somebody is busy with it."""
        live = self._cache.get(text)
        if live is not None and not live.busy:
            self._forget(live)

    def drop(self, live: Live) -> None:
        """Forget a held session, since what is in memory may not be what is stored, and end the turn."""
        self._forget(live)
        live.leave()

    def _forget(self, live: Live) -> None:
        live.dead = True
        if self._cache.get(live.text) is live:
            del self._cache[live.text]
            self._events -= live.events

    def _shrink(self) -> None:
        """Forget the sessions that were idle for the longest time, if there are too many."""
        for _ in range(_ROUNDS):
            if len(self._cache) <= self._most and self._events <= self._most_events:
                return
            text, live = next(iter(self._cache.items()))
            if live.busy:
                self._cache.move_to_end(text)
            else:
                self._forget(live)

    def spawn(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Run work on a session as a task that goes on when whoever asked for it has gone.

        It fails with `Unavailable` where the work did with `StoreUnavailable`.
        """
        task = asyncio.get_running_loop().create_task(_available(work))
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        """Let go of a task, and of sessions that could not be forgotten while it was busy with them."""
        self._tasks.discard(task)
        self._shrink()

    def catch_up(self, text: str) -> None:
        """Look for events that other processes have made of a session, and tell subscribers."""
        self.spawn(self._catch_up(self.queue(text)))

    async def _catch_up(self, place: Place) -> None:
        try:
            live = await self.enter(place, fresh=True)
        except NotFound:
            return
        except StoreUnavailable:
            # Nobody else will tell these subscribers, if it was the session's last event.
            self._behind.add(place.live.text)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(_LATER, self._catch_up_again)
            return
        live.leave()

    def _catch_up_again(self) -> None:
        """Try once more what could not be read because the store was away."""
        behind, self._behind, self._timer = self._behind, set(), None
        for text in behind:
            self.catch_up(text)

    async def close(self, seconds: float) -> None:
        """Wait for work that is under way, for so long."""
        if self._timer is not None:
            self._timer.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    def make(
        self, live: Live, kind: EventKind, move: str | None, call: Asking, again: Callable[[], None]
    ) -> None:
        """Make the next event of a held session, and answer the call once the event's fate is known.

        It does not depend on whoever waits for the answer: an event that is made stays made, and is told to
        subscribers, when its caller has gone.

        Args:
            live: the session; unless this raises, it is no longer the caller's to leave.
            kind: the event's.
            move: the move made, or to be taken back.
            call: is answered with the change, or with `Unavailable` if nobody knows whether it is durable.
            again: judges the call afresh, for when another process was first.

        Raises:
            EngineError: the rules don't allow it; nothing has changed.
            Unavailable: the journal takes no more; nothing has changed.
        """
        timeline = live.timeline
        status = timeline.play.status
        happened = timeline.happen(kind, move, self._clock.now())
        self._events += 1
        entry = timeline.entry(happened, status)

        def settle(fate: bool | Exception) -> None:
            if isinstance(fate, Exception):
                self.drop(live)
                self._doubt(entry)
                call.fail(Unavailable() if isinstance(fate, StoreUnavailable) else fate)
            elif fate:
                live.last = happened
                self._publish(timeline, happened, call.connection)
                call.answer_json(happened.change())
                live.leave()
                if self._events > self._most_events:
                    self._shrink()
            else:
                self.drop(live)
                again()

        try:
            self._journal.submit(entry, settle)
        except StoreUnavailable:
            self._forget(live)
            raise Unavailable from None


async def _available(work: Coroutine[object, object, T]) -> T:
    """Do work on the store, whose absence is answered and is no failure of ours."""
    with storing():
        return await work
