"""The Plot's rules page, line by line."""

import pytest

from engine.cards import NAMES, RANKS
from engine.errors import Reason
from engine.games import make_game
from engine.play import Play
from tests.engine import inside
from tests.engine.positions import at, offers, part, pile, piles, reason, refusals

PLOT = make_game("plot")
DECK = list(range(52)) * 2
BASE_FIVE = "base = 4\nf1: 5C"
"""Every pile builds on from a five; suits never matter."""

ROUND = "5C 6C 7C 8C 9C TC JC QC KC AC 2C 3C 4C"
"""A whole foundation on base five."""

OPEN = f"phase = 1\nbase = 4\nf1: {ROUND}"


def pile_texts(count: int, cards: str) -> str:
    """Return lines that put the same cards on the last piles, so that they are no spaces."""
    return "\n".join(f"t{i}: {cards}" for i in range(13 - count, 13))


# The deal.


def test_the_deal_fills_reserve_foundation_and_piles_in_this_order() -> None:
    play = Play(PLOT, DECK)
    assert pile(play, "reserve") == " ".join(["??"] * 12 + ["KC"])
    assert [NAMES[card] for card in inside.names(play)[PLOT.layout.by_name["reserve"]]] == [
        f"{r}C" for r in RANKS[:12]
    ]
    assert piles(play, "f1 f2 f8") == ["AD", "", ""]
    assert piles(play, "t1 t4 t5 t12") == ["2D", "5D", "6D", "KD"]
    assert pile(play, "stock").split() == ["??"] * 78
    assert pile(play, "waste") == ""


def test_the_first_card_that_was_not_dealt_is_the_first_drawn() -> None:
    play = Play(PLOT, DECK)
    play.push("draw")
    assert pile(play, "waste") == "AH"


@pytest.mark.parametrize("rank", range(13))
def test_the_base_is_the_rank_of_the_first_foundation_card(rank: int) -> None:
    deck = [*DECK[13 + rank :], *DECK[: 13 + rank]]
    play = Play(PLOT, deck[-13:] + deck[:-13])
    assert part(play, "base") == RANKS[rank]
    assert pile(play, "f1") == f"{RANKS[rank]}D"


def test_it_begins_restricted_with_one_point() -> None:
    play = Play(PLOT, DECK)
    assert (play.phase, play.score, play.status) == ("restricted", 1, "playing")
    assert play.state == {"base": "A"}


def test_it_has_one_variant_without_options() -> None:
    assert (PLOT.variant, PLOT.options) == ("default", {})


# Drawing.


def test_draw_turns_one_card_onto_the_waste_whatever_lies_there() -> None:
    play = at(PLOT, f"{BASE_FIVE}\nstock: ?? ??\nwaste: 9H", "2C 3C")
    play.push("draw")
    play.push("draw")
    assert piles(play, "stock waste") == ["", "9H 3C 2C"]
    assert "draw" not in play.legal


def test_there_is_no_redeal() -> None:
    assert reason(at(PLOT, f"{BASE_FIVE}\nwaste: 5H"), "redeal") == "malformed"


# Onto the foundations.


@pytest.mark.parametrize("source", ["waste", "reserve", "t1"])
@pytest.mark.parametrize(("top", "card"), [("5C", "6H"), ("QC", "KS"), ("KD", "AH"), ("AS", "2D")])
def test_foundations_are_built_up_regardless_of_suit_and_round_the_corner(
    source: str, top: str, card: str
) -> None:
    play = at(PLOT, f"base = 4\nf1: 5C {top}\n{source}: {card}")
    assert f"{source}-f1" in play.legal


@pytest.mark.parametrize("card", ["5H", "7H", "4H", "KH"])
def test_a_foundation_takes_no_other_rank(card: str) -> None:
    assert reason(at(PLOT, f"{BASE_FIVE}\nstock: ??\nreserve: {card}"), "reserve-f1") == "wrong_card"


def test_while_restricted_no_other_foundation_may_begin() -> None:
    play = at(PLOT, f"{BASE_FIVE}\nstock: ??\nwaste: 5H\nreserve: 5S\nt1: 5D")
    for source in ("waste", "reserve", "t1"):
        assert reason(play, f"{source}-f2") == "not_in_this_phase"


def test_the_thirteenth_card_on_the_first_foundation_opens_the_others() -> None:
    play = at(PLOT, f"base = 4\nf1: {ROUND[:-3]}\nreserve: ?? 4H\nt1: 5D\nt2: 5S", "9C")
    assert play.phase == "restricted"
    play.push("reserve-f1")
    assert play.phase == "open"
    assert offers(play, "t1-f2", "t1-f8", "t2-f5") == {"t1-f2", "t1-f8", "t2-f5"}
    play.pop()
    assert play.phase == "restricted"
    assert offers(play, "t1-f2", "t1-f8", "t2-f5") == set()


@pytest.mark.parametrize("source", ["waste", "reserve", "t1"])
def test_when_open_an_empty_foundation_takes_a_base_card_only(source: str) -> None:
    onto = {f"{source}-f{i}" for i in range(2, 9)}
    assert offers(at(PLOT, f"{OPEN}\n{source}: 5D"), *onto) == onto
    assert offers(at(PLOT, f"{OPEN}\n{source}: 6D"), *onto) == set()


def test_it_stays_open_for_good() -> None:
    play = at(PLOT, f"{OPEN}\nstock: ??\nreserve: ?? 5D\nt1: 6D", "9C 2C")
    for move in ("reserve-f2", "t1-f2", "draw"):
        play.push(move)
        assert play.phase == "open"


def test_a_foundation_of_thirteen_takes_no_more() -> None:
    play = at(PLOT, f"{OPEN}\nstock: ??\nreserve: 5D")
    assert reason(play, "reserve-f1") == "target_full"
    assert "reserve-f2" in play.legal


def test_foundations_give_nothing_back() -> None:
    assert reason(at(PLOT, "base = 4\nf1: 5C 6C\nstock: ??\nt1: 7D"), "f1-t1") == "source_locked"


# Onto the piles.


@pytest.mark.parametrize("source", ["waste", "t2"])
@pytest.mark.parametrize(("top", "card"), [("9C", "8C"), ("9C", "8H"), ("2S", "AD"), ("AS", "KD")])
def test_piles_are_built_down_regardless_of_suit_and_round_the_corner(
    source: str, top: str, card: str
) -> None:
    assert f"{source}-t1" in at(PLOT, f"{BASE_FIVE}\nt1: {top}\n{source}: {card}").legal


@pytest.mark.parametrize("card", ["TC", "9H", "7S", "KD"])
def test_a_pile_takes_no_other_rank(card: str) -> None:
    assert reason(at(PLOT, f"{BASE_FIVE}\nstock: ??\nwaste: {card}\nt1: 9C"), "waste-t1") == "wrong_card"


@pytest.mark.parametrize("phase", [BASE_FIVE, OPEN], ids=["restricted", "open"])
@pytest.mark.parametrize(("top", "card"), [("5D", "4H"), ("6D", "5H")], ids=["upon-base", "base-upon"])
@pytest.mark.parametrize("source", ["waste", "t2"])
def test_base_cards_are_neither_built_on_nor_built_upon(phase: str, top: str, card: str, source: str) -> None:
    """That holds all game long, for base cards that were dealt to a pile too."""
    play = at(PLOT, f"{phase}\nstock: ??\nt1: {top}\n{source}: {card}")
    assert reason(play, f"{source}-t1") == "wrong_card"


def test_a_base_card_from_a_pile_may_begin_a_foundation_when_open() -> None:
    assert "t1-f2" in at(PLOT, f"{OPEN}\nt1: 5D").legal


def test_cards_move_one_at_a_time() -> None:
    assert reason(at(PLOT, f"{BASE_FIVE}\nstock: ??\nt1: 9C 8C\nt2: TC"), "t1-t2:2") == "malformed"


def test_the_reserve_goes_to_foundations_only() -> None:
    play = at(PLOT, f"{BASE_FIVE}\nstock: ??\nreserve: 8C\nt1: 9C")
    assert reason(play, "reserve-t1") == "target_locked"
    assert reason(play, "reserve-t2") == "target_locked"
    assert reason(play, "reserve-waste") == "target_locked"


# Spaces.


def test_while_restricted_a_space_takes_a_base_card_from_the_waste() -> None:
    play = at(PLOT, f"{BASE_FIVE}\n{pile_texts(10, 'TC')}\nwaste: 5D")
    assert play.legal == ["waste-t1", "waste-t2"]
    play.push("waste-t2")
    assert pile(play, "t2") == "5D"


def test_while_restricted_a_space_takes_no_other_card() -> None:
    assert reason(at(PLOT, f"{BASE_FIVE}\nstock: ??\nwaste: 6D"), "waste-t1") == "wrong_card"


@pytest.mark.parametrize("card", ["5D", "6D", "KS", "AH"])
def test_when_open_a_space_takes_any_card_from_the_waste(card: str) -> None:
    assert "waste-t1" in at(PLOT, f"{OPEN}\n{pile_texts(11, 'TC')}\nwaste: {card}").legal


@pytest.mark.parametrize("phase", [BASE_FIVE, OPEN], ids=["restricted", "open"])
@pytest.mark.parametrize("source", ["t2", "reserve"])
@pytest.mark.parametrize("card", ["5D", "9D"])
def test_spaces_are_never_filled_from_piles_or_reserve(phase: str, source: str, card: str) -> None:
    assert reason(at(PLOT, f"{phase}\nstock: ??\n{source}: TC {card}"), f"{source}-t1") == "target_locked"


def test_a_stock_card_reaches_a_space_by_way_of_the_waste() -> None:
    play = at(PLOT, f"{BASE_FIVE}\nstock: ??", "5D")
    assert reason(play, "stock-t1") == "face_down"
    play.push("draw")
    assert "waste-t1" in play.legal


def test_spaces_may_stay_empty() -> None:
    play = at(PLOT, f"{BASE_FIVE}\nstock: ?? ??\nwaste: 5D\nt1: 6S", "9C TC")
    play.push("t1-f1")
    play.push("draw")
    play.push("draw")
    assert piles(play, "t1 t2") == ["", ""]


# What follows by itself.


def test_the_next_reserve_card_is_turned_up_when_the_top_leaves() -> None:
    play = at(PLOT, f"{BASE_FIVE}\nreserve: ?? ?? 6H", "9C TC")
    play.push("reserve-f1")
    assert pile(play, "reserve") == "?? TC"
    assert (play.moves, play.seq) == (1, 1)
    play.pop()
    assert pile(play, "reserve") == "?? ?? 6H"


def test_the_last_reserve_card_leaves_nothing_to_turn_up() -> None:
    play = at(PLOT, f"{BASE_FIVE}\nstock: ??\nreserve: 6H")
    play.push("reserve-f1")
    assert pile(play, "reserve") == ""


# Goal, score, loss.


def test_it_is_won_with_104_cards_on_the_foundations() -> None:
    home = "\n".join(f"f{i}: {ROUND}" for i in range(2, 8))
    play = at(PLOT, f"{OPEN}\n{home}\nf8: {ROUND[:-3]}\nt7: 4H")
    assert (play.status, play.score) == ("playing", 103)
    play.push("t7-f8")
    assert (play.status, play.score, play.legal, play.phase) == ("won", 104, [], "open")


def test_it_is_lost_when_no_move_is_legal() -> None:
    assert at(PLOT, f"{BASE_FIVE}\nreserve: 9C\nt1: 8C\nwaste: 2C").status == "lost"


def test_the_score_is_the_cards_on_the_foundations() -> None:
    play = at(PLOT, f"{OPEN}\nt1: 5D\nt2: 6D")
    play.push("t1-f4")
    play.push("t2-f4")
    assert play.score == 15


# Reasons.

TABLE = """
base = 4
stock: ?? ??
waste: 9H
reserve: ?? 3S
f1: 5C 6C
t1: 9C
t2: 5D
t3: JD TC
"""


@refusals(
    """
        malformed: redeal t1-t2:2 t1x t1+t2 base=4 phase=1 Waste-t1
        no_such_pile: t13-t1 t0-t1 waste-f9 reserve1-f1
        not_in_this_phase: t2-f2 t1-f8 reserve-f3 waste-f2 t4-f2
        empty_source: t4-f1 t4-t1 f2-t1 t4-reserve
        face_down: stock-waste stock-f1 stock-f2
        source_locked: f1-t1 f1-f2 f1-waste
        target_locked: reserve-t1 t3-t4 t1-t1 waste-stock t1-waste t1-reserve reserve-reserve
        wrong_card: t3-f1 waste-t4 waste-t1 t1-t2 t2-t1 reserve-f1
    """
)
def test_a_refused_move_has_the_first_reason_that_holds(move: str, expected: Reason) -> None:
    assert reason(at(PLOT, TABLE), move) == expected


@refusals(
    """
        empty_source: draw stock-t1
        target_full: t1-f1 waste-f1
        wrong_card: t1-f3
        target_locked: reserve-t5
    """
)
def test_a_move_refused_when_open_has_the_first_reason_that_holds(move: str, expected: Reason) -> None:
    assert reason(at(PLOT, f"{OPEN}\nwaste: 9H\nreserve: 3S\nt1: 9C"), move) == expected
