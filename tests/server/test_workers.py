"""Several workers behind one port: they share the load, come back, and are replaced without a sign of it."""

import asyncio
import os
import shutil
import signal
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from clients.python import Client, Session, connect
from server.config import Limits
from server.serving import stop_seconds
from tests.durability.audit import audit
from tests.durability.crowd import Player, gather
from tests.peer import Peer, guest
from tests.processes import Process, running, served
from tests.server.embedded_process import ended, watched
from tests.server.test_cli import complaint, patience
from tests.stores import Stores, database, fresh_home, outside_loop
from tests.waiting import until_true

pytestmark = pytest.mark.timeout(240)

SECONDS = 100
ROOT = Path(__file__).parents[2]

either = pytest.mark.parametrize("own", [True, False], ids=["own stores", "embedded stores"])


@asynccontextmanager
async def stores(own: bool, database_url: str, redis_url: str) -> AsyncGenerator[dict[str, str]]:
    """Give the settings of a server on stores of one's own, or on embedded ones on a new home."""
    if own:
        yield {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
    else:
        with fresh_home() as home:
            yield {"PATIENCE_HOME": str(home)}


@pytest.fixture
async def pair(database_url: str, redis_url: str) -> AsyncIterator[Process]:
    """Give a server with two workers on stores of its own."""
    async with served("--workers", "2", DATABASE_URL=database_url, REDIS_URL=redis_url) as process:
        yield process


async def shown(process: Process, name: str) -> dict[str, float]:
    """Return a metric of each worker."""
    async with httpx.AsyncClient(timeout=SECONDS) as http:
        text = (await http.get(f"{process.http}/metrics")).text
    families = {family.name: family for family in text_string_to_metric_families(text)}
    return {sample.labels["worker"]: sample.value for sample in families[name].samples}


async def replaced(process: Process, before: dict[int, int], numbers: set[int]) -> None:
    """Wait until these workers are others than before, and those have ended."""

    def others() -> bool:
        gone = {line["pid"] for line in process.lines if line["event"] in GONE}
        return all(process.workers[number] != before[number] in gone for number in numbers)

    await until_true(others, SECONDS)


GONE = {"a worker has left", "a worker has ended"}


async def test_all_workers_share_the_load(database_url: str, redis_url: str) -> None:
    async with AsyncExitStack() as stack:
        settings = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
        process = await stack.enter_async_context(served("--workers", "3", **settings))
        peers = [await stack.enter_async_context(Peer(process.ws)) for _ in range(30)]
        connections = await shown(process, "patience_connections")
        assert connections.keys() == {"1", "2", "3"}
        assert sum(connections.values()) == 30
        assert min(connections.values()) >= 9
        assert await shown(process, "patience_worker_ready") == {"1": 1, "2": 1, "3": 1}
        # A session is everybody's, whichever worker they are connected to.
        await peers[0].log_in()
        session = (await peers[0].deal("klondike"))["session"]
        for seq, peer in enumerate(peers[1:7]):
            await peer.log_in(peers[0].token)
            move = (await peer.call("session.get", session=session))["legal"][0]
            assert (await peer.call("session.move", session=session, move=move, seq=seq))["seq"] == seq + 1
        assert await process.stop() == 0
        # Each line of a worker tells whose it is.
        drained = [line["worker"] for line in process.lines if line["event"] == "draining"]
        assert sorted(drained) == [1, 2, 3]


@either
async def test_a_worker_that_is_killed_comes_back_and_nothing_is_lost(
    own: bool, database_url: str, redis_url: str
) -> None:
    async with AsyncExitStack() as stack:
        settings = await stack.enter_async_context(stores(own, database_url, redis_url))
        process = await stack.enter_async_context(served("--workers", "2", **settings))
        players = [Player(f"killed-{number}") for number in range(4)]
        async with playing(process, players):
            before = process.workers
            await progress(players)
            os.kill(before[1], signal.SIGKILL)
            await replaced(process, before, {1})
            await progress(players)
        assert await audited(process, players) > 0
        assert await shown(process, "patience_worker_ready") == {"1": 1, "2": 1}
        assert await process.stop() == 0


@asynccontextmanager
async def playing(process: Process, players: list[Player]) -> AsyncGenerator[None]:
    """Have everybody play, and come back whenever their connection is lost."""
    stop = asyncio.Event()

    async def play(player: Player) -> None:
        while not stop.is_set():
            await player.play(process.ws, stop)
            await asyncio.sleep(0.01)

    task = asyncio.create_task(gather(*map(play, players)))
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait_for(task, SECONDS)


async def progress(players: list[Player], moves: int = 5) -> None:
    """Wait until everybody was answered some more."""
    before = [player.answered for player in players]
    await until_true(
        lambda: all(player.answered >= then + moves for player, then in zip(players, before, strict=True)),
        SECONDS,
    )


async def audited(process: Process, players: list[Player]) -> int:
    """Hold what the server has against what it has answered; return how many answers that was."""
    async with Peer(process.ws) as peer:
        for player in players:
            await audit(peer, player)
    return sum(player.answered for player in players)


@either
async def test_workers_are_replaced_under_load_and_nobody_notices(
    own: bool, database_url: str, redis_url: str
) -> None:
    async with AsyncExitStack() as stack:
        settings = await stack.enter_async_context(stores(own, database_url, redis_url))
        process = await stack.enter_async_context(served("--workers", "2", **settings))
        clients = [await stack.enter_async_context(connect(process.ws)) for _ in range(4)]
        played: list[list[Session]] = [[] for _ in clients]
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for client, sessions in zip(clients, played, strict=True):
                await client.guest()
                group.create_task(moving(client, sessions, stop))
            group.create_task(knocking(process, stop))
            first = process.workers
            process.send(signal.SIGHUP)
            await replaced(process, first, {1})
            # Another one meanwhile is for whoever was started before it, and no more than that.
            process.send(signal.SIGHUP)
            await until_true(lambda: len(wishes(process)) == 2, SECONDS)
            second = process.workers
            await replaced(process, first | second, {1, 2})
            before = [made(sessions) for sessions in played]
            await until_true(
                lambda: all(made(now) > then for now, then in zip(played, before, strict=True)), SECONDS
            )
            stop.set()
        for client, sessions in zip(clients, played, strict=True):
            for session in sessions:
                view = await client.view(session.id)
                assert (view.seq, view.check) == (session.seq, session.view.check)
        assert sum(client.reconnects for client in clients) > 0
        # Whoever is there now was started after the last wish, and nobody was started for nothing.
        lines = process.lines
        last = max(number for number, line in enumerate(lines) if line["event"] == WISH)
        late = {line["pid"] for line in lines[last:] if line["event"] == "a worker is ready"}
        assert set(process.workers.values()) <= late
        assert len(process.starts) in {5, 6}
        assert {line["status"] for line in lines if line["event"] in GONE} == {0}
        assert await process.stop() == 0


WISH = "workers are replaced"


def wishes(process: Process) -> list[str]:
    return [line["event"] for line in process.lines if line["event"] == WISH]


async def moving(client: Client, sessions: list[Session], stop: asyncio.Event) -> None:
    """Play one session after another, not too fast; any error ends the test."""
    chance = Random(0)
    while not stop.is_set():
        if not sessions or sessions[-1].status != "playing":
            sessions.append(await client.create("klondike"))
        else:
            await sessions[-1].move(chance.choice(sessions[-1].legal))
        await asyncio.sleep(0.02)


def made(sessions: list[Session]) -> int:
    """Return how many moves were made."""
    return sum(session.seq for session in sessions)


async def knocking(process: Process, stop: asyncio.Event) -> None:
    """Connect anew, again and again, and be answered each time."""
    count = 0
    while not stop.is_set():
        count += 1
        reader, writer = await asyncio.open_connection("127.0.0.1", process.port)
        # A worker that has just been told to stop still answers this, and rightly says that it is not ready.
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        async with asyncio.timeout(SECONDS):
            answer = await reader.read()
        writer.close()
        assert answer.startswith(b"HTTP/1.1 200 "), answer
    assert count > 10


async def test_a_worker_that_is_told_to_stop_is_replaced_first(pair: Process) -> None:
    before = pair.workers
    async with guest(pair.ws) as one, guest(pair.ws) as other:
        os.kill(before[2], signal.SIGTERM)
        await replaced(pair, before, {2})
        # One of the two was its, and the other worker was left alone.
        await until_true(lambda: one.closed or other.closed)
        staying = other if one.closed else one
        assert await staying.quiet()
    assert pair.workers[1] == before[1]
    left = [line for line in pair.lines if line["event"] == "a worker has left"]
    assert [(line["pid"], line["status"]) for line in left] == [(before[2], 0)]


@either
async def test_a_signal_stops_all_in_good_order(own: bool, database_url: str, redis_url: str) -> None:
    limits = {"PATIENCE_LIMIT_DRAIN_MS": "2000"}
    bound = stop_seconds(Limits(drain_ms=2000)) + SECONDS
    players = [Player(f"stopped-{number}") for number in range(4)]
    async with AsyncExitStack() as stack:
        settings = await stack.enter_async_context(stores(own, database_url, redis_url))
        async with served("--workers", "2", **settings, **limits) as process:
            with watched(*process.workers.values()) as ends:
                async with playing_until_lost(process, players):
                    mute = [await mute_reader(process) for _ in range(4)]
                    await progress(players)
                    process.send(signal.SIGTERM)
                    assert await asyncio.wait_for(process.wait(), bound) == 0
                assert await asyncio.to_thread(ended, ends)
            for writer in mute:
                writer.transport.abort()
            assert "Traceback" not in process.log
            assert "killed" not in process.log
        async with served(**settings) as again:
            assert await audited(again, players) > 0


@asynccontextmanager
async def playing_until_lost(process: Process, players: list[Player]) -> AsyncGenerator[None]:
    """Have everybody play until their connection is lost."""
    task = asyncio.create_task(gather(*(player.play(process.ws, asyncio.Event()) for player in players)))
    try:
        yield
    finally:
        await asyncio.wait_for(task, SECONDS)


async def mute_reader(process: Process) -> asyncio.StreamWriter:
    """Connect, ask for more than any buffer takes, and read none of it."""
    _, writer = await asyncio.open_connection("127.0.0.1", process.port, limit=1)
    for _ in range(32):
        writer.write(b"GET /openrpc.json HTTP/1.1\r\nHost: x\r\n\r\n")
    await writer.drain()
    return writer


async def test_a_second_signal_does_not_wait(database_url: str, redis_url: str) -> None:
    """The first would take ten minutes, for somebody watches."""
    settings = {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "PATIENCE_LIMIT_NOTICE_MS": "600000"}
    async with served("--workers", "2", **settings) as process:
        with watched(*process.workers.values()) as ends:
            async with httpx.AsyncClient(timeout=SECONDS) as http:
                assert (await http.get(f"{process.http}/readyz")).is_success
            process.send(signal.SIGTERM)
            process.send(signal.SIGINT)
            assert await process.wait() == 0
            assert await asyncio.to_thread(ended, ends)


@either
async def test_workers_end_with_their_parent(own: bool, database_url: str, redis_url: str) -> None:
    players = [Player(f"orphaned-{number}") for number in range(3)]
    async with AsyncExitStack() as stack:
        settings = await stack.enter_async_context(stores(own, database_url, redis_url))
        async with served("--workers", "2", **settings) as process:
            with watched(*process.workers.values()) as ends:
                async with playing_until_lost(process, players):
                    await progress(players)
                    await process.kill()
                # The port is free although the workers may not have ended yet.
                socket.create_server(("127.0.0.1", process.port)).close()
                async with served(**settings) as again:
                    assert await audited(again, players) > 0
                assert await asyncio.to_thread(ended, ends)


async def test_a_schema_that_is_behind_is_said_once(stores: Stores, redis_url: str) -> None:
    async with database(stores.database_url) as url:
        settings = {"DATABASE_URL": url, "REDIS_URL": redis_url, "PATIENCE_WORKERS": "2"}
        said = outside_loop(lambda: patience("serve", "--port", "0", **settings))
    assert "patience migrate" in complaint(said)
    assert said.stderr.count("patience migrate") == 1


def test_more_workers_than_the_embedded_database_has_connections_for() -> None:
    with fresh_home() as home:
        said = complaint(patience("serve", "--port", "0", "--workers", "11", PATIENCE_HOME=str(home)))
    assert "10 workers" in said
    assert "PATIENCE_WORKERS is 0" in complaint(patience("serve", "--workers", "0"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Give a copy of the program's code."""
    for package in ("clients", "engine", "migrations", "server"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


async def test_new_workers_run_the_code_that_is_on_disk_now(
    source: Path, database_url: str, redis_url: str
) -> None:
    settings = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
    app = source / "server" / "app.py"
    good = app.read_text()
    async with running(Process(settings, "--workers", "2", source=source)) as process:
        first = process.workers
        app.write_text("this is no Python")
        process.send(signal.SIGHUP)
        await until_true(lambda: "the old one stays" in process.log, SECONDS)
        assert await greetings(process) == {"Patience Arena"}
        assert process.workers == first
        app.write_text(good.replace('"""\\\nPatience Arena', '"""\\\nPatience Arena of tomorrow'))
        process.send(signal.SIGHUP)
        await replaced(process, first, {1, 2})
        assert await greetings(process) == {"Patience Arena of tomorrow"}
        assert await process.stop() == 0


async def greetings(process: Process) -> set[str]:
    """Return the first lines with which new connections are greeted, enough of them to reach all workers."""
    found: set[str] = set()
    for _ in range(6):
        async with httpx.AsyncClient(timeout=SECONDS) as http:
            found.add((await http.get(process.http)).text.splitlines()[0])
    return found
