"""A player of the load: plays random legal moves, one session after another."""

import asyncio
import secrets
import time
from typing import Any

from tests.bench.checks import Checks
from tests.bench.followed import Followed
from tests.bench.link import Lost, Refused
from tests.bench.plan import Plan
from tests.bench.tally import Tally
from tests.bench.visitor import Visitor
from tests.bench.watcher import Watcher


class Dropped(Exception):
    """The player has cut the connection on purpose."""


class Player(Visitor):
    """One player with one session at a time, known from its first view and the answers to its calls."""

    def __init__(self, plan: Plan, tally: Tally, checks: Checks, number: int, token: str | None) -> None:
        """Be the player of that number, from 0."""
        super().__init__(plan, tally, number, token)
        self.number = number
        self.session: Followed | None = None
        self.watchers: list[Watcher] = []
        self._checks = checks
        self._dealt = 0
        self._request = secrets.token_hex(8)
        self._pending: tuple[str, dict[str, Any]] | None = None
        self._missed: dict[str, Any] | None = None
        self._due = 0.0

    async def run(self) -> None:
        """Play until `stopping` is set."""
        while not self.stopping.is_set():
            try:
                await self.connect()
                await self.log_in()
                await self._resume()
                while not self.stopping.is_set():
                    await self._step()
            except Dropped:
                self.tally.reconnect("dropped")
            except Lost as lost:
                self.lost(lost)
                await self.rest()
            except Refused as refused:
                # Nothing a player does here is ever refused. It is counted, and another session is begun.
                if not self.ready.done():
                    self.ready.set_exception(refused)
                    return
                self.link.abort()
                if self.session is not None:
                    self.session.broken = True
                self._pending = self._missed = None
                await self.rest()

    async def _step(self) -> None:
        """Make one call."""
        session = self.session
        if session is None or session.over:
            await self._deal()
            return
        if self._pending is None:
            await self._wait_for_turn()
            if self.stopping.is_set():
                return
            self._pending = self._choose(session)
        method, params = self._pending
        answer = await self.ask(method, params, self._due or None)
        self._pending = None
        missed, self._missed = self._missed, None
        if missed is not None:
            same = all(answer[key] == missed[key] for key in ("seq", "patch", "check"))
            self._checks.hold(same, f"{session.session}: the answer to {answer['seq']} is not the event")
        session.take(answer)
        if session.over:
            self.tally.end(session.status)
        if self.chance.random() < self.plan.churn:
            self.link.abort()
            await self.link.closed
            raise Dropped

    def asking(self) -> None:
        """Remember when the next event is asked for, for those who watch."""
        if self.session is not None and self._pending is not None:
            self.session.asked[self.session.seq + 1] = time.perf_counter()

    def _choose(self, session: Followed) -> tuple[str, dict[str, Any]]:
        """Decide on a move or an undo."""
        params: dict[str, Any] = {"session": session.session, "seq": session.seq}
        if session.moves and self.chance.random() < self.plan.undo:
            return "session.undo", params
        return "session.move", params | {"move": self.chance.choice(session.legal)}

    async def _wait_for_turn(self) -> None:
        """Wait until the next move is due; one that is late is made at once, its time counting from then."""
        if self.plan.rate is None:
            return
        interval, now = self.plan.players / self.plan.rate, time.perf_counter()
        # The first one at random, so that not all players move at once for ever.
        self._due = self._due + interval if self._due else now + interval * self.chance.random()
        if self._due > now:
            await asyncio.sleep(self._due - now)

    async def _deal(self) -> None:
        """Begin a new session; a call whose answer was lost gives the same one again."""
        games = self.plan.games
        params = {
            "game": games[(self.number + self._dealt) % len(games)],
            "public": bool(self.watchers),
            "request_id": f"{self._request}-{self._dealt}",
        }
        view = await self.ask("session.create", params)
        self._dealt += 1
        self.session = Followed(view, self._checks, whole=self.plan.checked(self.number))
        for watcher in self.watchers:
            watcher.turn_to(self.session)
        if self._due:
            # What was due in the meantime is nothing that the server was late with.
            self._due = max(self._due, time.perf_counter() - self.plan.players / (self.plan.rate or 1.0))
        if not self.ready.done():
            self.ready.set_result(None)

    async def _resume(self) -> None:
        """Take the session up where it was left when the connection was lost."""
        session = self.session
        if session is None or session.over:
            return
        page = await self.ask("session.subscribe", {"session": session.session, "since": session.seq})
        # At most the call whose answer was lost has been carried out. It is made again, and answered anew.
        events = page["events"]
        self._checks.hold(
            len(events) <= (self._pending is not None),
            f"{session.session}: there are {len(events)} events after {session.seq} that nobody asked for",
        )
        self._missed = events[0] if events else None

    async def audit(self) -> None:
        """Hold what is known of the session against what the server has, and resign it."""
        session = self.session
        if session is None or session.broken:
            return
        try:
            session.compare(await self.ask("session.get", {"session": session.session}))
            if not session.over:
                await self.ask("session.resign", {"session": session.session})
        except Lost:
            return
