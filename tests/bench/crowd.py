"""Everybody who takes part in a load, from the first connection to the last check."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.bench.checks import Checks
from tests.bench.link import Refused
from tests.bench.plan import Plan
from tests.bench.player import Player
from tests.bench.tally import Tally
from tests.bench.visitor import Visitor
from tests.bench.watcher import Watcher
from tests.waiting import until_true

_AT_ONCE: Final = 50
"""Players who come at the same time."""

_SET_UP_SECONDS: Final = 120.0
_END_SECONDS: Final = 10.0
"""How long the last answers and events may take."""


class NotReady(Exception):
    """The load could not be begun; the text says why, and what to do about it."""


@dataclass(slots=True)
class Outcome:
    """What came of a load."""

    plan: Plan
    tally: Tally
    checks: Checks
    seconds: float
    """How long was measured."""

    cpu: float
    """Seconds of this process's CPU in the meantime."""


class Crowd:
    """Players and watchers of one plan."""

    def __init__(self, plan: Plan, say: Callable[[str], None]) -> None:
        """Bring them together; `say` is told how far they are."""
        self._plan, self._say = plan, say
        self._tally, self._checks = Tally(), Checks()
        tokens = [*plan.tokens, *[None] * plan.players]
        self.players = [
            Player(plan, self._tally, self._checks, number, tokens[number]) for number in range(plan.players)
        ]
        self._watchers = [Watcher(plan, self._tally, self._checks, i) for i in range(plan.watchers)]
        for i, watcher in enumerate(self._watchers):
            self.players[i % plan.players].watchers.append(watcher)
        self._tasks: list[asyncio.Task[None]] = []

    async def run(self) -> Outcome:
        """Put the load on.

        Raises:
            NotReady: it could not be begun.
        """
        plan, tally = self._plan, self._tally
        try:
            await self._set_up()
            self._say(f"warming up for {plan.warm:g} s")
            await self._let_go_on(plan.warm)
            self._say(f"measuring for {plan.seconds:g} s")
            started, cpu = time.perf_counter(), time.process_time()
            tally.measuring = True
            await self._let_go_on(plan.seconds)
            tally.measuring = False
            took, cpu = time.perf_counter() - started, time.process_time() - cpu
            self._say("checking what everybody has")
            await self._end()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        return Outcome(plan, tally, self._checks, took, cpu)

    async def _set_up(self) -> None:
        """Let everybody come, some at a time, and begin to play."""
        self._say(f"{self._plan.players} players come")
        self._start(watcher.run() for watcher in self._watchers)
        try:
            async with asyncio.timeout(_SET_UP_SECONDS):
                for at in range(0, len(self.players), _AT_ONCE):
                    some = self.players[at : at + _AT_ONCE]
                    self._start(player.run() for player in some)
                    await _all_ready(some)
                await _all_ready(self._watchers)
        except TimeoutError:
            raise NotReady(self._why_not()) from None
        except Refused as refused:
            raise NotReady(f"somebody cannot begin: {refused.kind}: {refused.message}") from None

    def _why_not(self) -> str:
        """Say how far it came, and what can be done about it."""
        ready = sum(player.session is not None for player in self.players)
        kinds = ", ".join(f"{kind} {count} times" for kind, count in self._tally.kinds.most_common())
        return (
            f"only {ready} of {self._plan.players} players could begin within {_SET_UP_SECONDS:.0f} s "
            f"({kinds or 'the server is slow'}): take fewer, give --token-file, or raise the server's limits"
        )

    def _start(self, work: Iterable[Awaitable[Any]]) -> None:
        self._tasks += [asyncio.ensure_future(one) for one in work]

    async def _let_go_on(self, seconds: float) -> None:
        """Wait, unless one of them fails, which is a fault of this program."""
        done, _ = await asyncio.wait(self._tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()

    async def _end(self) -> None:
        """Let everybody finish, and look whether all have what they should have."""
        for player in self.players:
            player.stopping.set()
        playing = self._tasks[len(self._watchers) :]
        done, _ = await asyncio.wait(playing, timeout=_END_SECONDS)
        still = [player for player, task in zip(self.players, playing, strict=True) if task in done]
        with contextlib.suppress(TimeoutError):
            await until_true(lambda: not any(one.behind for one in self._watchers), _END_SECONDS)
        for watcher in self._watchers:
            watcher.audit()
            watcher.stop()
        try:
            async with asyncio.timeout(_END_SECONDS):
                await asyncio.gather(*(player.audit() for player in still))
        except TimeoutError:
            self._checks.fail(f"the last sessions could not be looked at within {_END_SECONDS:.0f} s")
        await asyncio.gather(*(one.leave() for one in (*still, *self._watchers)))


async def _all_ready(visitors: Sequence[Visitor]) -> None:
    """Wait until everybody is ready; raise the first reason why somebody is not."""
    for outcome in await asyncio.gather(*(one.ready for one in visitors), return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
