"""The games that there are. A further one is a file of its own and a line here: see README.md."""

from collections.abc import Mapping
from functools import lru_cache

from engine.errors import UnknownGame
from engine.game import Game
from engine.games.camelot import Camelot
from engine.games.casket import Casket
from engine.games.klondike import Klondike
from engine.games.plot import Plot
from engine.games.stalactites import Stalactites

GAMES: tuple[type[Game], ...] = (Klondike, Casket, Plot, Stalactites, Camelot)

_BY_NAME = {game.name: game for game in GAMES}


@lru_cache(maxsize=256)
def _shared(name: str, options: tuple[tuple[str, object], ...]) -> Game:
    """Set a game up, once for each set of options in use."""
    return _BY_NAME[name](dict(options))


def game_class(name: str) -> type[Game]:
    """Return a game by name.

    Raises:
        UnknownGame: there is none of that name.
    """
    try:
        return _BY_NAME[name]
    except KeyError:
        raise UnknownGame(f"there is no game of that name; there are: {', '.join(_BY_NAME)}") from None


def make_game(name: str, options: Mapping[str, object] | None = None) -> Game:
    """Return a game under some options, those left out at their defaults. The instance is shared.

    Raises:
        UnknownGame: there is no game of that name.
        OptionError: an option is unknown or out of range.
    """
    filled = game_class(name)(options).options
    return _shared(name, tuple(filled.items()))
