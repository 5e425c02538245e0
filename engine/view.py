"""What is sent of a position: a function of what lies on the table for all to see."""

from typing import Any, TypeAlias

from engine.cards import NAMES
from engine.play import Play
from engine.table import Table

View: TypeAlias = dict[str, Any]
"""The parts of a view that the rules know; ready to be encoded as JSON."""


def head(play: Play) -> View:
    """Return all parts of a view but the piles, in the view's order."""
    game, table = play.game, play.table
    return {
        "seq": play.seq,
        "status": play.status,
        "phase": game.phase(table),
        "score": play.score,
        "moves": len(play.done),
        "undos": play.undos,
        "state": game.state(table),
        "check": play.check(),
        "legal": play.legal,
    }


def piles(table: Table) -> View:
    """Return every pile in layout order: how many cards lie face down, and the others from the bottom."""
    return {
        name: {"down": table.down[i], "up": [NAMES[card] for card in table.up[i]]}
        for i, name in enumerate(table.layout.names)
    }


def view(play: Play) -> View:
    """Return the parts of a view that the rules know."""
    parts = head(play)
    checked = {key: parts.pop(key) for key in ("check", "legal")}
    return {**parts, "piles": piles(play.table), **checked}
