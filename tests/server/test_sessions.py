"""Making sessions and playing them: what a player's own calls do."""

import asyncio
import hashlib
import json
import re

import pytest

from tests.arena import Address
from tests.contract import Json
from tests.peer import Peer, outcome
from tests.playthroughs import LOST, WON, named

DRAWN = ["draw", "draw", "draw"]


async def state(player: Peer, session: str) -> Json:
    """Everything that a refused call might have changed, save the time that goes by."""
    view = await player.call("session.get", session=session)
    record = await player.call("session.record", session=session)
    for part in (view, record):
        if view["status"] == "playing":
            del part["elapsed_ms"]
    return {"view": view, "record": {key: record[key] for key in record if key != "digest"}}


async def test_a_new_session_is_casual_private_and_ranked(player: Peer) -> None:
    view = await player.deal("klondike")
    assert view["mode"] == "casual"
    assert view["public"] is False
    assert view["ranked"] is True
    assert view["player"] == player.player
    assert view["seed"] is None
    assert (view["seq"], view["moves"], view["undos"], view["elapsed_ms"]) == (0, 0, 0, 0)
    assert view["status"] == "playing"
    assert view["rules"] == "klondike/1"
    assert view["variant"] == "draw1"
    assert view["options"] == {"draw": 1, "passes": 1, "worry_back": False}


async def test_options_are_filled_in_and_name_their_variant(player: Peer) -> None:
    view = await player.deal("klondike", options={"draw": 3})
    assert (view["variant"], view["options"]["passes"]) == ("draw3", 3)
    view = await player.deal("klondike", options={"draw": 3, "passes": 2})
    assert (view["variant"], view["ranked"]) == ("custom", False)
    assert (await player.deal("camelot"))["variant"] == "default"


async def test_a_drawn_seed_is_secret_until_the_end_and_fits_its_commitment(player: Peer) -> None:
    view = await player.deal("klondike")
    answer = await player.call("session.resign", session=view["session"])
    [seed] = [change["value"] for change in answer["patch"] if change["path"] == "/seed"]
    assert re.fullmatch("[0-9a-f]{32}", seed)
    assert hashlib.sha256(seed.encode()).hexdigest() == view["commitment"]
    assert not any(seed in frame for frame in player.frames[:-1])
    again = await player.deal("klondike", seed=seed)
    assert again["piles"] == view["piles"]


async def test_a_seed_that_the_player_chose_is_as_secret_and_never_ranked(player: Peer) -> None:
    view = await player.deal("klondike", seed="my-own_seed.1")
    assert view["seed"] is None
    assert view["ranked"] is False
    assert not any("my-own_seed.1" in frame for frame in player.frames)


async def test_an_undo_takes_a_session_out_of_the_ranking_for_good(player: Peer) -> None:
    session = (await player.deal("klondike"))["session"]
    await player.play(session, ["draw"])
    answer = await player.call("session.undo", session=session, seq=1)
    assert {"op": "replace", "path": "/ranked", "value": False} in answer["patch"]
    await player.play(session, ["draw"], 2)
    assert (await player.call("session.get", session=session))["ranked"] is False


async def test_undo_restores_everything_but_seq_and_undos(player: Peer) -> None:
    one = named("klondike-draw3-lost-1")
    session = (await player.deal(**one.deal))["session"]
    views = [await player.call("session.get", session=session)]
    for seq, move in enumerate(one.line):
        await player.play(session, [move], seq)
        views.append(await player.call("session.get", session=session))
    assert views[-1]["status"] == "lost"
    seq = len(one.line)
    for undos, before in enumerate(reversed(views[:-1]), 1):
        await player.call("session.undo", session=session, seq=seq)
        seq += 1
        view = await player.call("session.get", session=session)
        same = ("status", "phase", "score", "moves", "state", "piles", "check", "legal")
        assert {key: view[key] for key in same} == {key: before[key] for key in same}
        assert (view["seq"], view["undos"]) == (seq, undos)


async def test_nothing_to_undo_is_a_conflict(player: Peer) -> None:
    session = (await player.deal("klondike"))["session"]
    assert await player.refused("session.undo", session=session, seq=0) == {"kind": "conflict"}
    await player.play(session, ["draw"])
    await player.call("session.undo", session=session, seq=1)
    assert await player.kind("session.undo", session=session, seq=2) == "conflict"


async def test_a_lost_session_goes_on_after_an_undo_and_its_seed_stays_known(player: Peer) -> None:
    session = (await player.deal(**LOST.deal))["session"]
    seq = await player.play(session, LOST.line)
    lost = await player.call("session.get", session=session)
    assert (lost["status"], lost["seed"], lost["legal"]) == ("lost", LOST.content["seed"], [])
    assert await player.kind("session.resign", session=session) == "session_over"
    assert await player.kind("session.move", session=session, move=LOST.line[-1], seq=seq) == "session_over"
    answer = await player.call("session.undo", session=session, seq=seq)
    assert answer["status"] == "playing"
    assert not [change for change in answer["patch"] if change["path"] == "/seed"]
    view = await player.call("session.get", session=session)
    assert (view["status"], view["seed"]) == ("playing", LOST.content["seed"])
    assert view["legal"]
    [item] = (await player.call("session.list"))["sessions"]
    assert (item["status"], item["ended_at"]) == ("playing", None)
    again = await player.call("session.move", session=session, move=LOST.line[-1], seq=seq + 1)
    assert again["status"] == "lost"


@pytest.mark.parametrize("end", ["won", "resigned"])
async def test_every_other_end_is_final(player: Peer, end: str) -> None:
    session = (await player.deal(**WON.deal))["session"]
    seq = await player.play(session, WON.line if end == "won" else WON.line[:5])
    if end == "resigned":
        seq = (await player.call("session.resign", session=session))["seq"]
    before = await state(player, session)
    for method, params in (
        ("session.undo", {"seq": seq}),
        ("session.move", {"seq": seq, "move": "draw"}),
        ("session.move", {"seq": 99, "move": "nonsense"}),
    ):
        refused = await player.refused(method, session=session, **params)
        assert refused == {"kind": "session_over", "status": end}
    assert await state(player, session) == before


async def test_a_refused_call_changes_nothing(player: Peer, rival: Peer) -> None:
    session = (await player.deal("klondike", seed="1"))["session"]
    seq = await player.play(session, ["t6-t1", "draw", "t7-t4"])
    before = await state(player, session)
    for peer, method, params, kind in (
        (player, "session.move", {"move": "t1-t1", "seq": seq}, "illegal_move"),
        (player, "session.move", {"move": "redeal", "seq": seq}, "illegal_move"),
        (player, "session.move", {"move": "draw", "seq": seq + 1}, "stale_seq"),
        (player, "session.move", {"move": "draw", "seq": 0}, "stale_seq"),
        (player, "session.undo", {"seq": 1}, "stale_seq"),
        (player, "session.undo", {"seq": -1}, "invalid_params"),
        (rival, "session.move", {"move": "draw", "seq": seq}, "forbidden"),
        (rival, "session.undo", {"seq": seq}, "forbidden"),
        (rival, "session.resign", {}, "forbidden"),
    ):
        assert await peer.kind(method, session=session, **params) == kind
        assert await state(player, session) == before
    assert await player.quiet()
    assert await rival.quiet()


async def test_an_illegal_move_tells_why_and_where_the_session_is(player: Peer) -> None:
    session = (await player.deal("klondike", seed="1"))["session"]
    await player.play(session, ["draw"])
    for move, reason in (
        ("", "malformed"),
        ("t1-t1:1", "malformed"),
        ("t9-t1", "no_such_pile"),
        ("f1-t1", "empty_source"),
        ("stock-t1", "face_down"),
        ("t1-t1", "target_locked"),
        ("redeal", "source_locked"),
        ("t7-t6", "wrong_card"),
    ):
        refused = await player.refused("session.move", session=session, move=move, seq=1)
        assert refused == {"kind": "illegal_move", "reason": reason, "seq": 1}, move


async def test_moves_sent_in_one_go_are_judged_in_order(player: Peer) -> None:
    session = (await player.deal(**WON.deal))["session"]
    futures = [
        await player.begin("session.move", session=session, move=move, seq=seq)
        for seq, move in enumerate(WON.line)
    ]
    answers = [await future for future in futures]
    assert [answer["seq"] for answer in answers] == list(range(1, len(WON.line) + 1))
    assert answers[-1]["status"] == "won"


async def test_different_sessions_run_side_by_side(player: Peer) -> None:
    sessions = [(await player.deal("klondike"))["session"] for _ in range(20)]
    futures = [
        await player.begin("session.move", session=session, move="draw", seq=seq)
        for seq in range(5)
        for session in sessions
    ]
    assert {(await future)["seq"] for future in futures} == {1, 2, 3, 4, 5}


async def test_bursts_from_two_connections_leave_every_card_once(server: Address, player: Peer) -> None:
    session = (await player.deal("klondike", options={"draw": 3, "passes": 0}))["session"]
    async with server.peer(player.token) as second:
        futures = [
            await peer.begin(method, session=session, seq=seq, **params)
            for seq in range(60)
            for peer, method, params in (
                (player, "session.move", {"move": "draw"}),
                (second, "session.undo", {}),
                (second, "session.move", {"move": "draw"}),
                (player, "session.move", {"move": "redeal"}),
            )
        ]
        kinds = [await outcome(future) for future in futures]
    assert len(kinds) == 240
    assert set(kinds) <= {"done", "stale_seq", "illegal_move", "conflict"}
    view = await player.call("session.get", session=session)
    cards = [card for pile in view["piles"].values() for card in pile["up"]]
    assert len(cards) == len(set(cards))
    assert len(cards) + sum(pile["down"] for pile in view["piles"].values()) == 52
    await player.call("session.resign", session=session)
    record = await player.call("session.record", session=session)
    assert (await player.call("record.verify", record=record))["valid"]
    assert [event["seq"] for event in record["events"]] == list(range(1, len(record["events"]) + 1))


async def test_a_notification_plays_and_gets_no_answer(player: Peer) -> None:
    session = (await player.deal("klondike"))["session"]
    params = {"session": session, "move": "draw", "seq": 0}
    await player.socket.send(json.dumps({"jsonrpc": "2.0", "method": "session.move", "params": params}))
    assert (await player.call("session.get", session=session))["seq"] == 1
    assert await player.quiet()


async def test_params_by_position_are_those_by_name(player: Peer) -> None:
    document = await player.call("rpc.discover")
    order = {method["name"]: [param["name"] for param in method["params"]] for method in document["methods"]}
    assert order["session.create"] == ["game", "options", "seed", "public", "request_id"]
    assert order["session.move"] == ["session", "move", "seq"]
    assert order["session.get"] == ["session", "seq"]
    assert order["session.subscribe"] == ["session", "since"]
    assert order["session.list"] == ["status", "game", "mode", "cursor", "limit"]
    session = (await player.deal("klondike"))["session"]
    message = {"jsonrpc": "2.0", "id": "p", "method": "session.move", "params": [session, "draw", 0]}
    await player.socket.send(json.dumps(message))
    assert (await player.call("session.get", session=session))["seq"] == 1
    assert json.loads(player.frames[-2])["result"]["seq"] == 1


@pytest.mark.parametrize("refused", [("draw", 2), ("t1-t1", 1)], ids=["stale", "illegal"])
async def test_a_call_that_is_refused_is_not_overtaken(player: Peer, refused: tuple[str, int]) -> None:
    session = (await player.deal("klondike", seed="1"))["session"]
    move, seq = refused
    calls = [("draw", 0), (move, seq), ("draw", 1)]
    futures = [await player.begin("session.move", session=session, move=m, seq=s) for m, s in calls]
    first, second, third = [await outcome(future) for future in futures]
    assert second in {"stale_seq", "illegal_move"}
    assert (first, third) == ("done", "done")
    assert (await player.call("session.get", session=session))["seq"] == 2


async def test_answers_about_the_past_are_not_overtaken(player: Peer) -> None:
    session = (await player.deal("klondike", seed="1"))["session"]
    await player.play(session, ["draw"] * 3)
    begun = len(player.frames)
    futures = [
        await player.begin("session.get", session=session, seq=1),
        await player.begin("session.move", session=session, move="draw", seq=0),
        await player.begin("session.move", session=session, move="draw", seq=3),
    ]
    await asyncio.gather(*futures)
    ids = [json.loads(frame)["id"] for frame in player.frames[begun:]]
    assert ids == sorted(ids)
