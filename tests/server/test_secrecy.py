"""Nothing that is sent depends on what lies face down, down to the last byte."""

import itertools
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from engine import Play, Table, shuffle
from engine.errors import EngineError
from server import wire
from server.ids import new_id
from server.store.sessions import Session
from server.timeline import Timeline
from tests.arena import Address
from tests.contract import Json
from tests.engine import inside
from tests.engine.witness import Witness
from tests.peer import Peer
from tests.playthroughs import Playthrough, playthroughs

START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
PLAYER = wire.Player("p", "Ada", "guest")
WRONG = ("draw", "redeal", "t1-t1", "stock-t1", "waste-f1", "t1-f1", "t2-t1:2", "step=3", "x", "b1x", "a1+a2")
"""Moves that are tried at every step, most of them illegal."""


def row(playthrough: Playthrough) -> Session:
    content = playthrough.content
    return Session(
        id=new_id(),
        player=new_id(),
        game=content["game"],
        rules=content["rules"],
        variant=content["variant"],
        options=content["options"],
        mode="casual",
        public=True,
        seed=content["seed"],
        drawn=False,
        commitment=content["commitment"],
        request_id=None,
        created_at=START,
    )


def transcript(timeline: Timeline, steps: list[Json]) -> Iterator[bytes]:
    """Go through a session and yield all that is sent of it."""
    for i, step in enumerate(steps):
        now = START + timedelta(milliseconds=250 * i)
        yield bytes(timeline.view(timeline.elapsed(now)))
        yield bytes(timeline.record(now))
        yield repr(timeline.row).encode()
        for move in WRONG:
            if move not in timeline.play.legal:
                with pytest.raises(EngineError) as refusal:
                    timeline.happen("move", move, now)
                yield str(refusal.value).encode()
        move = timeline.last_move if step["kind"] == "undo" else step["move"]
        before = timeline.play.status
        happened = timeline.happen(step["kind"], move, now)
        yield bytes(happened.event(timeline.text))
        yield happened.change().encode()
        yield repr(timeline.entry(happened, before)).encode()


@pytest.mark.parametrize("playthrough", playthroughs(), ids=lambda one: one.name)
def test_sessions_that_differ_in_unseen_cards_alone_are_told_alike(playthrough: Playthrough) -> None:
    """The other deal is made backwards: unseen cards change places in the middle, then all is undone."""
    steps = playthrough.steps[: len(playthrough.steps) // 2]
    dealt = row(playthrough)
    first, scout = (Timeline(dealt, PLAYER) for _ in range(2))
    game = scout.play.game
    play = Play(game, shuffle(dealt.seed, game.decks))
    witness = Witness(play)
    for step in steps:
        witness.watch(play.push(step["move"]) if step["kind"] == "move" else play.pop()[1])
    inside.backs(play).permute(witness.shuffled(Random(1)))
    while play.done:
        play.pop()
    other = Play.at(game, Table.parse(game.layout, play.table.text()), inside.hidden(play))
    unlike = inside.hidden(other) != inside.hidden(scout.play)
    assert unlike == (len(witness.unseen()) > 1)
    scout.play = other
    for one, two in zip(transcript(first, steps), transcript(scout, steps), strict=True):
        assert one == two


def alike() -> tuple[str, str]:
    """Return two seeds whose first three cards are the same, and the fourth is not."""
    decks: dict[tuple[int, ...], tuple[str, int]] = {}
    for number in itertools.count():
        seed = f"alike-{number}"
        cards = shuffle(seed, 1)
        former, fourth = decks.setdefault(tuple(cards[:3]), (seed, cards[3]))
        if fourth != cards[3]:
            return former, seed
    raise AssertionError


async def test_deals_alike_so_far_give_the_same_frames(server: Address) -> None:
    """In Camelot everything lies face down at first, and cards come one by one."""
    told: list[list[str]] = []
    for seed in alike():
        async with server.guest() as player, server.peer() as watcher, server.guest() as rival:
            view = await player.deal("camelot", seed=seed, public=True)
            session = view["session"]
            begun = len(player.frames) - 1, len(watcher.frames), len(rival.frames)
            await watcher.call("session.subscribe", session=session)
            seq = 0
            for turn in range(3):
                seq = await player.play(session, ["draw"], seq)
                for move in WRONG:
                    await player.kind("session.move", session=session, move=move, seq=seq)
                legal = (await player.call("session.get", session=session))["legal"]
                if turn < 2:
                    seq = await player.play(session, [legal[0]], seq)
            for _ in range(2):
                seq = (await player.call("session.undo", session=session, seq=seq))["seq"]
                await rival.kind("session.undo", session=session, seq=seq)
                await rival.call("session.get", session=session)
                await player.call("session.record", session=session)
            await watcher.events(seq)
            frames = [
                frame
                for peer, start in zip((player, watcher, rival), begun, strict=True)
                for frame in peer.frames[start:]
            ]
            told.append([plain(frame, session, view["commitment"], player) for frame in frames])
            await player.call("session.resign", session=session)
            assert seed in player.frames[-1]
            assert not any(seed in frame for frame in frames)
    assert told[0] == told[1]


def plain(frame: str, session: str, commitment: str, player: Peer) -> str:
    """Take out of a frame what tells sessions and times apart."""
    for word in (session, commitment, player.player["id"], player.player["name"]):
        frame = frame.replace(word, "*")
    frame = re.sub(r'"elapsed_ms":\d+', '"elapsed_ms":0', frame)
    frame = re.sub(r'"digest":"\w+"', '"digest":""', frame)
    return re.sub(r'"(at|started_at)":"[^"]+"', r'"\1":""', frame)
