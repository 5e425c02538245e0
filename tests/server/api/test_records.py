"""Records: whole sessions as documents, which anybody can judge and play again."""

import copy
import hashlib
import json
from collections.abc import Callable

import pytest

from tests.arena import Address
from tests.contract import Json
from tests.peer import Peer
from tests.playthroughs import WON
from tests.server.api.test_playthroughs import patched, timeless


def digest(record: Json) -> str:
    """The protocol page's own recipe; all keys are ASCII, so sorting them is RFC 8785's order."""
    body = {key: value for key, value in record.items() if key != "digest"}
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def sealed(record: Json) -> Json:
    return record | {"digest": digest(record)}


async def finished(player: Peer, *, undone: bool = False) -> Json:
    """Play a session to its end and return its record."""
    session = (await player.deal(**WON.deal))["session"]
    seq = await player.play(session, WON.line[:10])
    if undone:
        seq = (await player.call("session.undo", session=session, seq=seq))["seq"]
        seq = await player.play(session, WON.line[9:10], seq)
    await player.play(session, WON.line[10:], seq)
    return await player.call("session.record", session=session)


async def test_a_record_tells_the_whole_session(player: Peer) -> None:
    record = await finished(player)
    assert record["digest"] == digest(record)
    assert record["format"] == "patience-record/1"
    assert (record["status"], record["score"], record["seed"]) == ("won", 52, WON.content["seed"])
    assert record["player"] == player.player
    assert [event["move"] for event in record["events"]] == WON.line
    assert {event["kind"] for event in record["events"]} == {"move"}
    assert record["events"][-1]["elapsed_ms"] == record["elapsed_ms"]
    assert record["ended_at"] >= record["started_at"]


async def test_a_finished_record_verifies_for_anyone(server: Address, player: Peer, stranger: Peer) -> None:
    for record in (await finished(player), await finished(player, undone=True)):
        valid = {"valid": True, "score": 52, "status": "won", "reason": None, "at": None}
        assert await stranger.call("record.verify", record=record) == valid
        assert (await server.post("record.verify", record=record))["result"] == valid


async def test_a_running_sessions_record_withholds_the_seed(player: Peer) -> None:
    session = (await player.deal("klondike", seed="secret-of-mine"))["session"]
    await player.play(session, ["draw"])
    record = await player.call("session.record", session=session)
    assert (record["seed"], record["ended_at"], record["status"]) == (None, None, "playing")
    assert record["digest"] == digest(record)
    verdict = await player.call("record.verify", record=record)
    assert (verdict["valid"], verdict["reason"]) == (False, "seed")
    assert not any("secret-of-mine" in frame for frame in player.frames)


CHANGES: dict[str, tuple[Callable[[Json], object], str, int | None]] = {
    "score": (lambda record: record.update(score=51), "score", None),
    "status": (lambda record: record.update(status="lost"), "status", None),
    "seed": (lambda record: record.update(seed="2"), "commitment", None),
    "rules": (lambda record: record.update(rules="stalactites/2"), "rules", None),
    "game": (lambda record: record.update(game="nonesuch"), "unknown_game", None),
    "move": (lambda record: record["events"][20].update(move="t1-t1"), "target_locked", 20),
    "malformed move": (lambda record: record["events"][3].update(move="§"), "malformed", 3),
    "left out": (lambda record: record["events"].pop(7), "seq", 7),
    "cut off": (lambda record: record["events"].pop(), "status", None),
    "undo": (lambda record: record["events"][0].update(kind="undo"), "nothing_to_undo", 0),
    "time": (lambda record: record["events"][0].update(elapsed_ms=10**9), "elapsed_ms", 1),
    "order": (lambda record: record["events"].reverse(), "seq", 0),
    "early": (lambda record: record["events"].insert(0, record["events"][0]), "seq", 1),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_changed_record_shows_by_its_digest_and_then_by_its_play(player: Peer, change: str) -> None:
    record = await finished(player)
    alter, reason, at = CHANGES[change]
    altered = copy.deepcopy(record)
    alter(altered)
    verdict = await player.call("record.verify", record=altered)
    assert (verdict["valid"], verdict["reason"], verdict["at"]) == (False, "digest", None)
    verdict = await player.call("record.verify", record=sealed(altered))
    assert (verdict["valid"], verdict["reason"], verdict["at"]) == (False, reason, at)
    refused = await player.refused("record.replay", record=sealed(altered))
    assert refused == {"kind": "invalid_params", "path": "/record"}


async def test_any_other_change_shows_by_the_digest(player: Peer) -> None:
    record = await finished(player)
    for key in ("session", "started_at", "mode", "format", "commitment", "elapsed_ms", "ended_at"):
        altered = record | {key: 1 if key == "elapsed_ms" else "2026-11-30T09:00:00.001Z"}
        assert not (await player.call("record.verify", record=altered))["valid"]
    altered = record | {"player": record["player"] | {"name": "Somebody Else"}}
    assert (await player.call("record.verify", record=altered))["reason"] == "digest"


NO_RECORDS: tuple[Json, ...] = (
    {},
    {"format": "patience-record/1"},
    {"events": 3},
    {"a": [[[[[]]]]]},
    {"digest": "x" * 10_000},
)


@pytest.mark.parametrize("wrong", NO_RECORDS, ids=range(len(NO_RECORDS)))
async def test_what_is_no_record_is_malformed(player: Peer, wrong: Json) -> None:
    verdict = await player.call("record.verify", record=wrong)
    assert verdict == {"valid": False, "score": None, "status": None, "reason": "malformed", "at": None}
    record = await finished(player)
    verdict = await player.call("record.verify", record=record | wrong | {"extra": 1})
    assert verdict["reason"] == "malformed"
    others: tuple[object, ...] = (None, [], "x", 1)
    for other in others:
        refused = await player.refused("record.verify", record=other)
        assert refused == {"kind": "invalid_params", "path": "/record"}


@pytest.mark.parametrize("drawn", [True, False], ids=["drawn seed", "chosen seed"])
async def test_a_replay_equals_what_was_seen_live(player: Peer, rival: Peer, drawn: bool) -> None:
    dealt = await player.deal("klondike", seed=None if drawn else "1", public=True)
    session = dealt["session"]
    await rival.call("session.subscribe", session=session)
    seq = await player.play(session, ["draw", "draw"])
    seq = (await player.call("session.undo", session=session, seq=seq))["seq"]
    await player.play(session, ["draw"], seq)
    seq = (await player.call("session.resign", session=session))["seq"]
    live = await rival.events(seq)
    record = await player.call("session.record", session=session)
    replay = await rival.call("record.replay", record=record)
    assert replay["more"] is False
    assert replay["events"] == live
    assert timeless(replay["view"]) == timeless(dealt)
    view = replay["view"]
    for event in replay["events"]:
        view = patched(view, event["patch"])
        assert view["check"] == event["check"]
    assert (view["seq"], view["status"], view["seed"]) == (seq, "resigned", record["seed"])


async def test_a_record_of_another_server_is_replayed_too(player: Peer) -> None:
    record = await finished(player)
    foreign = sealed(record | {"session": "their-id", "player": {"id": "7", "name": "Zoë", "kind": "bot"}})
    ours, theirs = [await player.call("record.replay", record=one) for one in (record, foreign)]
    assert (theirs["view"]["session"], theirs["view"]["player"]) == ("their-id", foreign["player"])
    assert [event["patch"] for event in theirs["events"]] == [event["patch"] for event in ours["events"]]


@pytest.mark.parametrize(
    "lie",
    [
        {"player": {"id": "7", "name": "Eve", "kind": "account"}},
        {"started_at": "2020-01-01T00:00:00.000Z"},
        {"mode": "race"},
    ],
    ids=["player", "time", "mode"],
)
async def test_only_what_a_session_of_ours_says_itself_is_shown_as_ranked(player: Peer, lie: Json) -> None:
    session = (await player.deal("klondike", public=True))["session"]
    await player.play(session, ["draw"])
    await player.call("session.resign", session=session)
    record = await player.call("session.record", session=session)
    true = (await player.call("record.replay", record=record))["view"]
    forged = (await player.call("record.replay", record=sealed(record | lie)))["view"]
    assert (true["ranked"], true["public"]) == (True, True)
    assert (forged["ranked"], forged["public"]) == (False, False)


async def test_a_replay_goes_on_from_where_one_was(player: Peer) -> None:
    record = await finished(player)
    every = (await player.call("record.replay", record=record))["events"]
    for since in (0, 1, 30, len(every)):
        page = await player.call("record.replay", record=record, since=since)
        assert page["events"] == every[since:]
        assert page["view"]["seq"] == 0
    refused = await player.refused("record.replay", record=record, since=len(every) + 1)
    assert refused == {"kind": "invalid_params", "path": "/since"}


async def test_a_dailys_replay_shows_the_seed_when_it_was_revealed(player: Peer) -> None:
    """As in `session.event`: in a daily the end does not reveal, a `reveal` does."""
    record = await finished(player)
    last = record["events"][-1]
    daily: Json = copy.deepcopy(record) | {"mode": "daily"}
    daily["events"].append(
        {"seq": last["seq"] + 1, "kind": "reveal", "move": None, "elapsed_ms": last["elapsed_ms"]}
    )
    daily = sealed(daily)
    assert (await player.call("record.verify", record=daily))["valid"]
    *_, won, reveal = (await player.call("record.replay", record=daily))["events"]
    shown = {"op": "replace", "path": "/seed", "value": WON.content["seed"]}
    assert shown not in won["patch"]
    assert shown in reveal["patch"]


async def test_a_record_may_be_longer_than_other_calls(player: Peer, stranger: Peer) -> None:
    session = (await player.deal("klondike"))["session"]
    for start in range(0, 600, 60):
        futures = [
            await player.begin("session.undo", session=session, seq=seq)
            if seq % 2
            else await player.begin("session.move", session=session, move="draw", seq=seq)
            for seq in range(start, start + 60)
        ]
        for future in futures:
            await future
    await player.call("session.resign", session=session)
    record = await player.call("session.record", session=session)
    assert len(json.dumps(record)) > 16 * 1024
    assert (await stranger.call("record.verify", record=record))["valid"]
    replayed = await stranger.call("record.replay", record=record)
    assert len(replayed["events"]) == 601
