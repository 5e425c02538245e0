"""Housekeeping: casual sessions that nobody plays any more expire.

Every process does it, none needs to, and several at once are in nobody's way: PostgreSQL gives each idle
session to one of them. The event that ends a session is made as a player's would be. So whoever moves at that
moment either is first, and the session goes on, or finds it expired.

A session expires by that event and by nothing else: as long as it has not been made, a player who comes back
late may go on.
"""

import asyncio
import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import structlog

from server.clock import Clock
from server.ids import id_text
from server.live import LiveSessions
from server.rpc.errors import Unavailable
from server.store.database import Database
from server.store.errors import StoreUnavailable
from server.store.idle import Looked, claim_idle
from server.timeline import Timeline

BATCH: Final = 50
"""How many sessions are looked at in one go."""

CLAIM: Final = timedelta(minutes=10)
"""How long others keep away from what one process has found, and may have died of."""

_LONGEST_PAUSE: Final = 60.0
_SHORTEST_PAUSE: Final = 1.0
"""Seconds between two looks: the one when there is nothing to do, the other when there is more."""

_FAREWELL: Final = 1.0

_log: Final[structlog.stdlib.BoundLogger] = structlog.get_logger(__name__)


class Housekeeping:
    """What one process does of it. `expired` counts the sessions that it has ended since the start."""

    def __init__(self, database: Database, live: LiveSessions, clock: Clock, idle_ms: int) -> None:
        """End sessions without an event for ``idle_ms``."""
        self._database = database
        self._live = live
        self._clock = clock
        self._idle = timedelta(milliseconds=idle_ms)
        self._pause = min(_LONGEST_PAUSE, max(_SHORTEST_PAUSE, idle_ms / 1000))
        self._task: asyncio.Task[None] | None = None
        self.expired = 0

    def start(self) -> None:
        """Begin to look now and then."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="housekeeping")

    async def close(self) -> None:
        """Look no more. An event that is under way is the live sessions' to finish."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,), timeout=_FAREWELL)

    async def _run(self) -> None:
        """Look for as long as the process lives, at times that differ between processes."""
        pause = self._pause
        while True:
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = self._pause
            try:
                if await self.look():
                    pause = _SHORTEST_PAUSE
            except StoreUnavailable:
                _log.warning("housekeeping_waits_for_the_store")
            except Exception:  # noqa: BLE001  The outermost boundary of the task, which must outlive it.
                _log.exception("housekeeping_failed")

    async def look(self) -> bool:
        """Look for idle sessions once and end those that are found; tell whether there may be more.

        Raises:
            StoreUnavailable: the store is away. What was found is looked at again after `CLAIM`.
        """
        before = self._clock.now() - self._idle
        async with self._database.writing() as db:
            looked = await claim_idle(db, before, before + CLAIM, BATCH)
        expired = await self._expire_all([session for session in looked if session.active_at <= before])
        if expired:
            _log.info("sessions_expired", sessions=expired)
        return len(looked) == BATCH

    async def _expire_all(self, idle: Sequence[Looked]) -> int:
        """End sessions one after another, so that players hardly notice; return how many were ended.

        Raises:
            StoreUnavailable: the store is away.
        """
        before = self.expired
        for session in idle:
            work = self._live.spawn(self._expire(id_text(session.session)))
            # It goes on if this is cancelled: an event that is under way must not be left alone.
            await asyncio.wait((work,))
            try:
                self.expired += work.result()
            except Unavailable:
                raise StoreUnavailable from None
            except Exception:  # noqa: BLE001  What is wrong with one session is no reason to keep the others.
                _log.exception("session_not_expired", session=str(session.session))
        return self.expired - before

    async def _expire(self, text: str) -> bool:
        """End a session, unless somebody has played it; tell whether it was ended here."""
        live = await self._live.enter(self._live.queue(text), fresh=True)
        if not self._is_idle(live.timeline):
            live.leave()
            return False
        asking = _Asking()
        try:
            self._live.make(live, "expire", None, asking, asking.refuse)
        except BaseException:
            live.leave()
            raise
        try:
            return await asking.fate
        finally:
            # Memory is for those that are played.
            self._live.forget(text)

    def _is_idle(self, timeline: Timeline) -> bool:
        """Tell whether a session is one that expires now."""
        if timeline.play.status != "playing" or timeline.row.mode != "casual":
            return False
        return timeline.at <= self._clock.now() - self._idle


class _Asking:
    """Asks for the event on nobody's behalf, and learns of its fate."""

    connection: None = None

    def __init__(self) -> None:
        self.fate: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        """Whether the event was made, or somebody else's was first."""

    def answer_json(self, result: str) -> None:
        """Take the change, of which subscribers are told by others."""
        del result
        self.fate.set_result(True)

    def fail(self, error: Exception) -> None:
        """Take the news that the event may not have been made."""
        self.fate.set_exception(error)

    def refuse(self) -> None:
        """Leave the session to whoever was first."""
        self.fate.set_result(False)
