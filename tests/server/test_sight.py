"""Who may see what of a session, by every way that leads to it."""

import pytest

from tests.arena import Address
from tests.contract import Json
from tests.peer import Peer
from tests.playthroughs import LOST, WON

WAYS: tuple[tuple[str, Json], ...] = (
    ("session.get", {}),
    ("session.get", {"seq": 0}),
    ("session.record", {}),
    ("session.subscribe", {}),
    ("session.subscribe", {"since": 0}),
)


async def seen(peer: Peer, session: str) -> set[str]:
    """What becomes of all ways to look at a session."""
    kinds: set[str] = set()
    for method, params in WAYS:
        try:
            await peer.call(method, session=session, **params)
        except Exception as error:  # noqa: BLE001  Only `Refused` has a kind; others fail here.
            kinds.add(getattr(error, "kind"))  # noqa: B009
        else:
            kinds.add("seen")
    return kinds


async def test_a_private_session_is_seen_by_its_player_alone(
    server: Address, player: Peer, rival: Peer, stranger: Peer
) -> None:
    session = (await player.deal("klondike"))["session"]
    assert await seen(player, session) == {"seen"}
    assert await seen(rival, session) == {"forbidden"}
    assert await seen(stranger, session) == {"unauthenticated"}
    answer = await server.post("session.get", rival.token, session=session)
    assert answer["error"]["data"] == {"kind": "forbidden"}
    answer = await server.post("session.get", player.token, session=session)
    assert answer["result"]["session"] == session


async def test_a_public_session_is_seen_by_anyone_and_played_by_its_player_alone(
    player: Peer, rival: Peer, stranger: Peer
) -> None:
    session = (await player.deal("klondike", public=True))["session"]
    assert await seen(rival, session) == await seen(stranger, session) == {"seen"}
    assert (await stranger.call("session.get", session=session))["public"] is True
    assert await rival.kind("session.move", session=session, move="draw", seq=0) == "forbidden"
    assert await stranger.kind("session.move", session=session, move="draw", seq=0) == "unauthenticated"
    assert (await stranger.call("session.record", session=session))["seed"] is None


@pytest.mark.parametrize("end", ["won", "lost", "resigned", "lost and taken up again"])
async def test_a_session_that_has_ended_is_seen_by_anyone(
    player: Peer, rival: Peer, stranger: Peer, end: str
) -> None:
    playthrough = WON if end == "won" else LOST
    session = (await player.deal(**playthrough.deal))["session"]
    assert await seen(stranger, session) == {"unauthenticated"}
    line = playthrough.line if end != "resigned" else []
    seq = await player.play(session, line)
    if end == "resigned":
        await player.call("session.resign", session=session)
    if end == "lost and taken up again":
        await player.call("session.undo", session=session, seq=seq)
    assert await seen(rival, session) == await seen(stranger, session) == {"seen"}
    assert (await stranger.call("session.record", session=session))["seed"] == playthrough.content["seed"]


async def test_a_lost_session_taken_up_again_can_be_watched(player: Peer, stranger: Peer) -> None:
    session = (await player.deal(**LOST.deal))["session"]
    seq = await player.play(session, LOST.line)
    await player.call("session.undo", session=session, seq=seq)
    await stranger.call("session.subscribe", session=session)
    await player.call("session.move", session=session, move=LOST.line[-1], seq=seq + 1)
    assert (await stranger.event())["seq"] == seq + 2


async def test_nobody_lists_anothers_sessions(player: Peer, rival: Peer) -> None:
    await player.deal("klondike", public=True)
    assert await rival.call("session.list") == {"sessions": [], "cursor": None}


async def test_refusals_tell_nothing_of_a_private_session(player: Peer, rival: Peer) -> None:
    """Whatever has happened in it, they are the same."""
    first, second = [(await player.deal("klondike"))["session"] for _ in range(2)]
    await player.play(second, ["draw", "draw"])
    refusals: list[list[Json]] = []
    for session in (first, second):
        told = [
            await rival.refused(method, session=session, **params)
            for method, params in (
                *WAYS,
                ("session.get", {"seq": 4_000}),
                ("session.move", {"move": "draw", "seq": 0}),
                ("session.move", {"move": "?", "seq": 9}),
                ("session.undo", {"seq": 2}),
                ("session.resign", {}),
            )
        ]
        refusals.append(told)
    assert refusals[0] == refusals[1]
