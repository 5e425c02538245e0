"""The moves that are played: as many draws and other moves as the peers' script has."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from engine import Play, make_game, shuffle

OPTIONS: Final[dict[str, object]] = {"draw": 1, "passes": 0, "worry_back": True}
_DRAWS, _OTHERS = 60, 39
"""What the peers' hundred moves are, but for the last, which deals anew: here that is another session."""


class Script(NamedTuple):
    """Moves that are legal one after another in one deal of Klondike."""

    seed: str
    moves: list[str]


def script() -> Script:
    """Return the first random game that has just as many of both."""
    game = make_game("klondike", OPTIONS)
    for number in count():
        seed = f"peers-{number}"
        play, chance, moves = Play(game, shuffle(seed, 1)), Random(seed), list[str]()
        while play.legal and len(moves) < _DRAWS + _OTHERS:
            others = [move for move in play.legal if move not in {"draw", "redeal"}]
            draws = [move for move in play.legal if move in {"draw", "redeal"}]
            some = others if not draws or (others and chance.random() < _OTHERS / _DRAWS) else draws
            moves.append(chance.choice(some))
            play.push(moves[-1])
        if len(moves) == _DRAWS + _OTHERS and sum(move in {"draw", "redeal"} for move in moves) == _DRAWS:
            return Script(seed, moves)
    raise AssertionError
