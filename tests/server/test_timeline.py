"""A session carried forward by its events, in modes that no method deals yet too."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import jsonpatch
import msgspec
import pytest

from engine import GAMES, EventKind, Game, commitment, make_game
from engine.errors import EngineError
from server import wire
from server.ids import new_id
from server.store.events import Event
from server.store.sessions import Session
from server.timeline import Happened, Timeline
from tests.playthroughs import LOST, WON, Playthrough

START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
PLAYER = wire.Player("p", "Ada", "guest")


def dealt(playthrough: Playthrough, mode: str = "casual", *, drawn: bool = True) -> Timeline:
    content = playthrough.content
    row = Session(
        id=new_id(),
        player=new_id(),
        game=content["game"],
        rules=content["rules"],
        variant=content["variant"],
        options=content["options"],
        mode=mode,
        public=False,
        seed=content["seed"],
        drawn=drawn,
        commitment=commitment(content["seed"]),
        request_id=None,
        created_at=START,
    )
    return Timeline(row, PLAYER)


def dealt_by(game: type[Game], seed: str) -> Timeline:
    rules = make_game(game.name)
    row = Session(
        id=new_id(),
        player=new_id(),
        game=rules.name,
        rules=rules.rules,
        variant=rules.variant,
        options=dict(rules.options),
        mode="casual",
        public=False,
        seed=seed,
        drawn=True,
        commitment=commitment(seed),
        request_id=None,
        created_at=START,
    )
    return Timeline(row, PLAYER)


def at(ms: int) -> datetime:
    return START + timedelta(milliseconds=ms)


def play(timeline: Timeline, moves: list[str]) -> list[Happened]:
    return [timeline.happen("move", move, at(100 * i)) for i, move in enumerate(moves, 1)]


def view(timeline: Timeline) -> dict[str, Any]:
    return msgspec.json.decode(timeline.view(0))


def operations(happened: Happened) -> list[dict[str, Any]]:
    return msgspec.json.decode(happened.patch)


async def test_stored_events_lead_to_the_same_bytes() -> None:
    first, again = dealt(LOST), dealt(LOST)
    again.text = first.text
    made = play(first, LOST.line)
    made.append(first.happen("undo", first.last_move, at(5_000)))
    made.append(first.happen("resign", None, at(6_000)))
    stored = [Event(one.seq, one.kind, one.move, one.at, 0, 0) for one in made]
    read = [happened async for happened in again.advance(stored)]
    assert [bytes(one.event("s")) for one in read] == [bytes(one.event("s")) for one in made]
    assert [one.change() for one in read] == [one.change() for one in made]
    assert bytes(again.view(7)) == bytes(first.view(7))
    assert bytes(again.record(at(7_000))) == bytes(first.record(at(7_000)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
async def test_skipped_events_lead_to_the_same(game: type[Game], seed: int) -> None:
    chance = Random(f"{game.name}-{seed}")
    first = dealt_by(game, f"seed-{seed}")
    made: list[Event] = []
    for i in range(1, 120):
        play = first.play
        if play.status not in {"playing", "lost"}:
            break
        undo = play.done and (play.status == "lost" or chance.random() < 0.3)
        kind, move = ("undo", first.last_move) if undo else ("move", chance.choice(play.legal))
        if i == 110 and play.status == "playing":
            kind, move = "resign", None
        happened = first.happen(kind, move, at(chance.randrange(100 * i)))
        made.append(Event(happened.seq, kind, move, happened.at, 0, 0))
    for skipped in (len(made), len(made) // 2, 1, 0):
        again = Timeline(first.row, PLAYER)
        await again.skip(made[:skipped])
        told = [bytes(one.event("s")) async for one in again.advance(made[skipped:])]
        whole = Timeline(first.row, PLAYER)
        assert [bytes(one.event("s")) async for one in whole.advance(made)][skipped:] == told
        assert bytes(again.view(7)) == bytes(first.view(7)) == bytes(whole.view(7))
        assert bytes(again.record(at(10**6))) == bytes(first.record(at(10**6)))
        assert (again.seed_known, again.full, again.steps) == (first.seed_known, first.full, first.steps)
        assert again.resigned_at == first.resigned_at


@pytest.mark.parametrize("mode", ["daily", "race"])
def test_outside_of_casual_play_a_reveal_tells_the_seed_and_the_end_does_not(mode: str) -> None:
    timeline = dealt(WON, mode)
    before = view(timeline)
    *_, won = play(timeline, WON.line)
    assert won.status == "won"
    assert not timeline.seed_known
    assert view(timeline)["seed"] is None
    assert WON.content["seed"].encode() not in bytes(won.event("s"))
    record = msgspec.json.decode(timeline.record(at(10**6)))
    assert (record["seed"], record["status"]) == (None, "won")
    reveal = timeline.happen("reveal", None, at(10**7))
    assert {"op": "replace", "path": "/seed", "value": WON.content["seed"]} in operations(reveal)
    assert reveal.elapsed_ms == won.elapsed_ms
    assert timeline.seed_known
    assert view(timeline)["seed"] == WON.content["seed"]
    assert before["ranked"] is True


@pytest.mark.parametrize("mode", ["daily", "race"])
def test_expiry_ends_a_session_at_its_moment(mode: str) -> None:
    timeline = dealt(LOST, mode)
    play(timeline, LOST.line[:2])
    expired = timeline.happen("expire", None, at(9_000))
    entry = timeline.entry(expired, "playing")
    assert (expired.status, expired.elapsed_ms, expired.move) == ("expired", 9_000, None)
    assert entry.end is not None
    assert (entry.end.status, entry.end.elapsed_ms, entry.end.moves) == ("expired", 9_000, 2)
    assert view(timeline)["legal"] == []


def test_only_what_changes_the_status_changes_the_sessions_row() -> None:
    timeline = dealt(LOST)
    for i, move in enumerate(LOST.line, 1):
        status = timeline.play.status
        entry = timeline.entry(timeline.happen("move", move, at(i)), status)
        assert (entry.end is None) == (i < len(LOST.line))
    undone = timeline.entry(timeline.happen("undo", LOST.line[-1], at(99)), "lost")
    assert undone.end is not None
    assert (undone.end.status, undone.end.ended_at, undone.end.elapsed_ms) == ("playing", None, None)


def test_patches_change_everything_but_the_time() -> None:
    timeline = dealt(WON)
    seen = view(timeline)
    for i, move in enumerate(WON.line, 1):
        happened = timeline.happen("move", move, at(i))
        seen = jsonpatch.apply_patch(seen, operations(happened))  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  It has no types.
        assert seen == view(timeline)


@pytest.mark.parametrize(
    ("kind", "move"),
    [("move", "t1-t1"), ("move", ""), ("undo", None), ("reveal", None)],
)
def test_what_is_refused_changes_nothing(kind: EventKind, move: str | None) -> None:
    timeline = dealt(WON)
    before = bytes(timeline.view(0)), bytes(timeline.record(at(5)))
    with pytest.raises(EngineError):
        timeline.happen(kind, move, at(3))
    assert (bytes(timeline.view(0)), bytes(timeline.record(at(5)))) == before
    assert timeline.history == []


def test_a_seed_that_was_chosen_or_a_custom_variant_is_not_ranked() -> None:
    assert view(dealt(WON))["ranked"] is True
    assert view(dealt(WON, drawn=False))["ranked"] is False
