"""What the player is told, in plain words."""

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

COMMANDS: Final = """\
A move is typed as ? lists it: draw, t3-t5, t3-t5:4 for four cards together.
?  legal moves         u  undo                  h  the rules
p  all piles in full   n  another deal          q  leave; the game stays
   (empty: the table)  r  resign"""

_REASONS: Final = {
    "malformed": "That is no move. Type ? for the legal ones, as they are spelled.",
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

_ENDS: Final = {
    "won": "You have won!",
    "lost": "No legal move is left: the game is lost. (u takes the last move back.)",
    "resigned": "Resigned.",
    "expired": "The game has expired.",
}


def refusal(error: ClientError) -> str:
    """Return why something was refused."""
    match error:
        case IllegalMove():
            return _REASONS.get(error.reason, error.message)
        case StaleSeq():
            return "The game has changed meanwhile, so that was not done. This is how it stands now."
        case SessionOver():
            return "The game is over. Type n for another deal."
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
