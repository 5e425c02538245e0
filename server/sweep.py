"""Looking in the store, now and then, whether subscribers were told of all there is.

Hints make it soon. They cannot make it sure: a process may be killed between a commit and its hint, and if
that was a session's last event nothing later would make anybody look. So as long as anybody is subscribed to
anything, a process asks the store every few seconds which of those sessions have gone on.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from server.backlog import Backlog
from server.ids import id_text, parse_id
from server.live import LiveSessions
from server.store.database import Database
from server.store.errors import StoreUnavailable
from server.store.progress import gone_on
from server.watching import Watching

_PAUSE: Final = 5.0
"""Seconds between two looks, so about how late a subscriber is told of what nobody has hinted at."""
_AT_ONCE: Final = 500
"""Sessions in one question."""


class Sweep:
    """One process's look at what its subscribers lack."""

    def __init__(self, database: Database, live: LiveSessions, watching: Watching) -> None:
        """Do nothing before `begin`."""
        self._database = database
        self._live = live
        self._backlog = Backlog(live, watching)
        self._watching = watching
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Look from now on, until nobody is subscribed any more."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._look)

    def _look(self) -> None:
        self._timer = None
        progress = self._watching.progress()
        if progress:
            self._live.spawn(self._find(progress))

    async def _find(self, progress: Sequence[tuple[str, int]]) -> None:
        """Let those sessions catch up that have gone on further than subscribers were told."""
        seqs = {ident: seq for text, seq in progress if (ident := parse_id(text)) is not None}
        known = list(seqs.items())
        try:
            for start in range(0, len(known), _AT_ONCE):
                async with self._database.reading() as db:
                    found = await gone_on(db, known[start : start + _AT_ONCE])
                for session in found:
                    self._backlog.add(id_text(session), seqs[session] + 1)
        except StoreUnavailable:
            # The next look finds it.
            return
        finally:
            self.begin()
