"""Sessions that have gone on in other processes, and whose subscribers here are to be told of it.

They are read so many at a time, each once for all that was hinted at until then. So a burst of hints, or a
look at everything, takes neither memory nor all connections to the store, whatever it is that is slow.
"""

from typing import Final

from server.live import LiveSessions
from server.rpc.errors import NotFound
from server.store.errors import StoreUnavailable
from server.watching import Watching

_AT_ONCE: Final = 16
"""Sessions that are read at the same time, most of them waiting for their turn or for a connection."""


class Backlog:
    """What one process's subscribers may lack."""

    def __init__(self, live: LiveSessions, watching: Watching) -> None:
        """Begin with nothing."""
        self._live = live
        self._watching = watching
        self._hinted: dict[str, int] = {}
        self._read: set[str] = set()
        self._readers = 0

    def add(self, session: str, seq: int) -> None:
        """Have a session looked at, unless by then all who are subscribed were told of the event ``seq``."""
        self._hinted[session] = max(seq, self._hinted.get(session, 0))
        # Who reads a session now looks afterwards whether there is more.
        if session not in self._read and self._readers < _AT_ONCE:
            self._readers += 1
            self._live.spawn(self._work())

    async def _work(self) -> None:
        """Let one session after another catch up, until none is left."""
        try:
            while (session := self._next()) is not None:
                # Taken out before it is read, so that what is hinted at meanwhile is looked at once more.
                seq = self._hinted.pop(session)
                if self._watching.lacks(session, seq):
                    self._read.add(session)
                    try:
                        await self._catch_up(session)
                    finally:
                        self._read.discard(session)
        finally:
            self._readers -= 1

    def _next(self) -> str | None:
        """Return what has waited for the longest time and is not being read."""
        return next((session for session in self._hinted if session not in self._read), None)

    async def _catch_up(self, session: str) -> None:
        try:
            live = await self._live.enter(self._live.queue(session), fresh=True)
        except NotFound:
            return
        except StoreUnavailable:
            # That is tried again until the store is back.
            self._live.catch_up(session)
            return
        live.leave()
