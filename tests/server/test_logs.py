"""What the server writes about itself, at its most talkative: enough to find a fault, and no secret."""

import asyncio
import json
from contextlib import AsyncExitStack

import httpx
from websockets.asyncio.client import connect

from tests.contract import Json
from tests.peer import Peer, guest
from tests.playthroughs import LOST, WON
from tests.processes import Process, served
from tests.server.store.conftest import connect_directly


async def test_no_seed_and_no_token_is_ever_logged(database_url: str, redis_url: str) -> None:
    settings = {
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "PATIENCE_LOG_LEVEL": "debug",
        # A session is read again whenever it was not the last one, and so from what the test has broken.
        "PATIENCE_LIMIT_CACHED_SESSIONS": "1",
    }
    async with AsyncExitStack() as stack:
        process = await stack.enter_async_context(served(**settings))
        player = await stack.enter_async_context(guest(process.ws))
        secrets: list[str] = [player.token, "a-seed-of-mine-0", "pa_" + "x" * 43]
        broken = await player.deal("klondike", seed="a-seed-of-mine-0")
        for playthrough in (WON, LOST):
            session = (await player.deal(**playthrough.deal))["session"]
            await player.play(session, playthrough.line)
        drawn = (await player.deal("plot"))["session"]
        await player.call("session.resign", session=drawn)
        secrets.append((await player.call("session.get", session=drawn))["seed"])
        for method, params in (
            ("session.create", {"game": "klondike", "seed": "a-seed-of-mine-0!"}),
            ("session.move", {"session": drawn, "move": "a-seed-of-mine-0", "seq": 0}),
            ("auth.use", {"token": secrets[2]}),
            ("auth.use", {"token": [secrets[2]]}),
            ("session.get", {"session": secrets[2]}),
        ):
            await player.kind(method, **params)
        incidents = [await fail(process, player, broken["session"], database_url, drawn)]
        await stack.enter_async_context(Peer(process.ws, secrets[2]))
        async with httpx.AsyncClient(timeout=30) as http:
            metrics = (await http.get(f"{process.http}/metrics")).text
            await http.get(f"{process.http}/metrics?token={secrets[2]}")
        await player.call("auth.logout")
        assert await process.stop() == 0
        log = process.log
    assert [incident for incident in incidents if incident not in log] == []
    for secret in secrets:
        assert secret not in log
        assert secret not in metrics
    for line in log.splitlines():
        assert {"event", "level", "timestamp"} <= json.loads(line).keys()


async def fail(process: Process, player: Peer, session: str, database_url: str, other: str) -> str:
    """Break a session's row, so that reading it is a failure of the server's; return the incident."""
    database = await connect_directly(database_url, command_timeout=30)
    try:
        await database.execute("UPDATE sessions SET game = 'gone' WHERE status = 'playing'")
    finally:
        await database.close()
    await player.call("session.get", session=other)
    for method, params in (
        ("session.record", {}),
        ("session.move", {"move": "draw", "seq": 0}),
        ("session.get", {}),
    ):
        refused: Json = await player.refused(method, session=session, **params)
        assert refused.keys() == {"kind", "incident"}
        assert refused["kind"] == "internal_error"
    assert "Traceback" not in player.frames[-1]
    assert "a-seed-of-mine-0" not in player.frames[-1]
    return refused["incident"]


async def test_a_quiet_server_writes_nothing_of_what_is_usual(database_url: str, redis_url: str) -> None:
    settings = {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "PATIENCE_LOG_LEVEL": "warning"}
    async with served(**settings) as process:
        async with guest(process.ws) as player:
            session = (await player.deal("klondike"))["session"]
            await player.play(session, ["draw"])
            await player.kind("session.move", session=session, move="?", seq=1)
        assert await process.stop() == 0
        assert process.log == ""


async def test_what_clients_do_wrong_is_not_logged(database_url: str, redis_url: str) -> None:
    settings = {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "PATIENCE_LOG_LEVEL": "warning"}
    async with served(**settings) as process:
        reader, writer = await asyncio.open_connection("127.0.0.1", process.port)
        writer.write(b"nonsense\r\n\r\n")
        async with asyncio.timeout(30):
            assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
        writer.close()
        async with connect(process.ws, compression=None) as socket:
            await socket.send(b"\xff", text=True)
            await socket.wait_closed()
            assert socket.close_code == 1007
        assert await process.stop() == 0
        assert process.log == ""
