"""What the player is told, in plain words."""

import re
from collections.abc import Sequence
from typing import Final, cast

from clients.python import (
    CallTimeout,
    ClientError,
    Conflict,
    Forbidden,
    IllegalMove,
    SessionOver,
    StaleSeq,
    View,
)

_COMMANDS: Final = """\
?  legal moves         u  undo                  h  rules and options
p  all piles in full   n  another deal          q  leave; the game stays
   (empty: the table)  r  resign"""

OVER: Final = "The game is over. Type n for another deal."
LOST: Final = "Connection lost, trying again…"
FOUND: Final = "Connected again."

_TOGETHER: Final = re.compile(r":([0-9]+)$")
_IN_PLACE: Final = re.compile(r"([a-z]+[0-9]*)-\1(:[0-9]+)?")
"""A move from a pile to itself."""
_EMPHASIS: Final = re.compile(r"`([^`]+)`|(\*{1,2})(?=\S)([^*]+)(?<=\S)\2")

_REASONS: Final = {
    "malformed": "That is no move. Type ? for the legal ones, as they are spelled, or h for help.",
    "no_such_pile": "There is no pile of that name.",
    "not_in_this_phase": "That is not for this phase of the game.",
    "empty_source": "There is no card to take.",
    "face_down": "That card lies face down.",
    "source_locked": "Cards don't leave that pile this way.",
    "not_a_run": "Those cards don't move together.",
    "target_locked": "That pile takes no cards from there.",
    "target_full": "There is no room for another card.",
    "wrong_card": "That card doesn't fit there.",
    "no_effect": "That would change nothing.",
}

_NAMELESS: Final = {"malformed", "no_such_pile"}
"""Reasons for which a move's piles need not exist."""

_ENDS: Final = {
    "won": "You have won!",
    "lost": "No legal move is left: the game is lost. (u takes the last move back.)",
    "resigned": "Resigned.",
    "expired": "The game has expired.",
}


def commands(legal: Sequence[str]) -> str:
    """Return what can be typed, with a legal move of each form as an example."""
    examples: dict[str, str] = {}
    for move in legal:
        # What is left without names and numbers is the move's form.
        examples.setdefault(re.sub(r"[a-z0-9]+", "", move), move)
    told = [
        f"{move} for {count[1]} cards together" if (count := _TOGETHER.search(move)) else move
        for move in examples.values()
    ]
    head = "A move is typed as ? lists it" + (f": {', '.join(told)}." if told else ".")
    return f"{head}\n{_COMMANDS}"


def plain(markdown: str) -> str:
    """Return Markdown without the signs of emphasis and code; lists and paragraphs read well as they are."""
    return _EMPHASIS.sub(lambda match: match[1] or match[3], markdown)


def refusal(error: ClientError, move: str = "") -> str:
    """Return why something was refused; `move` is what was asked for if it was a move."""
    match error:
        case IllegalMove(reason="source_locked") if move == "redeal":
            return "No pass through the stock is left."
        case IllegalMove(reason=reason) if _IN_PLACE.fullmatch(move) and reason not in _NAMELESS:
            return "That is the same pile twice: cards move from one pile to another."
        case IllegalMove():
            return _REASONS.get(error.reason, error.message)
        case StaleSeq():
            return "The game has changed meanwhile, so that was not done. This is how it stands now."
        case SessionOver():
            return OVER
        case Conflict():
            return "There is nothing to take back."
        case Forbidden():
            return "This is somebody else's game: you can only watch."
        case CallTimeout():
            return "The server does not answer. It may have been done or not; an empty line shows the table."
        case _:
            return str(error)


def standing(name: str, view: View, elapsed_ms: int) -> str:
    """Return the line that tells how a game stands."""
    parts = [f"{name} ({view.variant})" if view.variant != "default" else name]
    moves = "1 move" if view.moves == 1 else f"{view.moves} moves"
    parts += [f"score {view.score}", moves, _clock(elapsed_ms)]
    if view.phase != "play":
        parts.append(f"phase {view.phase}")
    parts += [f"{key} {_value(value)}" for key, value in view.state.items()]
    return " | ".join(parts)


def ending(view: View) -> str | None:
    """Return how a game has ended, if it has."""
    if view.status == "playing":
        return None
    text = _ENDS.get(view.status, view.status)
    return f"{text} Seed: {view.seed}" if view.seed else text


def _clock(ms: int) -> str:
    minutes, seconds = divmod(ms // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _value(value: object) -> str:
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value)
        return " ".join(f"{key}:{_value(part)}" for key, part in pairs.items())
    return "-" if value is None else str(value)
