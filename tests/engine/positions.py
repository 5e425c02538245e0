"""Positions stated as text, taken up as plays."""

import re
from collections import Counter
from typing import get_args

import pytest

from engine.cards import parse_card
from engine.errors import IllegalMove, Reason
from engine.game import Game
from engine.play import Play
from engine.table import Table

REASONS: tuple[Reason, ...] = get_args(Reason)
"""All reasons, in the order in which the first that holds is given."""


def at(game: Game, text: str, hidden: str = "") -> Play:
    """Take a position up.

    Args:
        game: the rules.
        text: the position, as `Table.parse` reads it.
        hidden: the names of its face-down cards, pile by pile from the bottom; where they are left out,
            cards that are not on the table, in the order of the deck.
    """
    table = Table.parse(game.layout, text)
    names = [parse_card(name) for name in hidden.split()]
    if not names:
        seen = Counter(card for cards in table.up for card in cards)
        left = Counter(dict.fromkeys(range(52), game.decks)) - seen
        names = sorted(left.elements())
    return Play.at(game, table, names[: sum(table.down)])


def reason(play: Play, move: str) -> Reason:
    """Return why a move is refused; the test fails if it is not."""
    with pytest.raises(IllegalMove) as refused:
        play.push(move)
    return refused.value.reason


def pile(play: Play, name: str) -> str:
    """Return what lies on a pile as text: ``?? ?? QS JH``."""
    for line in play.table.text().split("\n"):
        if line.startswith(f"{name}:"):
            return line.partition(":")[2].strip()
    raise LookupError(name)


def piles(play: Play, names: str) -> list[str]:
    """Return what lies on some piles, in the order in which they are named."""
    return [pile(play, name) for name in names.split()]


def offers(play: Play, *moves: str) -> set[str]:
    """Return those of these moves that are legal."""
    return set(moves) & set(play.legal)


def part(play: Play, key: str) -> object:
    """Return a part of the game's state."""
    return play.state[key]


def refusals(table: str) -> pytest.MarkDecorator:
    """Run a test for each move of a table, with the reason for which it is refused.

    Args:
        table: a line a reason, ``wrong_card: t1-t2 t3-f1``; further lines may go on without one.
    """
    rows: list[tuple[str, str]] = []
    expected = ""
    for line in table.strip().split("\n"):
        named = re.fullmatch(r"\s*(?:([a-z_]+):\s)?(.*)", line)
        assert named, line
        expected = named[1] or expected
        assert expected in REASONS, expected
        rows += [(move, expected) for move in named[2].split()]
    return pytest.mark.parametrize(("move", "expected"), rows)
