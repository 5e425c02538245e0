"""The events of an attempt, applied one after another."""

from typing import Literal

import pytest

from engine.deal import shuffle
from engine.errors import IllegalMove, NothingToUndo, PlayOver
from engine.events import WrongReveal, WrongUndo, apply
from engine.games import make_game
from engine.play import Play
from engine.view import view


@pytest.fixture
def play() -> Play:
    return Play(make_game("klondike"), shuffle("1", 1))


def test_a_move_is_pushed_and_an_undo_pops_it(play: Play) -> None:
    before = view(play)["piles"]
    records = apply(play, "move", "draw")
    assert [len(record.cards) for record in records] == [1]
    assert play.moves == 1
    apply(play, "undo", "draw")
    assert view(play)["piles"] == before
    assert play.seq == 2


@pytest.mark.parametrize(("kind", "status"), [("resign", "resigned"), ("expire", "expired")])
def test_an_end_from_outside_has_its_status_and_shows_no_card(
    play: Play, kind: Literal["resign", "expire"], status: str
) -> None:
    assert apply(play, kind, None) == []
    assert (play.status, play.seq) == (status, 1)


def test_a_reveal_follows_an_end(play: Play) -> None:
    apply(play, "resign", None)
    assert apply(play, "reveal", None) == []
    assert (play.status, play.seq) == ("resigned", 2)


def test_a_reveal_before_the_end_is_refused(play: Play) -> None:
    with pytest.raises(WrongReveal):
        apply(play, "reveal", None)
    assert play.seq == 0


def test_what_the_play_refuses_is_refused(play: Play) -> None:
    with pytest.raises(IllegalMove):
        apply(play, "move", "redeal")
    with pytest.raises(IllegalMove):
        apply(play, "move", None)
    with pytest.raises(NothingToUndo):
        apply(play, "undo", "draw")
    assert play.seq == 0
    apply(play, "resign", None)
    with pytest.raises(PlayOver):
        apply(play, "expire", None)


def test_an_undo_that_names_another_move_is_refused(play: Play) -> None:
    apply(play, "move", "draw")
    with pytest.raises(WrongUndo, match="draw"):
        apply(play, "undo", "t1-t2")
