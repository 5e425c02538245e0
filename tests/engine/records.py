"""Records of the attempts that are on file."""

from collections.abc import Callable
from typing import Any, TypeAlias

from hypothesis import strategies as st

from engine.record import FORMAT, sealed
from tests.engine.vectors import Json, Playthrough, playthroughs

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
"""Anything that JSON can say and every language reads alike."""

FIELDS = [
    "format",
    "session",
    "game",
    "rules",
    "options",
    "mode",
    "player",
    "seed",
    "commitment",
    "status",
    "score",
    "started_at",
    "ended_at",
    "elapsed_ms",
    "events",
    "digest",
]
"""The fields of a record."""

Change: TypeAlias = Callable[[dict[str, Any]], object]


def record_of(through: Playthrough) -> Json:
    """Return the record of a casual session that went as a playthrough goes, sealed."""
    play, events = through.start(), list[Json]()
    for seq, step in enumerate(through.content["steps"], 1):
        move = step.get("move")
        if step["kind"] == "undo":
            move, _ = play.pop()
        else:
            play.push(move)
        events.append({"seq": seq, "kind": step["kind"], "move": move, "elapsed_ms": 1200 * seq})
    over = play.status != "playing"
    return sealed(
        {
            "format": FORMAT,
            "session": "s-1",
            "game": through.game,
            "rules": play.game.rules,
            "options": dict(play.game.options),
            "mode": "casual",
            "player": {"id": "p-1", "name": "Zoë", "kind": "guest"},
            "seed": through.content["seed"],
            "commitment": through.content["commitment"],
            "status": play.status,
            "score": play.score,
            "started_at": "2026-11-30T09:00:00.000Z",
            "ended_at": "2026-11-30T10:00:00.000Z" if over else None,
            "elapsed_ms": events[-1]["elapsed_ms"],
            "events": events,
        }
    )


def on_file(name: str) -> Json:
    """Return the record of one playthrough."""
    return record_of(next(through for through in playthroughs() if through.name == name))


def changed(record: Json, change: Change, *, seal: bool = True) -> Json:
    """Return a record after a change, sealed anew if that can be done and is asked for."""
    change(record)
    return sealed(record) if seal else record
