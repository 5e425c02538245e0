"""A few kills; the drill itself takes as many as one has patience for."""

import asyncio
import secrets
from collections.abc import Iterator

import pytest

from tests.durability.audit import audit
from tests.durability.crowd import Player, Violation
from tests.durability.kill_drill import drill
from tests.peer import Peer
from tests.processes import served
from tests.stores import fresh_home
from tests.waiting import until_true


@pytest.fixture
def own_home() -> Iterator[str]:
    with fresh_home() as home:
        yield str(home)


@pytest.mark.timeout(240)
async def test_a_server_that_is_killed_loses_nothing_that_it_answered() -> None:
    with fresh_home() as home:
        summary = await drill(home, kills=3, sessions=6, seed=secrets.token_hex(4))
    assert summary.kills == 3
    assert summary.answered > 0
    assert summary.violations == 0


async def test_the_audit_finds_an_answer_that_is_not_in_the_store(own_home: str) -> None:
    """Otherwise the drill would show nothing."""
    async with served(PATIENCE_HOME=own_home) as server:
        player = Player("audit")
        stop = asyncio.Event()
        playing = asyncio.create_task(player.play(server.ws, stop))
        await until_true(lambda: player.answered >= 3)
        stop.set()
        await playing
        async with Peer(server.ws) as peer:
            assert await audit(peer, player) == len(player.attempts)
            attempt = player.attempts[-1]
            attempt.events.clear()
            attempt.view = {}
            attempt.answers[1]["check"] = "00000000"
            with pytest.raises(Violation, match="not what was answered"):
                await audit(peer, player)
