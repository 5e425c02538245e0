"""The rules of patience games, and nothing else: no clock, no I/O, no randomness but the seed.

This is the engine's public face. A `Play` is one attempt at one deal::

    game = make_game("klondike", {"draw": 3})
    play = Play(game, shuffle("some-seed", game.decks))
    play.push(play.legal[0])
    view(play)["piles"]
"""

from engine.deal import check_seed, commitment, shuffle
from engine.errors import (
    EngineError,
    IllegalMove,
    NothingToUndo,
    OptionError,
    PlayOver,
    Reason,
    SeedError,
    UnknownGame,
)
from engine.events import MOST_EVENTS, EventKind, apply
from engine.game import Game
from engine.games import GAMES, game_class, make_game
from engine.patch import patch
from engine.play import Play, Status
from engine.record import FORMAT, Verdict, begin, digest, sealed, verify
from engine.refusal import refusal
from engine.table import Table
from engine.view import View, head, view

__all__ = [
    "FORMAT",
    "GAMES",
    "MOST_EVENTS",
    "EngineError",
    "EventKind",
    "Game",
    "IllegalMove",
    "NothingToUndo",
    "OptionError",
    "Play",
    "PlayOver",
    "Reason",
    "SeedError",
    "Status",
    "Table",
    "UnknownGame",
    "Verdict",
    "View",
    "apply",
    "begin",
    "check_seed",
    "commitment",
    "digest",
    "game_class",
    "head",
    "make_game",
    "patch",
    "refusal",
    "sealed",
    "shuffle",
    "verify",
    "view",
]
