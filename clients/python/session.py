"""A session kept in step with the server, by patches that are checked one by one."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final, cast
from weakref import WeakSet

import msgspec

from clients.python.check import check
from clients.python.connection import Connection
from clients.python.errors import BadAnswer, ClientError, ConnectionLost, PatchError, StaleSeq
from clients.python.json_data import Object
from clients.python.patch import apply
from clients.python.views import Answer, Event, EventKind, EventPage, Pile, Status, View
from clients.python.watch import Watch

_log: Final = logging.getLogger("patience.client")
_object: Final = msgspec.json.Decoder(dict[str, Any]).decode
_answer: Final = msgspec.json.Decoder(Answer).decode
_page: Final = msgspec.json.Decoder(EventPage).decode


class Session:
    """One session: its view, which is always right or known not to be, and what its player can do.

    Made by `Client.create` and `Client.open`, and valid as long as the client is. Changes made through other
    connections, of this player or another program of theirs, arrive by themselves. Calls that change the
    session are made one after another, in the order in which they were asked for.
    """

    def __init__(self, connection: Connection, data: Object, closed: Callable[["Session"], None]) -> None:
        """Begin with a view as plain data; `closed` is told when the session is let go.

        Raises:
            msgspec.ValidationError: it is no view.
        """
        self._connection = connection
        self._closed = closed
        self._clock = asyncio.get_running_loop().time
        self._adopt(data)
        self.id = self.view.session
        self.game = self.view.game
        self._seq = self.view.seq
        """The last event heard of; the view shows it unless it is wrong."""
        self._wrong = check(data["piles"]) != self.view.check
        self._subscribed = False
        self._turn = asyncio.Lock()
        self._catching_up: asyncio.Task[None] | None = None
        self._watches: WeakSet[Watch] = WeakSet()
        self._callbacks: list[Callable[[Event], object]] = []
        self._ended = False
        self.gaps = 0
        """How often events were found missing and had to be asked for."""
        self.repairs = 0
        """How often the view did not match the server's check and had to be read anew."""

    @property
    def view(self) -> View:
        """What is on the table now. A view that was returned before stays what it was."""
        return self._view

    @property
    def data(self) -> Object:
        """The view as plain data, with all fields that the server sent. Must not be changed."""
        return self._data

    @property
    def piles(self) -> dict[str, Pile]:
        """All piles in layout order."""
        return self.view.piles

    @property
    def legal(self) -> tuple[str, ...]:
        """Every legal move."""
        return self.view.legal

    @property
    def status(self) -> Status:
        """`playing`, or how it ended."""
        return self.view.status

    @property
    def seq(self) -> int:
        """How many events the view shows."""
        return self.view.seq

    @property
    def elapsed_ms(self) -> int:
        """The server's time since the beginning, or to the end, as far as it can be known without asking."""
        since = self._clock() - self._elapsed_at
        return self.view.elapsed_ms + (round(since * 1000) if self.status == "playing" else 0)

    async def move(self, move: str) -> Answer:
        """Make a move. If the connection breaks it is sent again, and is never made twice.

        Raises:
            IllegalMove: the rules don't allow it.
            StaleSeq: the session has changed meanwhile; the view shows it by now, and the move was not made.
            ApiError: refused for another reason, such as `SessionOver` or `Forbidden`.
            ClientError: whether it was made is not known; the view will show it.
        """
        return await self._change("session.move", "move", move)

    async def undo(self) -> Answer:
        """Take back the last move that is in effect. Raises as `move`, and `Conflict` if there is none."""
        return await self._change("session.undo", "undo")

    async def resign(self) -> Answer:
        """Give up. Doing so again gives the same answer. Raises as `move`."""
        return await self._change("session.resign", "resign")

    async def refresh(self) -> View:
        """Ask for the view, if only for the exact `elapsed_ms`, and return it."""

        def renew(result: msgspec.Raw) -> None:
            data = _object(result)
            if data.get("seq") == self._seq and not self._wrong:
                self._adopt(data)

        await self._connection.call("session.get", {"session": self.id}, renew, resend=True)
        return self.view

    def watch(self) -> Watch:
        """Return an iterator over the events from here on, those of one's own changes included."""
        watch = Watch()
        if self._ended or self._is_final():
            watch.end()
        else:
            self._watches.add(watch)
        return watch

    def on_event(self, callback: Callable[[Event], object]) -> Callable[[], None]:
        """Have `callback` called with each event from here on, in order; return what ends that.

        It is called from the event loop, after the view has changed, and must not block.
        """
        self._callbacks.append(callback)

        def stop() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return stop

    async def close(self) -> None:
        """Take no further part: no events any more. The session itself goes on, on the server."""
        if not self._ended:
            self.end(None)
            with suppress(ConnectionLost):
                await self._connection.call(
                    "session.unsubscribe", {"session": self.id}, lambda _: None, resend=True
                )

    # What follows is for the client, which owns the connection.

    def hear(self, event: Event) -> None:
        """Take part in an event. Called in the reading task, in the order in which messages came."""
        if event.seq <= self._seq or self._ended:
            return
        if self._wrong or event.seq > self._seq + 1:
            if not self._wrong:
                self.gaps += 1
                _log.info("events are missing: at %d came %d", self._seq, event.seq)
            self._catch_up_soon()
            return
        self._seq = event.seq
        if not self._patched(event):
            self.repairs += 1
            self._wrong = True
            _log.warning("the view is wrong at event %d and is read anew", event.seq)
            self._catch_up_soon()
        self._tell(event)

    def subscribed(self) -> None:
        """Take note that all events after the view come, by this connection and each later one."""
        self._subscribed = True

    async def follow(self) -> None:
        """Subscribe, unless that is done."""
        if not self._subscribed:
            await self.catch_up()

    async def catch_up(self, *, urgent: bool = False) -> None:
        """Subscribe, and get the view right and up to date; `urgent` while a connection is restored."""
        call = partial(self._connection.call, resend=not urgent, urgent=urgent)
        more = True
        while (more or self._wrong) and not self._ended:
            if self._wrong:
                await call("session.get", {"session": self.id, "seq": self._seq}, self._replaced)
            before = self._seq
            more = await call("session.subscribe", {"session": self.id, "since": before}, self._followed)
            if more and self._seq == before:
                raise BadAnswer("the server promises more events and sends none")
        self._subscribed = True

    def end(self, error: ClientError | None) -> None:
        """Let everybody know that no more events will come, and why if it is an error."""
        if self._ended:
            return
        self._ended = True
        if self._catching_up is not None:
            self._catching_up.cancel()
        self._end_watches(error)
        self._closed(self)

    async def _change(self, method: str, kind: EventKind, move: str | None = None) -> Answer:
        async with self._turn:
            if self._catching_up is not None:
                await asyncio.wait((self._catching_up,))
            if self._wrong:
                await self.catch_up()
            params = {"session": self.id, "move": move, "seq": None if kind == "resign" else self._seq}
            take = partial(self._changed, kind, move)
            try:
                return await self._connection.call(method, params, take, resend=True)
            except StaleSeq:
                await self.catch_up()
                raise

    def _changed(self, kind: EventKind, move: str | None, result: msgspec.Raw) -> Answer:
        """Treat the answer to a change of one's own as the event that this connection is not sent."""
        answer = _answer(result)
        self.hear(Event(self.id, answer.seq, kind, move, answer.check, answer.patch))
        return answer

    def _followed(self, result: msgspec.Raw) -> bool:
        """Take part in a page of events; return whether there are more."""
        page = _page(result)
        for event in page.events:
            self.hear(event)
        return page.more

    def _replaced(self, result: msgspec.Raw) -> None:
        """Take the server's view in the place of a wrong one."""
        data = _object(result)
        if not self._wrong or data.get("seq") != self._seq:
            return
        if check(data.get("piles")) != data.get("check"):
            raise BadAnswer("the server's view does not match its own check")
        self._adopt(data)
        self._wrong = False

    def _patched(self, event: Event) -> bool:
        """Apply an event's patch; False if the outcome is not what the server has."""
        now = self.elapsed_ms if event.elapsed_ms is None else event.elapsed_ms
        try:
            data = cast("Object", apply(self._data, event.patch))
            if data["seq"] != event.seq or check(data["piles"]) != event.check:
                return False
            self._adopt({**data, "elapsed_ms": now})
        except (PatchError, BadAnswer, LookupError, msgspec.ValidationError):
            return False
        return True

    def _adopt(self, data: Object) -> None:
        """Show other data; raises what `msgspec.convert` does, and changes nothing then."""
        view = msgspec.convert(data, View)
        self._data, self._view = data, view
        self._elapsed_at = self._clock()

    def _tell(self, event: Event) -> None:
        """Pass an event on to all who listen."""
        for watch in list(self._watches):
            watch.put(event)
        loop = asyncio.get_running_loop()
        for callback in self._callbacks:
            loop.call_soon(callback, event)
        if self._is_final():
            self._end_watches(None)

    def _end_watches(self, error: ClientError | None) -> None:
        for watch in list(self._watches):
            watch.end(error)

    def _is_final(self) -> bool:
        """Tell whether no event can follow: a lost casual session may be taken up, others be revealed."""
        view = self.view
        ended = view.status != "playing" and view.seed is not None
        return ended and not self._wrong and not (view.status == "lost" and view.mode == "casual")

    def _catch_up_soon(self) -> None:
        """Catch up in a task of its own, unless that is under way."""
        if self._catching_up is None:
            self._catching_up = asyncio.create_task(self.catch_up())
            self._catching_up.add_done_callback(self._caught_up)

    def _caught_up(self, task: asyncio.Task[None]) -> None:
        """Let the next event, or the next move, try again where catching up has failed."""
        self._catching_up = None
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("cannot catch up with a session: %s", error)
