"""The rules page of Stalactites, line by line."""

import pytest

from engine.cards import NAMES, RANKS
from engine.errors import Reason
from engine.games import make_game
from engine.play import Play
from tests.engine.positions import at, offers, part, pile, piles, reason, refusals

STALACTITES = make_game("stalactites")
ONES = "phase = 1\nstep = 1"
TWOS = "phase = 1\nstep = 2"
BY_ONE = "A23456789TJQK"
BY_TWO = "A3579JK2468TQ"
FULL = "9C TC JC QC KC AC 2C 3C 4C 5C 6C 7C 8C"


# The deal and the choice.


def test_the_deal_fills_foundations_then_columns_row_by_row_all_face_up() -> None:
    play = Play(STALACTITES, range(52))
    assert piles(play, "f1 f2 f3 f4") == ["AC", "2C", "3C", "4C"]
    assert pile(play, "t1") == " ".join(NAMES[card] for card in range(4, 52, 8))
    assert pile(play, "t8") == " ".join(NAMES[card] for card in range(11, 52, 8))
    assert piles(play, "c1 c2") == ["", ""]
    assert sum(play.table.down) == 0


def test_after_the_deal_the_step_is_chosen_and_nothing_else_is_legal() -> None:
    play = Play(STALACTITES, range(52))
    assert (play.phase, play.score, play.legal) == ("choose", 4, ["step=1", "step=2"])
    assert play.state == {"step": None, "next": dict.fromkeys(("f1", "f2", "f3", "f4"))}


@pytest.mark.parametrize(("choice", "step", "following"), [("step=1", 1, "2345"), ("step=2", 2, "3456")])
def test_the_choice_begins_the_play_and_tells_what_foundations_take(
    choice: str, step: int, following: str
) -> None:
    play = Play(STALACTITES, range(52))
    play.push(choice)
    assert (play.phase, play.moves) == ("play", 1)
    assert part(play, "step") == step
    assert part(play, "next") == dict(zip(("f1", "f2", "f3", "f4"), following, strict=True))


def test_the_choice_holds_for_the_whole_game() -> None:
    play = Play(STALACTITES, range(52))
    play.push("step=2")
    assert reason(play, "step=1") == "not_in_this_phase"
    assert reason(play, "step=2") == "not_in_this_phase"


def test_undo_takes_the_choice_back_as_any_move() -> None:
    play = Play(STALACTITES, range(52))
    play.push("step=2")
    assert play.pop()[0] == "step=2"
    assert (play.phase, play.legal, part(play, "step")) == ("choose", ["step=1", "step=2"], None)
    play.push("step=1")
    assert part(play, "step") == 1


def test_it_has_one_variant_without_options() -> None:
    assert (STALACTITES.variant, STALACTITES.options) == ("default", {})


# Onto the foundations.


@pytest.mark.parametrize(("text", "ranks"), [(ONES, BY_ONE), (TWOS, BY_TWO)], ids=["step-1", "step-2"])
@pytest.mark.parametrize("source", ["t1", "c1"])
def test_foundations_are_built_by_the_step_regardless_of_suit_and_round_the_corner(
    text: str, ranks: str, source: str
) -> None:
    for top, following in zip(ranks, ranks[1:] + ranks[:1], strict=True):
        for rank in RANKS:
            play = at(STALACTITES, f"{text}\nf1: {top}C\n{source}: {rank}H")
            assert (f"{source}-f1" in play.legal) == (rank == following)
            assert part(play, "next") == {"f1": following, "f2": None, "f3": None, "f4": None}


def test_a_foundation_goes_all_the_way_round_from_where_it_began() -> None:
    cards = [f"{rank}H" for rank in BY_TWO[5:] + BY_TWO[:5]]
    play = at(STALACTITES, f"{TWOS}\nf1: {cards[0]}\nt1: {' '.join(reversed(cards[1:]))}\nt2: 9S")
    for _ in cards[1:]:
        play.push("t1-f1")
    assert pile(play, "f1").split() == cards
    assert play.score == 13


def test_a_full_foundation_takes_nothing_more_and_has_no_next() -> None:
    play = at(STALACTITES, f"{ONES}\nf1: {FULL}\nt1: 9D\nt2: 2D")
    assert reason(play, "t1-f1") == "target_full"
    assert reason(play, "t2-f1") == "target_full"
    assert part(play, "next") == {"f1": None, "f2": None, "f3": None, "f4": None}


def test_where_two_foundations_take_a_card_both_are_open() -> None:
    play = at(STALACTITES, f"{ONES}\nf1: 5C\nf3: 5D\nt1: 6S")
    assert offers(play, "t1-f1", "t1-f2", "t1-f3") == {"t1-f1", "t1-f3"}


def test_foundations_give_nothing_back() -> None:
    assert reason(at(STALACTITES, f"{ONES}\nf1: 5C\nt1: 6S"), "f1-c1") == "source_locked"


# Cells and columns.


def test_any_top_card_goes_to_any_empty_cell() -> None:
    play = at(STALACTITES, f"{ONES}\nt1: 2C 9C\nt2: KD")
    assert play.legal == ["t1-c1", "t1-c2", "t2-c1", "t2-c2"]
    play.push("t1-c2")
    assert piles(play, "t1 c1 c2") == ["2C", "", "9C"]


def test_a_cell_holds_one_card() -> None:
    play = at(STALACTITES, f"{ONES}\nt1: 2C 9C\nc1: 5D")
    assert play.legal == ["t1-c2"]
    assert reason(play, "t1-c1") == "target_full"


def test_a_card_in_a_cell_goes_only_to_a_foundation() -> None:
    play = at(STALACTITES, f"{ONES}\nf1: 4S\nt1: 6D\nc1: 5D")
    assert offers(play, "c1-f1", "c1-c2", "c1-t1", "c1-t2") == {"c1-f1"}
    assert reason(play, "c1-c2") == "target_locked"
    assert reason(play, "c1-t2") == "target_locked"


def test_nothing_is_built_on_columns_and_empty_ones_stay_empty() -> None:
    play = at(STALACTITES, f"{ONES}\nf1: 4S\nt1: 5S\nt2: 6D\nt3: 7D")
    play.push("t1-f1")
    assert reason(play, "t2-t1") == "target_locked"
    assert reason(play, "t2-t3") == "target_locked"


def test_cards_move_one_at_a_time() -> None:
    assert reason(at(STALACTITES, f"{ONES}\nt1: 5S 4S"), "t1-c1:2") == "malformed"


# Goal, score, loss.


def test_it_is_won_with_52_cards_on_the_foundations() -> None:
    full = "\n".join(f"f{i}: {FULL}" for i in (1, 2, 3))
    play = at(STALACTITES, f"{ONES}\n{full}\nf4: {FULL[:-3]}\nc2: 8H")
    assert (play.status, play.score) == ("playing", 51)
    play.push("c2-f4")
    assert (play.status, play.score, play.phase, play.legal) == ("won", 52, "play", [])


def test_it_is_lost_with_both_cells_taken_and_nothing_for_the_foundations() -> None:
    play = at(STALACTITES, f"{ONES}\nf1: 4S\nc1: 9C\nt1: 5D 9D 9H")
    play.push("t1-c2")
    assert (play.status, play.legal) == ("lost", [])
    play.pop()
    assert play.status == "playing"


def test_the_score_is_the_cards_on_the_foundations() -> None:
    play = at(STALACTITES, f"{ONES}\nf1: 4S\nf2: 4C\nt1: 5D\nc1: 9C")
    assert play.score == 2
    play.push("t1-f2")
    assert play.score == 3


# Reasons.


@refusals(
    """
        malformed: draw redeal step=3 step=01 step= Step=1 next=1 t1-f1:2
        no_such_pile: t9-f1 t1-c3 stock-t1
        not_in_this_phase: t1-f1 t1-c1 c1-f1 t8-c1
        empty_source: c1-c2 t8-t1
        source_locked: f1-t1 f1-c1 f1-f2
        target_locked: t1-t2 t1-t1 t1-t8
    """
)
def test_a_move_refused_before_the_choice_has_the_first_reason_that_holds(
    move: str, expected: Reason
) -> None:
    assert reason(at(STALACTITES, "f1: 4S\nt1: 5D\nt2: 6D"), move) == expected


@refusals(
    """
        malformed: draw step=3 c1x t1+t2
        no_such_pile: c3-f1 t0-f1
        not_in_this_phase: step=1 step=2
        empty_source: t8-f1 c2-f1 t8-t1 c2-c2
        source_locked: f1-t1 f1-f2 f1-f1
        target_locked: t1-t2 t1-t8 c1-c2 c1-t1 c1-c1 t2-t2
        target_full: t1-c1 t1-f2 c1-f2
        wrong_card: t2-f1 c1-f1
    """
)
def test_a_move_refused_after_the_choice_has_the_first_reason_that_holds(move: str, expected: Reason) -> None:
    assert reason(at(STALACTITES, f"{ONES}\nf1: 4S\nf2: {FULL}\nt1: 5D\nt2: 6D\nc1: 9C"), move) == expected
