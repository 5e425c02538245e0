"""Camelot's rules page, line by line."""

import pytest

from engine.cards import NAMES
from engine.errors import Reason
from engine.games import make_game
from engine.play import Play
from tests.engine.positions import at, offers, pile, piles, reason, refusals

CAMELOT = make_game("camelot")
CELLS = [row + column for row in "abcd" for column in "1234"]
CORNERS = {"a1", "a4", "d1", "d4"}
QUEENS = {"a2", "a3", "d2", "d3"}
JACKS = {"b1", "c1", "b4", "c4"}
COURT = "a1: KC\na4: KD\nd1: KH\nd4: KS\na2: QC\na3: QD\nd2: QH\nd3: QS\nb1: JC\nb4: JD\nc1: JH\nc4: JS"
"""The twelve court cards in their places."""

NUMBERS = [name for name in NAMES if name[0] not in "JQK"]
CLEAR = "phase = 1"


def grid(cards: str, *, but: str = "") -> str:
    """Return lines that fill the cells one after another, some cells left empty."""
    cells = [cell for cell in CELLS if cell not in but.split()]
    return "\n".join(f"{cell}: {card}" for cell, card in zip(cells, cards.split(), strict=False))


def filled(card: str, *, but: str = "") -> str:
    """Return lines that fill the cells with copies of one card, some cells left empty."""
    return grid(" ".join([card] * 16), but=but)


# The deal.


def test_nothing_is_dealt() -> None:
    play = Play(CAMELOT, range(52))
    assert pile(play, "stock").split() == ["??"] * 52
    assert piles(play, " ".join(["waste", *CELLS])) == [""] * 17
    assert (play.phase, play.score, play.legal, play.state) == ("fill", 0, ["draw"], {})


def test_the_first_card_of_the_deck_is_the_first_drawn() -> None:
    play = Play(CAMELOT, range(52))
    play.push("draw")
    assert pile(play, "waste") == "AC"


def test_it_has_one_variant_without_options() -> None:
    assert (CAMELOT.variant, CAMELOT.options) == ("default", {})


# Filling.


@pytest.mark.parametrize("rank", "A23456789T")
def test_ace_to_ten_may_be_placed_in_any_empty_cell(rank: str) -> None:
    play = at(CAMELOT, f"stock: ??\nwaste: {rank}H\na1: 2C\nc3: 2D")
    assert play.legal == sorted(f"waste-{cell}" for cell in CELLS if cell not in {"a1", "c3"})


@pytest.mark.parametrize(("rank", "cells"), [("K", CORNERS), ("Q", QUEENS), ("J", JACKS)])
@pytest.mark.parametrize("suit", "CDHS")
def test_court_cards_are_placed_at_their_places_only(rank: str, cells: set[str], suit: str) -> None:
    play = at(CAMELOT, f"stock: ??\nwaste: {rank}{suit}")
    assert set(play.legal) == {f"waste-{cell}" for cell in cells}


def test_while_a_card_waits_on_the_waste_nothing_else_is_possible() -> None:
    play = at(CAMELOT, "stock: ??\nwaste: 4H\na1: TC\na2: 6C\na3: 4C")
    assert all(move.startswith("waste-") for move in play.legal)
    assert reason(play, "draw") == "target_full"
    assert reason(play, "a1x") == "not_in_this_phase"


@pytest.mark.parametrize(("card", "places"), [("KH", CORNERS), ("QH", QUEENS), ("JH", JACKS)])
def test_a_court_card_without_a_place_loses_whatever_the_grid_holds(card: str, places: set[str]) -> None:
    taken = "\n".join(f"{cell}: TC" for cell in sorted(places))
    assert at(CAMELOT, f"stock: ??\nwaste: {card}\n{taken}\nb2: 4C\nb3: 6C").status == "lost"


def test_the_placement_that_fills_the_last_cell_begins_to_clear() -> None:
    play = at(CAMELOT, f"stock: ??\nwaste: 4H\n{filled('6C', but='c3')}")
    assert play.phase == "fill"
    play.push("waste-c3")
    assert play.phase == "clear"
    assert "b2+c3" in play.legal
    play.pop()
    assert (play.phase, play.legal) == ("fill", ["waste-c3"])


def test_the_placement_that_leaves_stock_and_waste_empty_begins_to_clear() -> None:
    play = at(CAMELOT, "waste: 4H\na1: 6C")
    assert play.phase == "fill"
    play.push("waste-b2")
    assert (play.phase, play.legal) == ("clear", ["a1+b2"])


def test_a_placement_that_does_neither_goes_on_filling() -> None:
    play = at(CAMELOT, "stock: ??\nwaste: 4H\na1: 6C")
    play.push("waste-b2")
    assert (play.phase, play.legal) == ("fill", ["draw"])


# Clearing.


def test_a_ten_leaves_play_alone() -> None:
    play = at(CAMELOT, f"{CLEAR}\nstock: ??\na1: TC\nb3: TD\nc2: 5C")
    assert play.legal == ["a1x", "b3x", "draw"]
    play.push("b3x")
    assert (pile(play, "b3"), pile(play, "off"), play.score) == ("", "TD", 1)


def test_no_other_card_leaves_play_alone() -> None:
    play = at(CAMELOT, f"{CLEAR}\nstock: ??\na1: 9C\na2: QC\nb1: JC\na4: KC\nb2: AC\nc2: 5C")
    assert offers(play, *(f"{cell}x" for cell in CELLS)) == set()


@pytest.mark.parametrize(("one", "other"), ["A9", "28", "37", "46", "55", "64", "73", "82", "9A"])
def test_two_that_sum_to_ten_leave_play_together_regardless_of_suit(one: str, other: str) -> None:
    for suit in "CDHS":
        play = at(CAMELOT, f"{CLEAR}\nstock: ??\na1: {one}{suit}\nd4: {other}H")
        assert play.legal == ["a1+d4", "draw"]
        play.push("a1+d4")
        assert (piles(play, "a1 d4"), play.score) == (["", ""], 2)


@pytest.mark.parametrize(("one", "other"), ["AT", "A8", "44", "66", "KK", "QT", "JT", "TT", "2J", "3Q", "9K"])
def test_no_other_two_leave_play_together(one: str, other: str) -> None:
    assert reason(at(CAMELOT, f"{CLEAR}\nstock: ??\na1: {one}C\nd4: {other}H"), "a1+d4") == "wrong_card"


def test_cells_need_not_be_neighbors_and_stand_in_layout_order() -> None:
    play = at(CAMELOT, f"{CLEAR}\na2: 4C\na3: 6D\nc1: 6H\nd4: 4S")
    assert play.legal == ["a2+a3", "a2+c1", "a3+d4", "c1+d4"]
    assert reason(play, "a3+a2") == "malformed"


def test_a_card_is_not_paired_with_itself() -> None:
    assert reason(at(CAMELOT, f"{CLEAR}\nstock: ??\na1: 5C"), "a1+a1") == "malformed"


def test_drawing_leads_back_to_filling_at_once() -> None:
    play = at(CAMELOT, f"{CLEAR}\nstock: ??\n{filled('6C', but='c3')}", "4H")
    play.push("draw")
    assert (play.phase, play.legal) == ("fill", ["waste-c3"])
    play.pop()
    assert (play.phase, play.legal) == ("clear", ["draw"])


def test_any_number_of_removals_also_none_before_drawing_again() -> None:
    play = at(CAMELOT, f"{CLEAR}\nstock: ??\n{filled('5C', but='c3 c4')}")
    assert "draw" in play.legal
    for _ in range(7):
        play.push(play.legal[0])
        assert "draw" in play.legal
    assert play.legal == ["draw"]


def test_with_a_full_grid_there_is_no_drawing() -> None:
    play = at(CAMELOT, f"{CLEAR}\nstock: ??\n{filled('5C')}")
    assert "draw" not in play.legal
    assert reason(play, "draw") == "target_full"


def test_cards_in_the_grid_never_move() -> None:
    for text in ("stock: ??\na1: 5C", f"{CLEAR}\nstock: ??\na1: 5C"):
        assert reason(at(CAMELOT, text), "a1-b2") == "source_locked"


def test_nothing_is_ever_put_on_the_waste_or_the_stock() -> None:
    play = at(CAMELOT, "stock: ??\nwaste: 5H\na1: 5C")
    assert reason(play, "waste-stock") == "target_locked"
    assert reason(play, "a1-waste") == "source_locked"
    assert reason(play, "a1-stock") == "source_locked"
    assert reason(play, "stock-waste") == "face_down"


# Goal, score, loss.


def test_it_is_won_when_only_the_court_is_left() -> None:
    gone = " ".join(name for name in NUMBERS if name not in {"4C", "6D"})
    play = at(CAMELOT, f"{CLEAR}\n{COURT}\nb2: 4C\nb3: 6D\noff: {gone}")
    assert (play.status, play.score) == ("playing", 38)
    play.push("b2+b3")
    assert (play.status, play.score, play.phase, play.legal) == ("won", 40, "clear", [])


def test_it_is_not_won_while_a_court_card_has_not_been_placed() -> None:
    court = COURT.replace("c4: JS", "")
    play = at(CAMELOT, f"{CLEAR}\nstock: ??\n{court}\noff: {' '.join(NUMBERS)}", "JS")
    assert (play.status, play.score) == ("playing", 40)
    play.push("draw")
    assert play.status == "playing"
    play.push("waste-c4")
    assert play.status == "won"


def test_it_is_lost_with_a_full_grid_from_which_nothing_can_be_removed() -> None:
    play = at(CAMELOT, f"stock: ??\nwaste: 4H\n{filled('2C', but='c3')}")
    play.push("waste-c3")
    assert (play.status, play.phase, play.legal) == ("lost", "clear", [])


def test_it_is_lost_with_cards_left_that_do_not_go_out() -> None:
    assert at(CAMELOT, f"{CLEAR}\n{COURT}\nb2: 4C\nb3: 5D").status == "lost"


def test_the_score_is_a_point_for_each_card_removed() -> None:
    play = at(CAMELOT, f"{CLEAR}\na1: TC\na2: 4C\na3: 6C\na4: 2D\nb1: 8D")
    scores: list[int] = []
    for move in ("a1x", "a2+a3", "a4+b1"):
        play.push(move)
        scores.append(play.score)
    assert scores == [1, 3, 5]
    play.pop()
    assert play.score == 3


# Reasons.

FILLING = "stock: ??\nwaste: KH\na1: TC\na2: 6C\na3: 4C"
CLEARING = f"{CLEAR}\nstock: ??\na1: 9C\na2: 6C\na3: 4C\nd4: KC"


@refusals(
    """
        malformed: redeal a1-b1:2 step=1 a3+a2 a2+a2 A1x a1xx
        no_such_pile: a5x e1x waste-a5 a1+e1
        not_in_this_phase: a1x a2+a3 b1x b1+b2
        empty_source: b1-b2 stock+b1 waste+b1
        face_down: stock-a4 stockx stock+a1 stock+waste
        source_locked: a1-b1 a1-a1 wastex waste+a1
        target_locked: waste-stock waste-waste
        target_full: draw waste-a1 waste-a2
        wrong_card: waste-b1 waste-b2
    """
)
def test_a_move_refused_when_filling_has_the_first_reason_that_holds(move: str, expected: Reason) -> None:
    assert reason(at(CAMELOT, FILLING), move) == expected


@refusals(
    """
        malformed: redeal a3+a2 a1+a1
        no_such_pile: a1+e1 zx
        not_in_this_phase: waste-a1 waste-b1
        empty_source: waste-stock wastex b1x a1+b1 b1-b2 stock+b1
        face_down: stockx stock+a1 stock-b1
        source_locked: a1-b1 a1-stock
        wrong_card: a1x d4x a1+a2 a1+d4
    """
)
def test_a_move_refused_when_clearing_has_the_first_reason_that_holds(move: str, expected: Reason) -> None:
    assert reason(at(CAMELOT, CLEARING), move) == expected


@pytest.mark.parametrize("text", ["waste: 4C", f"{CLEAR}\na1: 4C\na2: 6C"], ids=["fill", "clear"])
def test_a_draw_from_an_empty_stock_has_an_empty_source(text: str) -> None:
    assert reason(at(CAMELOT, text), "draw") == "empty_source"
