"""A drill: a cluster is restarted and broken under load, and no player or onlooker may have to know.

    python -m tests.durability.cluster_drill [--seconds 60] [--players 200] [--processes 3]
        [--valkey-stops 0] [--pause 1.0] [--seed TEXT]

It runs several `patience serve` on one PostgreSQL and one Valkey. Every player has two connections on two
processes and uses either at random, now and then both at once for the same change, or for two of which only
one can be made. Onlookers come and go on any process. Half of them all use the Python SDK, through a balancer
of connections. Meanwhile two processes are restarted by SIGTERM, one after another, and one is killed; and
Valkey is stopped and started again, if that is asked for.

In the end everybody must have everything, without asking: every answered change once, every event once and in
order and the same whoever was told, every view as a process that has nothing in memory replays it. A summary
is printed as JSON; the exit code is 1 after any violation.
"""

import argparse
import asyncio
import json
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from random import Random

from server.config import limit_variable
from server.embedded import EmbeddedStores
from tests.balancer import Balancer, balancer
from tests.durability.cast import Cast
from tests.durability.cluster import Cluster, cluster
from tests.durability.cluster_audit import audit_everywhere, audit_list
from tests.durability.crowd import Violation, gather
from tests.peer import Peer
from tests.processes import served
from tests.stores import embedded_stores, migrate
from tests.waiting import until_true

_SHARE = 0.15
"""The part of the time between two troubles of a kind."""

_TIME_ENOUGH = {
    limit_variable("store_timeout_ms"): "30000",
    limit_variable("drain_ms"): "30000",
}
"""On a machine that others use as well a store may be slow, and is not away for that."""

_WAIT_SECONDS = 60.0
"""How long anybody may take to come, and the last events too, which is only so that a drill ends."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to happen."""

    seed: str
    seconds: float = 60.0
    players: int = 200
    processes: int = 3
    valkey_stops: int = 0
    pause: float = 1.0
    """Seconds between two changes of a player, on the average."""


@dataclass(slots=True)
class Summary:
    """What came of a drill."""

    seed: str
    players: int = 0
    processes: int = 0
    restarts: int = 0
    """Processes that were stopped by SIGTERM, ended with exit code 0, and came back."""
    kills: int = 0
    valkey_stops: int = 0
    sessions: int = 0
    answered: int = 0
    """Changes that were answered."""
    doubled: int = 0
    """Those of them that were asked for over two connections at once."""
    raced: int = 0
    """Those of them that were asked for beside another one."""
    told: dict[str, int] = field(default_factory=dict[str, int])
    """Events, views and answers that anybody was given."""
    closes: dict[int, int] = field(default_factory=dict[int, int])
    """Connections by close code; those of 1000 the client has closed. From here on without the SDK's."""
    turned_away: int = 0
    """Those of 1012 that were closed before anything was said."""
    returns: int = 0
    """Subscriptions that were taken up again by `since`."""
    resent: int = 0
    """Calls that were sent again because their answer was lost."""
    refused: dict[str, int] = field(default_factory=dict[str, int])
    """Errors answered; only the later one of two different changes may have one."""
    sdk_reconnects: int = 0
    """How often the SDK has connected again."""
    audits: int = 0
    """How many sessions were looked at from the first event to the last, on every process."""
    seconds: float = 0.0
    violations: int = 0


async def drill(plan: Plan, stores: EmbeddedStores, say: Callable[[str], None] = lambda _: None) -> Summary:
    """Carry a drill out on migrated stores of its own; `say` is told how far it is.

    Raises:
        Violation: at the first promise that is broken.
    """
    summary = Summary(plan.seed, plan.players, plan.processes, valkey_stops=plan.valkey_stops)
    began = time.monotonic()
    settings = {
        "DATABASE_URL": stores.database_url,
        "REDIS_URL": stores.redis_url,
        "PATIENCE_LOG_LEVEL": "warning",
        **_TIME_ENOUGH,
    }
    async with AsyncExitStack() as stack:
        servers = await stack.enter_async_context(cluster(plan.processes, Random(plan.seed), **settings))
        front = await stack.enter_async_context(balancer(servers.places, Random(plan.seed)))
        cast = Cast(servers, front.ws, plan.players, plan.pause, plan.seed)
        try:
            await _play(plan, stores, servers, front, cast, say)
        except BaseExceptionGroup as several:
            raise _first(several) from None
        say("looking at everything")
        fresh = await stack.enter_async_context(served(**settings))
        summary.audits = await _audit(fresh.ws, servers, cast)
        cast.check_views()
        await servers.close()
    _sum_up(summary, servers, cast)
    summary.seconds = round(time.monotonic() - began, 1)
    return summary


async def _play(
    plan: Plan,
    stores: EmbeddedStores,
    servers: Cluster,
    front: Balancer,
    cast: Cast,
    say: Callable[[str], None],
) -> None:
    """Let everybody play and watch while things break, until they have all there is."""
    stop, leave = asyncio.Event(), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        blaming = group.create_task(_blame(cast))
        watching = [group.create_task(onlooker.watch(leave)) for onlooker in cast.onlookers]
        playing = [group.create_task(player.play(stop)) for player in cast.players]
        say("the players come")
        await until_true(lambda: all(player.attempts for player in cast.players), _WAIT_SECONDS)
        say(f"they play for {plan.seconds:g} s")
        await gather(
            asyncio.sleep(plan.seconds),
            _end_processes(plan, servers),
            _stop_valkey(plan, stores),
            _cut(plan, front),
        )
        stop.set()
        await asyncio.wait(playing)
        say("waiting until everybody has everything")
        await cast.calm()
        await _all_told(cast)
        # Once more, with nothing else going on, and with the end of every session.
        await gather(*(player.resign() for player in cast.players))
        await _all_told(cast)
        leave.set()
        await asyncio.wait(watching)
        await cast.leave()
        blaming.cancel()


async def _blame(cast: Cast) -> None:
    """Raise what was found where nobody could be told."""
    await cast.chronicle.broken.wait()
    assert cast.chronicle.violation is not None
    raise cast.chronicle.violation


def _first(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first of several, a violation if there is one."""
    first = (several.subgroup(Violation) or several).exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first  # pyright: ignore[reportUnknownArgumentType]


async def _end_processes(plan: Plan, servers: Cluster) -> None:
    """Restart two processes, and kill one."""
    for end, number in ((servers.restart, 0), (servers.restart, 1), (servers.kill, plan.processes - 1)):
        await asyncio.sleep(plan.seconds * _SHARE)
        await end(number)


async def _stop_valkey(plan: Plan, stores: EmbeddedStores) -> None:
    """Stop and start Valkey, with other things going on meanwhile."""
    for _ in range(plan.valkey_stops):
        await asyncio.sleep(plan.seconds * _SHARE)
        await asyncio.to_thread(stores.valkey.stop)
        await asyncio.sleep(plan.seconds * _SHARE)
        await asyncio.to_thread(stores.valkey.start)


async def _cut(plan: Plan, front: Balancer) -> None:
    """Cut some of the SDK's connections, one a second."""
    for _ in range(round(plan.seconds)):
        await asyncio.sleep(1)
        front.cut_one()


async def _all_told(cast: Cast) -> None:
    """Wait until everybody was told of everything, for which nobody may have to ask."""
    try:
        await until_true(lambda: not cast.behind(), _WAIT_SECONDS)
    except TimeoutError:
        raise Violation(f"not told of the last events: {cast.behind()[:5]}") from None


async def _audit(fresh: str, servers: Cluster, cast: Cast) -> int:
    """Look at all sessions, on all processes and on one with nothing in memory; return how many."""
    looked = 0
    async with AsyncExitStack() as stack:
        peer = await stack.enter_async_context(Peer(fresh))
        others = [await stack.enter_async_context(Peer(life.ws)) for life in servers.lives]
        for player in cast.players:
            looked += await audit_everywhere(peer, others, player, cast.chronicle.stories)
            async with Peer(fresh, player.token) as own:
                await audit_list(own, player)
    return looked


def _sum_up(summary: Summary, servers: Cluster, cast: Cast) -> None:
    tally = cast.tally
    summary.restarts, summary.kills = len(servers.stops), servers.kills
    summary.sessions = sum(len(player.attempts) for player in cast.players)
    summary.answered = sum(player.answered for player in cast.players)
    summary.doubled = sum(player.doubled for player in cast.players)
    summary.raced = sum(pair.raced for pair in cast.pairs)
    summary.told = dict(cast.chronicle.told)
    summary.closes = dict(sorted(tally.codes.items()))
    summary.turned_away, summary.returns, summary.resent = tally.turned_away, tally.returns, tally.resent
    summary.refused = dict(tally.kinds)
    summary.sdk_reconnects = sum(one.reconnects for one in (*cast.sdk_players, *cast.sdk_onlookers))


def _say(words: str) -> None:
    print(time.strftime("%H:%M:%S"), words, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry the drill out and print what came of it."""
    parser = argparse.ArgumentParser(description="Restart and break a cluster under load.")
    usual = Plan(secrets.token_hex(4))
    parser.add_argument("--seconds", type=float, default=usual.seconds)
    parser.add_argument("--players", type=int, default=usual.players)
    parser.add_argument("--processes", type=int, default=usual.processes)
    parser.add_argument("--valkey-stops", type=int, default=usual.valkey_stops)
    parser.add_argument("--pause", type=float, default=usual.pause)
    parser.add_argument("--seed", default=usual.seed)
    plan = Plan(**vars(parser.parse_args(arguments)))
    with embedded_stores() as stores:
        migrate(stores.database_url)
        try:
            summary = asyncio.run(drill(plan, stores, _say))
        except Violation as violation:
            print(json.dumps({"seed": plan.seed, "violations": 1, "violation": str(violation)[:4_000]}))
            return 1
    print(json.dumps(asdict(summary), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
