"""What the engine refuses.

EngineError
├── IllegalMove          a move that the rules do not allow; carries the reason
├── PlayOver             the attempt has ended
├── NothingToUndo        no move is in effect
├── OptionError          an option that the game does not have, or a value out of its range
├── UnknownGame          no such game
└── SeedError            a seed with characters or of a length that seeds don't have
"""

from typing import Literal, TypeAlias

Reason: TypeAlias = Literal[
    "malformed",
    "no_such_pile",
    "not_in_this_phase",
    "empty_source",
    "face_down",
    "source_locked",
    "not_a_run",
    "target_locked",
    "target_full",
    "wrong_card",
    "no_effect",
]
"""Why a move is illegal: the first of these that holds, in this order."""


class EngineError(Exception):
    """Anything that the engine refuses. Whatever was refused has changed nothing."""

    kind = "engine_error"


class IllegalMove(EngineError):
    """The rules do not allow the move."""

    kind = "illegal_move"

    def __init__(self, move: str, reason: Reason) -> None:
        """Keep the move as it was asked for, and why it is refused."""
        super().__init__(f"{move!r} is not legal: {reason}")
        self.move = move
        self.reason: Reason = reason


class PlayOver(EngineError):
    """The attempt has ended, so nothing can be played or taken back."""

    kind = "play_over"

    def __init__(self, status: str) -> None:
        """Keep how it ended."""
        super().__init__(f"it is over: {status}")
        self.status = status


class NothingToUndo(EngineError):
    """There is no move in effect that could be taken back."""

    kind = "nothing_to_undo"


class OptionError(EngineError):
    """An option is unknown, of the wrong type or out of its range."""

    kind = "option_error"

    def __init__(self, option: str, message: str) -> None:
        """Keep the name of the option at fault."""
        super().__init__(message)
        self.option = option


class UnknownGame(EngineError):
    """There is no game of that name."""

    kind = "unknown_game"


class SeedError(EngineError):
    """A seed is 1 to 64 characters out of ``[A-Za-z0-9._-]``, and this is none."""

    kind = "seed_error"
