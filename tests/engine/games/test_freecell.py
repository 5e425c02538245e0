"""FreeCell is one file, and all that the engine gives to a game it has: see test_properties for the rest."""

import pytest

from engine.cards import parse_card
from engine.errors import Reason
from engine.games import GAMES
from engine.play import Play
from tests.engine.games.freecell import FreeCell
from tests.engine.playouts import STRATEGIES
from tests.engine.positions import at, offers, pile, piles, reason, refusals

FREECELL = FreeCell()
SUIT = {suit: " ".join(rank + suit for rank in "A23456789TJQK") for suit in "CDHS"}
RUN = "9S 8D 7C 6H 5S 4D 3C 2H"
"""Eight cards that are packed."""

BLOCKED = "\n".join(f"t{i}: KS" for i in range(3, 9))
"""The columns from the third on hold a king each."""


def test_no_registry_knows_it_and_every_property_is_tried_on_it() -> None:
    assert FreeCell not in GAMES
    assert "freecell" in STRATEGIES


def test_the_deal_goes_row_by_row_so_that_four_columns_have_seven_cards() -> None:
    """This is deal 1 of the numbering that all FreeCell programs share."""
    deal = """
        JD 2D 9H JC 5D 7H 7C 5H
        KD KC 9S 5S AD QC KH 3H
        2S KS 9D QD JS AS AH 3C
        4C 5C TS QH 4H AC 4D 7S
        3S TD 4S TH 8H 2C JH 7D
        6D 8S 8D QS 6C 3D 8C TC
        6S 9C 2H 6H
    """
    play = Play(FREECELL, [parse_card(name) for name in deal.split()])
    assert pile(play, "t1") == "JD KD 2S 4C 3S 6D 6S"
    assert pile(play, "t4") == "JC 5S QD QH TH QS 6H"
    assert pile(play, "t8") == "5H 3H 3C 7S 7D TC"
    assert piles(play, "c1 c4 f1 f4") == [""] * 4
    assert (play.status, play.score, play.state) == ("playing", 0, {})


def test_columns_are_built_down_in_alternate_colors_and_a_space_takes_any_card() -> None:
    play = at(FREECELL, f"t1: 2C 6H\nt2: 7S\n{BLOCKED.replace('t8: KS', '')}\nt4: 7D\nt5: 8S")
    assert offers(play, "t1-t2", "t1-t4", "t1-t5", "t1-t8") == {"t1-t2", "t1-t8"}


def test_any_top_card_waits_in_an_empty_cell() -> None:
    play = at(FREECELL, f"c2: 9C\nt1: 6H\n{BLOCKED}\nt2: KS")
    assert offers(play, *(f"t1-c{i}" for i in range(1, 5))) == {"t1-c1", "t1-c3", "t1-c4"}


def test_a_card_in_a_cell_goes_to_a_column_or_a_foundation_and_to_no_other_cell() -> None:
    play = at(FREECELL, f"c1: 2H\nf1: AH\nt1: 3S\n{BLOCKED}")
    assert offers(play, "c1-f1", "c1-t1", "c1-t2", "c1-c2", "c1-t3") == {"c1-f1", "c1-t1", "c1-t2"}


def test_foundations_are_built_up_in_suit_and_give_nothing_back() -> None:
    play = at(FREECELL, "f1: AH\nt1: 2H\nt2: 2D\nt3: AS\nt4: 3S")
    assert offers(play, "t1-f1", "t2-f1", "t3-f1", "t3-f2", "t3-f4") == {"t1-f1", "t3-f2", "t3-f4"}
    assert reason(play, "f1-t4") == "source_locked"


@pytest.mark.parametrize(("taken", "most"), [(0, 5), (1, 4), (2, 3), (3, 2), (4, 1)])
@pytest.mark.parametrize(("n", "target"), [(2, "4H"), (3, "5C"), (4, "6D"), (5, "7S"), (6, "8H")])
def test_a_run_onto_a_card_is_one_more_than_the_free_cells(
    taken: int, most: int, n: int, target: str
) -> None:
    cells = "\n".join(f"c{i}: KC" for i in range(1, taken + 1))
    play = at(FREECELL, f"{cells}\nt1: {RUN}\nt2: {target}\n{BLOCKED}\nt3: AS")
    legal = f"t1-t2:{n}" in play.legal
    assert legal == (n <= most)
    if not legal:
        assert reason(play, f"t1-t2:{n}") == "not_a_run"


@pytest.mark.parametrize(("spaces", "onto_card", "onto_space"), [(1, 4, 2), (2, 8, 4)])
def test_each_space_doubles_the_run_but_not_the_one_that_is_its_target(
    spaces: int, onto_card: int, onto_space: int
) -> None:
    blocked = "\n".join(f"t{i}: KS" for i in range(3, 9 - spaces))
    cells = "c1: KC\nc2: KC\nc3: KC"
    for n, target in enumerate(["4H", "5C", "6D", "7S", "8H", "9C", "TH"], 2):
        play = at(FREECELL, f"{cells}\nt1: TD {RUN}\nt2: {target}\n{blocked}")
        assert (f"t1-t2:{n}" in play.legal) == (n <= onto_card)
        assert (f"t1-t8:{n}" in play.legal) == (n <= onto_space)


def test_a_whole_column_onto_a_space_has_no_effect() -> None:
    play = at(FREECELL, f"t1: 9S 8D\n{BLOCKED}")
    assert reason(play, "t1-t2:2") == "no_effect"
    assert "t1-t2" in play.legal


def test_it_is_won_with_52_cards_on_the_foundations_and_lost_without_a_move() -> None:
    home = f"f1: {SUIT['C']}\nf2: {SUIT['D']}\nf3: {SUIT['H']}\nf4: {SUIT['S'][:-3]}"
    play = at(FREECELL, f"{home}\nc1: KS")
    play.push("c1-f4")
    assert (play.status, play.score, play.legal) == ("won", 52, [])
    stuck = "\n".join([f"c{i}: KC" for i in range(1, 5)] + [f"t{i}: KS" for i in range(1, 9)])
    assert at(FREECELL, stuck).status == "lost"


@refusals(
    """
        malformed: draw t1x t1-t2:1
        no_such_pile: t9-t1
        empty_source: c2-t1
        source_locked: f1-c1
        not_a_run: t1-t3:3 t3-t1:2 t1-c2:2 c1-t1:2
        target_locked: c1-c2 t1-t1
        target_full: t1-c1
        wrong_card: t1-t3 t1-f1
        no_effect: t3-t2
    """
)
def test_a_refused_move_has_the_first_reason_that_holds(move: str, expected: Reason) -> None:
    assert reason(at(FREECELL, "c1: KC\nf1: AH\nt1: 9S 9D 8C\nt3: 4D"), move) == expected
