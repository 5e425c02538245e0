"""Random playouts of every game and variant, undos among them."""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from engine.deal import shuffle
from engine.effects import Record
from engine.game import Game
from engine.games import GAMES, make_game
from engine.games.klondike import Klondike
from engine.play import Play
from tests.engine.games.freecell import FreeCell
from tests.engine.vectors import playthroughs

UNDO_BELOW = 48
"""A choice below this takes the last move back."""


class Event(NamedTuple):
    """One change of a play."""

    kind: Literal["move", "undo"]
    move: str
    records: list[Record]


class Playout(NamedTuple):
    """A deal and how it is played: a line that is followed while it is legal, then choices."""

    game: Game
    seed: str
    opening: tuple[str, ...]
    choices: bytes
    """Each one takes a move back or picks a legal one."""

    def deal(self) -> Play:
        """Deal."""
        return Play(self.game, shuffle(self.seed, self.game.decks))

    def follow(self, play: Play) -> Iterator[Event]:
        """Play it, pausing after each event; it ends early with a play that is won."""
        for move in self.opening:
            if move not in play.legal:
                break
            yield Event("move", move, play.push(move))
        for choice in self.choices:
            if play.status == "won":
                break
            if play.legal and (choice >= UNDO_BELOW or not play.done):
                move = play.legal[choice % len(play.legal)]
                yield Event("move", move, play.push(move))
            elif play.done:
                yield Event("undo", *play.pop())

    def __repr__(self) -> str:
        """Say it in a form that can be pasted."""
        return (
            f"Playout(make_game({self.game.name!r}, {self.game.options}), {self.seed!r}, "
            f"{self.opening}, {self.choices})"
        )


Playouts: TypeAlias = st.SearchStrategy[Playout]

_SEEDS = st.integers(0, 9999).map(str)
_CHOICES = st.integers(0, 120).flatmap(lambda n: st.binary(min_size=n, max_size=n))
_KLONDIKE_OPTIONS = st.fixed_dictionaries(
    {"draw": st.sampled_from([1, 3]), "passes": st.integers(0, 9), "worry_back": st.booleans()}
)


def _openings(game: Game) -> list[tuple[str, tuple[str, ...]]]:
    """Return the seeds and lines that are on file for a game."""
    return [
        (through.content["seed"], through.line)
        for through in playthroughs()
        if through.game == game.name and through.options == game.options
    ]


def _of(game: Game) -> Playouts:
    """Play from the deal, or from somewhere along a line on file: chance alone seldom gets far."""
    fresh = st.builds(Playout, st.just(game), _SEEDS, st.just(()), _CHOICES)
    known = _openings(game)
    if not known:
        return fresh

    def cut(seed_and_line: tuple[str, tuple[str, ...]]) -> Playouts:
        seed, line = seed_and_line
        openings = st.integers(0, len(line)).map(lambda n: line[:n])
        return st.builds(Playout, st.just(game), st.just(seed), openings, _CHOICES)

    return st.one_of(fresh, st.sampled_from(known).flatmap(cut))


def _strategies() -> Mapping[str, Playouts]:
    found = {
        f"{game.name}-{variant.name}": _of(make_game(game.name, variant.options))
        for game in GAMES
        for variant in game.variants
    }
    found["klondike-custom"] = _KLONDIKE_OPTIONS.map(Klondike).flatmap(_of)
    found["freecell"] = _of(FreeCell())
    return found


STRATEGIES = _strategies()
"""Playouts by game and variant."""

every_game = pytest.mark.parametrize(
    "playouts", [pytest.param(strategy, id=name) for name, strategy in STRATEGIES.items()]
)
"""Runs a test once for each game and variant."""


def examples(count: int) -> settings:
    """Return settings for so many playouts. A loaded machine is slow, which is no failure."""
    return settings(max_examples=count, deadline=None, suppress_health_check=[HealthCheck.too_slow])
