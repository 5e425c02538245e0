"""What a load is to be."""

from dataclasses import dataclass

from tests.bench.place import Place


@dataclass(frozen=True, slots=True)
class Plan:
    """The load that is put on a server, or on several with the same stores."""

    places: tuple[Place, ...]
    games: tuple[str, ...]
    """What is played, by turns."""

    tokens: tuple[str, ...] = ()
    """Whom the first players act for; the others are new guests."""

    players: int = 10
    watchers: int = 0
    """How many watch a player each, on another connection, and on another server where there are several."""

    seconds: float = 10.0
    """How long is measured."""

    warm: float = 2.0
    """How long everybody plays before that."""

    rate: float | None = None
    """Moves a second of all players together; None for as fast as answers come."""

    undo: float = 0.05
    """The share of undos."""

    churn: float = 0.0
    """After which share of moves a player's connection is cut, and made anew."""

    check: float = 0.1
    """Of which share of players every patch is applied and checked."""

    def checked(self, number: int) -> bool:
        """Tell whether the player of that number, from 0, is one of those; the first one is if any is."""
        return self.check > 0 and (number == 0 or int((number + 1) * self.check) > int(number * self.check))
