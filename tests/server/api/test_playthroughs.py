"""Whole games over the socket, step by step, with outside judges for the diffs."""

import json
import zlib

import jsonpatch
import pytest

from tests.arena import Address
from tests.contract import Json
from tests.peer import Peer
from tests.playthroughs import Playthrough, playthroughs

STRIDE = 7
"""Every so many steps the whole view is asked for and compared."""


def checksum(view: Json) -> str:
    """The protocol page's own recipe."""
    text = "".join(f"{name}:{pile['down']}:{''.join(pile['up'])};" for name, pile in view["piles"].items())
    return f"{zlib.crc32(text.encode('ascii')):08x}"


def patched(view: Json, patch: list[Json]) -> Json:
    return jsonpatch.apply_patch(view, patch)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  It has no types.


def timeless(view: Json) -> Json:
    return {key: value for key, value in view.items() if key != "elapsed_ms"}


async def follow(player: Peer, playthrough: Playthrough) -> Json:
    """Take all steps, compare each with the file, and return the view that the patches lead to."""
    content = playthrough.content
    view = await player.deal(**playthrough.deal)
    session = view["session"]
    for key in ("rules", "variant", "options", "commitment"):
        assert view[key] == content[key]
    assert view | content["initial"] == view
    assert view["seed"] is None
    for seq, step in enumerate(playthrough.steps):
        if step["kind"] == "move":
            answer = await player.call("session.move", session=session, move=step["move"], seq=seq)
        else:
            answer = await player.call("session.undo", session=session, seq=seq)
        view = patched(view, answer["patch"])
        assert answer["seq"] == view["seq"] == seq + 1
        assert answer["check"] == view["check"] == step["check"] == checksum(view)
        assert answer["status"] == view["status"] == step["status"]
        assert view["score"] == step["score"]
        assert view["phase"] == step["phase"]
        assert len(view["legal"]) == step["legal_count"]
        assert view["legal"] == step.get("legal", sorted(view["legal"]))
        if seq % STRIDE == 0 or seq + 1 == len(playthrough.steps):
            assert timeless(view) == timeless(await player.call("session.get", session=session))
    return view


@pytest.mark.parametrize("playthrough", playthroughs(), ids=lambda one: one.name)
async def test_a_playthrough(server: Address, player: Peer, playthrough: Playthrough) -> None:
    view = await follow(player, playthrough)
    session = view["session"]
    final = playthrough.content["final"]
    assert view | final == view
    over = view["status"] != "playing"
    assert (view["seed"] == playthrough.content["seed"]) == over
    assert json.dumps(playthrough.content["seed"]) in player.frames[-1] or not over
    if not over:
        await player.call("session.resign", session=session)
    record = await player.call("session.record", session=session)
    verdict = await player.call("record.verify", record=record)
    assert verdict["valid"], verdict
    assert verdict["score"] == view["score"]
