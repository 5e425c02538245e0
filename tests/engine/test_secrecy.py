"""Whatever is sent depends on what has been seen, and on nothing that lies face down."""

import copy
import json
import pickle
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.cards import NAMES
from engine.games import make_game
from engine.patch import patch
from engine.play import Play
from engine.refusal import refusal
from engine.table import Backs, Table
from engine.view import head, view
from tests.engine import inside
from tests.engine.playouts import Event, Playout, Playouts, every_game, examples
from tests.engine.test_refusal import attempts
from tests.engine.witness import Witness


def told(play: Play) -> bytes:
    """Return all that can be asked about a position, refusals of any text among it, as it is sent."""
    game, table = play.game, play.table
    reasons = [refusal(game, table, text) for text in attempts(game)[::7]]
    return msgspec.json.encode([view(play), head(play), reasons, play.phase, play.state])


def transcript(play: Play, events: list[Event]) -> list[bytes]:
    """Carry events out and return all that is sent of them."""
    out = [msgspec.json.encode(view(play))]
    for event in events:
        before = head(play)
        records = play.push(event.move) if event.kind == "move" else play.pop()[1]
        after = head(play)
        out.append(msgspec.json.encode([patch(play.game.layout, records, before, after), after]))
    out.append(told(play))
    return out


def played(playout: Playout) -> tuple[Play, Witness, list[Event]]:
    """Play to the end with a witness at the table."""
    play = playout.deal()
    witness, events = Witness(play), list[Event]()
    for event in playout.follow(play):
        witness.watch(event.records)
        events.append(event)
    return play, witness, events


@every_game
@examples(10)
@given(data=st.data(), random=st.randoms(use_true_random=True))
def test_permuting_the_names_under_the_backs_changes_nothing_that_is_told(
    playouts: Playouts, data: st.DataObject, random: Random
) -> None:
    play, _, _ = played(data.draw(playouts))
    before = told(play)
    backs = inside.backs(play)
    backs.permute(random.sample(range(len(backs)), len(backs)))
    assert told(play) == before


@every_game
@examples(12)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_deals_that_differ_in_unseen_cards_alone_are_told_byte_for_byte_alike(
    playouts: Playouts, data: st.DataObject, seed: int
) -> None:
    """The other deal is made backwards: unseen cards change places at the end, then all is undone."""
    playout = data.draw(playouts)
    play, witness, events = played(playout)
    assume(play.status != "won")
    inside.backs(play).permute(witness.shuffled(Random(seed)))
    while play.done:
        play.pop()
    dealt = Table.parse(playout.game.layout, play.table.text())
    other = Play.at(playout.game, dealt, inside.hidden(play))
    assert transcript(other, events) == transcript(playout.deal(), events)


def test_what_is_turned_up_later_does_depend_on_the_permutation() -> None:
    """Otherwise the properties above would show nothing."""
    game = make_game("klondike")
    one, other = (Play(game, list(range(52))) for _ in range(2))
    backs = inside.backs(other)
    backs.permute(list(reversed(range(len(backs)))))
    assert view(one) == view(other)
    one.push("draw")
    other.push("draw")
    assert view(one) != view(other)


def test_a_card_that_an_undo_turns_down_again_is_in_no_message() -> None:
    game = make_game("klondike")
    play = Play(game, list(range(52)))
    before = head(play)
    play.push("draw")
    drawn = NAMES[play.table.up[game.waste][0]]
    between = head(play)
    _, records = play.pop()
    sent = msgspec.json.encode([patch(game.layout, records, between, head(play)), view(play)])
    assert drawn.encode() not in sent
    assert before["check"] == play.check()


@pytest.fixture
def backs() -> Backs:
    backs = Backs(3)
    backs.lay(1, range(20))
    return backs


def test_the_text_of_backs_says_how_many_there_are_and_no_more(backs: Backs) -> None:
    assert repr(backs) == str(backs) == f"{backs}" == "<Backs of 20 cards>"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_backs_refuse_to_be_pickled(backs: Backs, protocol: int) -> None:
    with pytest.raises(TypeError):
        pickle.dumps(backs, protocol)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_backs_refuse_to_be_copied(backs: Backs, duplicate: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        duplicate(backs)


def test_nothing_encodes_backs(backs: Backs) -> None:
    for encode in (json.dumps, msgspec.json.encode, msgspec.msgpack.encode):
        with pytest.raises(TypeError):
            encode(backs)


def test_a_play_is_neither_pickled_nor_copied_with_its_backs() -> None:
    play = Play(make_game("klondike"), list(range(52)))
    for duplicate in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError):
            duplicate(play)


def test_the_text_of_a_play_names_no_card() -> None:
    play = Play(make_game("casket"), list(range(52)) * 2)
    assert not [name for name in NAMES if name in repr(play)]
