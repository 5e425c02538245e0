"""A watcher of the load: is told of all that one player does, on a connection of its own."""

import asyncio
from typing import Any, Final

from tests.bench.checks import Checks
from tests.bench.followed import Followed
from tests.bench.link import Lost, Refused
from tests.bench.plan import Plan
from tests.bench.tally import Tally
from tests.bench.visitor import Visitor

_NONE: Final = (None, None)


class Watcher(Visitor):
    """Watches a player's sessions, which are public, each from its first view to its end.

    It begins at the place after its player's, where there are several.
    """

    def __init__(self, plan: Plan, tally: Tally, checks: Checks, number: int) -> None:
        """Be the watcher of that number, from 0."""
        super().__init__(plan, tally, number + 1, None)
        self._checks = checks
        self._whole = plan.checked(number)
        self._watched: dict[str, tuple[Followed, Followed]] = {}
        """Sessions as they are known here and as their player knows them."""
        self._early: dict[str, list[Any]] = {}
        """Of sessions whose subscription is under way, events that came right behind its answer."""
        self._todo: asyncio.Queue[Followed | str | None] = asyncio.Queue()
        """Sessions to watch; ids of those that have ended; None where it is to be seen what has changed."""

    def turn_to(self, session: Followed) -> None:
        """Watch a session of the player's from now on as well."""
        self._todo.put_nowait(session)

    def stop(self) -> None:
        """Begin nothing more, and let `run` end."""
        self.stopping.set()
        self._todo.put_nowait(None)

    async def run(self) -> None:
        """Watch until stopped."""
        while not self.stopping.is_set():
            try:
                await self.connect()
                self.link.closed.add_done_callback(lambda _: self._todo.put_nowait(None))
                for mine, theirs in list(self._watched.values()):
                    await self._catch_up(mine, theirs)
                while not self.stopping.is_set():
                    await self._next()
            except Lost as lost:
                self.lost(lost)
                await self.rest()

    async def _next(self) -> None:
        """Do what is to be done next."""
        todo = await self._todo.get()
        if self.link.closed.done():
            if todo is not None:
                self._todo.put_nowait(todo)
            raise Lost(self.link.closed.result())
        if isinstance(todo, str):
            self._watched.pop(todo, None)
            await self.ask("session.unsubscribe", {"session": todo})
        elif todo is not None:
            try:
                await self._watch(todo)
            except Lost:
                self._todo.put_nowait(todo)
                raise
            except Refused as refused:
                # It is counted. There is another session before long.
                if not self.ready.done():
                    self.ready.set_exception(refused)
            else:
                if not self.ready.done():
                    self.ready.set_result(None)

    async def _watch(self, theirs: Followed) -> None:
        """Subscribe to a session."""
        session = theirs.session
        self._early[session] = []
        view = (await self.ask("session.subscribe", {"session": session}))["view"]
        mine = Followed(view, self._checks, whole=self._whole)
        self._watched[session] = mine, theirs
        self._begin(mine, theirs)

    async def _catch_up(self, mine: Followed, theirs: Followed) -> None:
        """Take up a session where it was left."""
        self._early[mine.session] = []
        more = True
        while more:
            page = await self.ask("session.subscribe", {"session": mine.session, "since": mine.seq})
            for event in page["events"]:
                mine.take(event)
            more = page["more"]
        self._begin(mine, theirs)

    def _begin(self, mine: Followed, theirs: Followed) -> None:
        """Take what came right behind the answer, and from now on events as they come."""
        for event in self._early.pop(mine.session):
            mine.take(event)
        self._leave_if_over(mine, theirs)

    def hear(self, method: str, params: Any, now: float) -> None:
        """Take an event."""
        if method != "session.event":
            return
        session, seq = params["session"], params["seq"]
        mine, theirs = self._watched.get(session, _NONE)
        asked = theirs.asked.get(seq) if theirs else None
        self.tally.event(None if asked is None or asked > now else now - asked)
        if session in self._early:
            self._early[session].append(params)
        elif mine and theirs and not mine.broken:
            mine.take(params)
            self._leave_if_over(mine, theirs)

    def _leave_if_over(self, mine: Followed, theirs: Followed) -> None:
        """Let go of a session that has ended, whose player has had the answer, or is about to."""
        if mine.over:
            self._hold(mine, theirs, (0, 1))
            self._todo.put_nowait(mine.session)

    def _hold(self, mine: Followed, theirs: Followed, ahead: tuple[int, ...]) -> None:
        words = f"{mine.session}: a watcher has {mine.seq} events and the player {theirs.seq}"
        self._checks.hold(mine.broken or theirs.broken or mine.seq - theirs.seq in ahead, words)

    @property
    def behind(self) -> bool:
        """Whether a player has had an answer whose event has not come here."""
        return any(mine.seq < theirs.seq for mine, theirs in self._watched.values())

    def audit(self) -> None:
        """Hold what has come, once all players have stopped, against what they were answered."""
        for mine, theirs in self._watched.values():
            self._hold(mine, theirs, (0,))
