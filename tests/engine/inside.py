"""What tests look at inside a play, and nobody else may."""
# This module is the one place that reaches for private names, so the rule is off here alone.
# pyright: reportPrivateUsage=false

from collections import Counter

from engine.cards import Card
from engine.play import Play
from engine.sources import Takers
from engine.table import Backs


def backs(play: Play) -> Backs:
    """Return the names under the backs."""
    return play._backs


def takers(play: Play) -> Takers:
    """Return the search for moves as the play has kept it up to date."""
    return play._takers


def names(play: Play) -> list[list[Card]]:
    """Return the names of the face-down cards of each pile, the place off the table last."""
    return [list(pile) for pile in play._backs._names]


def hidden(play: Play) -> list[Card]:
    """Return the names of all face-down cards, as `Play.at` takes them."""
    return [card for pile in play._backs._names for card in pile]


def cards(play: Play) -> Counter[Card]:
    """Count every card, wherever it is and whichever way it lies."""
    up = [card for pile in play.table.up for card in pile]
    return Counter(up + hidden(play))
