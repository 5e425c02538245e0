"""The events that make up an attempt: enough, with the deal, to play it again."""

from typing import Literal, TypeAlias

from engine.effects import Record
from engine.errors import EngineError
from engine.play import Play

EventKind: TypeAlias = Literal["move", "undo", "resign", "expire", "reveal"]

ENDS = {"resign": "resigned", "expire": "expired"}
"""The events that end an attempt from outside, and the status that they give it."""

MOST_EVENTS = 5000
"""How many moves and undos a session takes."""


class WrongUndo(EngineError):
    """An undo event names another move than the one it takes back."""

    kind = "wrong_undo"


class WrongReveal(EngineError):
    """The seed is revealed while the attempt goes on, or once more."""

    kind = "wrong_reveal"


def apply(play: Play, kind: EventKind, move: str | None) -> list[Record]:
    """Let an event happen to a play and return what was seen of it.

    Args:
        play: it is changed, unless this raises before an undo was found to be the wrong one.
        kind: the event's.
        move: the move made, or taken back; None for the other kinds.

    Raises:
        IllegalMove, PlayOver, NothingToUndo: as `Play.push` and `Play.pop` do.
        WrongUndo: the move taken back is not ``move``. The play is of no use afterwards.
        WrongReveal: a reveal before the end, or a second one.
    """
    if kind == "move":
        return play.push(move or "")
    if kind == "undo":
        taken_back, records = play.pop()
        if taken_back != move:
            raise WrongUndo(f"this undo takes back {taken_back!r}")
        return records
    if kind == "reveal":
        if play.status == "playing" or play.revealed:
            raise WrongReveal("the seed is revealed once, after the end")
        play.reveal()
    else:
        play.end("resigned" if kind == "resign" else "expired")
    return []
