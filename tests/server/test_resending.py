"""Calls that are sent again because their answer was lost: the same answer, and nothing twice."""

import pytest

from tests.arena import Address
from tests.peer import Peer
from tests.playthroughs import WON

DRAWN = ["draw", "draw", "draw"]


async def test_a_request_id_deals_once(player: Peer, rival: Peer) -> None:
    first = await player.deal("klondike", request_id="a")
    await player.play(first["session"], DRAWN)
    assert await player.deal("klondike", request_id="a") == first
    assert await player.deal("plot", request_id="a", public=True) == first
    other = await rival.deal("klondike", request_id="a")
    assert other["session"] != first["session"]
    assert len((await player.call("session.list"))["sessions"]) == 1


async def test_a_request_id_sent_many_times_at_once_deals_once(server: Address, player: Peer) -> None:
    async with server.peer(player.token) as second:
        futures = [
            await peer.begin("session.create", game="casket", request_id="burst")
            for _ in range(10)
            for peer in (player, second)
        ]
        views = [await future for future in futures]
    assert all(view == views[0] for view in views)


@pytest.mark.parametrize("again", ["at once", "later", "elsewhere"])
async def test_a_move_sent_again_gives_the_same_answer(server: Address, player: Peer, again: str) -> None:
    session = (await player.deal("klondike", seed="1"))["session"]
    answer = await player.call("session.move", session=session, move="t6-t1", seq=0)
    seq = 1
    if again == "later":
        seq = await player.play(session, ["draw", "t7-t4"], 1)
    async with server.peer(player.token) as second:
        peer = second if again == "elsewhere" else player
        assert await peer.call("session.move", session=session, move="t6-t1", seq=0) == answer
    assert (await player.call("session.get", session=session))["seq"] == seq


async def test_another_move_with_a_number_that_was_used_is_stale(player: Peer) -> None:
    session = (await player.deal("klondike", seed="1"))["session"]
    await player.play(session, ["t6-t1"])
    stale = await player.refused("session.move", session=session, move="draw", seq=0)
    assert stale == {"kind": "stale_seq", "seq": 1}
    assert await player.kind("session.undo", session=session, seq=0) == "stale_seq"


async def test_an_undo_sent_again_gives_the_same_answer(player: Peer) -> None:
    session = (await player.deal("klondike"))["session"]
    await player.play(session, DRAWN)
    answer = await player.call("session.undo", session=session, seq=3)
    assert await player.call("session.undo", session=session, seq=3) == answer
    assert (await player.call("session.undo", session=session, seq=4))["seq"] == 5
    assert await player.call("session.undo", session=session, seq=3) == answer
    assert await player.kind("session.move", session=session, move="draw", seq=3) == "stale_seq"
    assert (await player.call("session.get", session=session))["moves"] == 1


async def test_a_resignation_sent_again_gives_the_same_answer(player: Peer) -> None:
    session = (await player.deal("klondike"))["session"]
    await player.play(session, DRAWN)
    answer = await player.call("session.resign", session=session)
    assert answer["seq"] == 4
    assert answer["status"] == "resigned"
    assert await player.call("session.resign", session=session) == answer
    assert (await player.call("session.get", session=session))["seq"] == 4


async def test_the_winning_move_sent_again_gives_one_result(server: Address, player: Peer) -> None:
    session = (await player.deal(**WON.deal))["session"]
    await player.play(session, WON.line[:-1])
    last = {"session": session, "move": WON.line[-1], "seq": len(WON.line) - 1}
    answer = await player.call("session.move", **last)
    assert answer["status"] == "won"
    async with server.peer(player.token) as second:
        assert await second.call("session.move", **last) == answer
    assert await player.call("session.move", **last) == answer
    [item] = (await player.call("session.list", status="won"))["sessions"]
    assert item["session"] == session
    assert item["score"] == 52
    assert await player.refused("session.resign", session=session) == {
        "kind": "session_over",
        "status": "won",
    }
