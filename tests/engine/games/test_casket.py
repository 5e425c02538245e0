"""Casket's rules page, line by line."""

import pytest

from engine.cards import NAMES
from engine.errors import Reason
from engine.games import make_game
from engine.play import Play
from tests.engine import inside
from tests.engine.positions import at, offers, pile, piles, reason, refusals

CASKET = make_game("casket")
DECK = list(range(52)) * 2

SUIT = {suit: " ".join(rank + suit for rank in "A23456789TJQK") for suit in "CDHS"}
HOME = "\n".join(f"f{i}: {SUIT[suit]}" for i, suit in enumerate("CCDDHHS", 1))
"""All of the foundations but the last."""


# The deal.


def test_the_deal_fills_jewels_lid_body_and_waste_in_this_order() -> None:
    play = Play(CASKET, DECK)
    assert pile(play, "jewels").split() == ["??"] * 13
    assert [NAMES[card] for card in inside.names(play)[CASKET.layout.by_name["jewels"]]] == SUIT["C"].split()
    assert piles(play, "l1 l2 l3 l4 l5") == ["AD", "2D", "3D", "4D", "5D"]
    assert piles(play, "t1 t2 t3 t4 t5 t6 t7 t8") == ["6D", "7D", "8D", "9D", "TD", "JD", "QD", "KD"]
    assert pile(play, "waste") == "AH"
    assert pile(play, "stock").split() == ["??"] * 77


def test_aces_stay_where_they_are_dealt_and_foundations_start_empty() -> None:
    play = Play(CASKET, DECK)
    assert piles(play, "f1 f2 f3 f4 f5 f6 f7 f8") == [""] * 8
    assert offers(play, "l1-f1", "waste-f1") == {"l1-f1", "waste-f1"}
    assert play.score == 0


def test_reserves_start_empty() -> None:
    assert piles(Play(CASKET, DECK), "r1 r2 r3") == [""] * 3


def test_the_first_card_that_was_not_dealt_is_the_first_drawn() -> None:
    play = Play(CASKET, DECK)
    play.push("waste-r1")
    play.push("draw")
    assert pile(play, "waste") == "2H"


def test_it_has_one_variant_without_options() -> None:
    assert (CASKET.variant, CASKET.options) == ("default", {})


# Drawing.


def test_draw_turns_one_card_onto_an_empty_waste() -> None:
    play = at(CASKET, "stock: ?? ??\nl1: 9C", "2C 3C")
    assert play.legal == ["draw"]
    play.push("draw")
    assert piles(play, "stock waste") == ["??", "3C"]


def test_the_waste_card_need_not_move_at_once_but_blocks_the_draw() -> None:
    play = at(CASKET, "stock: ?? ??\nwaste: 2H\nl1: AH")
    assert "draw" not in play.legal
    play.push("l1-f1")
    assert "waste-f1" in play.legal


# Onto the foundations.


@pytest.mark.parametrize("source", ["waste", "r1", "t1", "l1"])
def test_an_ace_goes_onto_any_empty_foundation(source: str) -> None:
    play = at(CASKET, f"{source}: AS\nf2: AS\nf3: AH")
    onto = {f"{source}-f{i}" for i in range(1, 9)}
    assert offers(play, *onto) == onto - {f"{source}-f2", f"{source}-f3"}


@pytest.mark.parametrize("source", ["waste", "r1", "t1", "l1"])
def test_foundations_are_built_up_in_suit(source: str) -> None:
    play = at(
        CASKET,
        f"{source}: 5S\nf1: AS 2S 3S 4S\nf2: AC 2C 3C 4C\nf3: AS 2S 3S\nf4: AS 2S 3S 4S\nf5: AS 2S 3S 4S 5S",
    )
    assert offers(play, *(f"{source}-f{i}" for i in range(1, 9))) == {f"{source}-f1", f"{source}-f4"}


def test_two_foundations_of_one_suit_are_both_open() -> None:
    play = at(CASKET, "waste: 2S\nf1: AS\nf2: AS\nr1: 9C\nr2: 9C\nr3: 9C")
    assert offers(play, "waste-f1", "waste-f2") == {"waste-f1", "waste-f2"}


# Onto the body.


@pytest.mark.parametrize("source", ["waste", "r1", "t8", "l1"])
def test_the_body_takes_the_same_suit_one_rank_lower(source: str) -> None:
    play = at(CASKET, f"{source}: 5S\nt1: 6S\nt2: 6C\nt3: 4S\nt4: 7S\nt5: 5S\nt6: 2H 6S")
    assert offers(play, *(f"{source}-t{i}" for i in range(1, 7))) == {f"{source}-t1", f"{source}-t6"}


def test_nothing_goes_on_an_ace_of_the_body() -> None:
    play = at(CASKET, "waste: KS\nt1: AS\nt2: 2S\nl1: KS\nl2: AS")
    assert offers(play, "waste-t1", "l1-t1", "t2-t1", "l2-t2") == {"l2-t2"}


@pytest.mark.parametrize("source", ["waste", "r1"])
def test_an_empty_body_pile_takes_any_card(source: str) -> None:
    play = at(CASKET, f"{source}: 5S\nt1: KC\nt3: KC\nt5: KC")
    onto = {f"{source}-t{i}" for i in (2, 4, 6, 7, 8)}
    assert offers(play, *(f"{source}-t{i}" for i in range(1, 9))) == onto


def test_a_body_card_with_others_under_it_goes_to_an_empty_body_pile() -> None:
    assert offers(at(CASKET, "t1: KC 5S"), "t1-t2", "t1-t8") == {"t1-t2", "t1-t8"}


def test_a_lid_card_never_goes_to_an_empty_body_pile() -> None:
    play = at(CASKET, "l1: 5S\nt1: 6S")
    assert play.legal == ["l1-t1"]
    assert reason(play, "l1-t2") == "target_locked"


def test_cards_move_one_at_a_time() -> None:
    assert reason(at(CASKET, "t1: 6S 5S\nt2: 7S"), "t1-t2:2") == "malformed"


# Onto the reserves.


def test_a_waste_card_goes_onto_any_reserve_at_any_height() -> None:
    tall = " ".join(["KC QD 2H 9S"] * 12)
    play = at(CASKET, f"waste: 5S\nr1: {tall}\nr2: 5S")
    onto = {"waste-r1", "waste-r2", "waste-r3"}
    assert offers(play, *onto) == onto
    play.push("waste-r1")
    assert pile(play, "r1") == f"{tall} 5S"


def test_of_a_reserve_the_top_is_available() -> None:
    play = at(CASKET, "r1: AS 5S\nt1: 6S\nt2: 9C")
    assert "r1-t1" in play.legal
    assert "r1-f1" not in play.legal
    play.push("r1-t1")
    assert "r1-f1" in play.legal


@pytest.mark.parametrize("source", ["t1", "l1", "r2"])
def test_a_reserve_takes_cards_from_the_waste_only(source: str) -> None:
    assert reason(at(CASKET, f"stock: ??\n{source}: 5S"), f"{source}-r1") == "target_locked"


# What never happens.


@pytest.mark.parametrize("source", ["waste", "t1", "r1", "l1"])
@pytest.mark.parametrize("target", ["l2", "jewels", "stock", "waste"])
def test_no_card_goes_onto_the_lid_the_jewels_the_stock_or_the_waste(source: str, target: str) -> None:
    assert reason(at(CASKET, f"jewels: ??\n{source}: 5S\nt8: 6S KC"), f"{source}-{target}") == "target_locked"


@pytest.mark.parametrize("target", ["t1", "t2", "r1", "l1", "waste", "f2"])
def test_foundations_give_nothing_back(target: str) -> None:
    assert reason(at(CASKET, "stock: ??\nf1: AS 2S\nt1: 3S"), f"f1-{target}") == "source_locked"


def test_there_is_no_redeal() -> None:
    assert reason(at(CASKET, "waste: 5S"), "redeal") == "malformed"


# What follows by itself.


@pytest.mark.parametrize("move", ["l2-f1", "l2-t1"])
def test_a_lid_pile_that_empties_gets_the_top_jewel_in_the_same_move(move: str) -> None:
    play = at(CASKET, "jewels: ?? ??\nl2: 2S\nf1: AS\nt1: 3S", "KC 9D")
    play.push(move)
    assert piles(play, "jewels l2") == ["??", "9D"]
    assert (play.moves, play.seq) == (1, 1)
    play.pop()
    assert piles(play, "jewels l2") == ["?? ??", "2S"]


def test_without_jewels_a_lid_pile_stays_empty() -> None:
    play = at(CASKET, "stock: ??\nl2: 2S\nt1: 3S")
    play.push("l2-t1")
    assert pile(play, "l2") == ""


def test_a_lid_pile_that_is_empty_already_stays_so_when_another_empties() -> None:
    play = at(CASKET, "jewels: ??\nl2: 2S\nt1: 3S", "KC")
    play.push("l2-t1")
    assert piles(play, "l1 l2 l3 jewels") == ["", "KC", "", ""]


def test_body_spaces_and_reserves_are_not_filled_by_themselves() -> None:
    play = at(CASKET, "jewels: ??\nstock: ??\nt1: 2S\nt2: 3S\nr1: AS")
    play.push("t1-t2")
    play.push("r1-t2")
    assert piles(play, "t1 r1 jewels stock") == ["", "", "??", "??"]


# No effect, goal, score, loss.


def test_the_only_card_of_a_body_pile_onto_an_empty_body_pile_has_no_effect() -> None:
    play = at(CASKET, "stock: ??\nt1: 5S")
    assert play.legal == ["draw"]
    assert reason(play, "t1-t2") == "no_effect"


def test_it_is_won_with_104_cards_on_the_foundations() -> None:
    play = at(CASKET, f"{HOME}\nf8: {SUIT['S'][:-3]}\nr1: KS")
    assert (play.status, play.score) == ("playing", 103)
    play.push("r1-f8")
    assert (play.status, play.score, play.legal) == ("won", 104, [])


def test_it_is_lost_when_no_move_is_legal() -> None:
    stuck = "\n".join(f"t{i}: KC" for i in range(1, 9))
    assert at(CASKET, f"{stuck}\nl1: 5S\nr1: 5S").status == "lost"
    assert at(CASKET, f"{stuck}\nl1: 5S\nr1: 5S\nwaste: 5S").status == "playing"


def test_the_score_is_the_cards_on_the_foundations() -> None:
    play = at(CASKET, "f1: AS 2S\nf8: AS\nr1: 3S\nt1: 9C")
    assert play.score == 3
    play.push("r1-f1")
    assert play.score == 4


def test_the_state_tells_nothing_more() -> None:
    assert Play(CASKET, DECK).state == {}


# Reasons.

TABLE = """
stock: ?? ??
waste: 5H
jewels: ?? ??
l1: 4S
l2: KD
t1: 5S
t2: 9C
t3: 7D 8C
r1: 9S
f1: AH 2H
"""


@refusals(
    """
        malformed: redeal t1-t2:2 t1x t1+t2 l1-t1:1 step=1 L1-T1
        no_such_pile: t9-t1 l6-t1 r4-t1 waste-f9 jewel-t1 jewels1-t1
        empty_source: t4-t1 l3-t1 r2-f1 f2-t1 t4-jewels t4-t4
        face_down: stock-waste stock-t1 jewels-l3 jewels-jewels
        source_locked: f1-t1 f1-f1 f1-stock
        target_locked: l1-r1 l1-l3 t1-jewels t1-waste waste-stock r1-r2 t1-t1 l2-t4 waste-waste waste-l3
        target_full: draw
        wrong_card: waste-t1 t2-f1 l2-f2 t2-t3 r1-t3
        no_effect: t1-t4
    """
)
def test_a_refused_move_has_the_first_reason_that_holds(move: str, expected: Reason) -> None:
    assert reason(at(CASKET, TABLE), move) == expected


def test_a_draw_from_an_empty_stock_has_an_empty_source_whatever_the_waste_holds() -> None:
    assert reason(at(CASKET, "waste: 5H"), "draw") == "empty_source"
    assert reason(at(CASKET, "r1: 5H"), "draw") == "empty_source"
