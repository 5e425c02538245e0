"""What holds at every step of any playout, in every game."""

from collections import Counter
from typing import Any
from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st
from jsonpatch import JsonPatch
from msgspec import json

from engine.check import check
from engine.patch import patch
from engine.play import Play
from engine.sources import Takers
from engine.table import Table
from engine.view import head, view
from tests.engine import inside
from tests.engine.playouts import Playouts, every_game, examples


def sent(play: Play) -> Any:
    """Return the view as a client has it after decoding."""
    return json.decode(json.encode(view(play)))


def lasting(play: Play) -> dict[str, Any]:
    """Return the view without what counts events, which no undo takes back."""
    return {key: value for key, value in view(play).items() if key not in {"seq", "undos"}}


def encoded(play: Play) -> bytes:
    """Return all of the view that an undo restores, as it is sent."""
    return json.encode(lasting(play))


def search(play: Play) -> Takers:
    """Return the search for moves, made afresh."""
    return Takers(play.table, play.game.wants, play.game.sources.targets)


@every_game
@examples(20)
@given(data=st.data())
def test_the_patch_of_an_event_leads_from_one_view_to_the_next(
    playouts: Playouts, data: st.DataObject
) -> None:
    playout = data.draw(playouts)
    play = playout.deal()
    client, before = sent(play), head(play)
    for event in playout.follow(play):
        after = head(play)
        operations = json.decode(patch(playout.game.layout, event.records, before, after))
        client, before = JsonPatch(operations).apply(client), after
        assert client == sent(play)


@every_game
@examples(20)
@given(data=st.data())
def test_a_move_from_pile_to_pile_is_one_move_operation_a_card(
    playouts: Playouts, data: st.DataObject
) -> None:
    playout = data.draw(playouts)
    play = playout.deal()
    before = head(play)
    for event in playout.follow(play):
        after = head(play)
        operations = json.decode(patch(playout.game.layout, event.records, before, after))
        before = after
        if event.kind == "move" and "-" in event.move:
            places, _, count = event.move.partition(":")
            src, _, dst = places.partition("-")
            n = int(count or 1)
            assert [operation["op"] for operation in operations[:n]] == ["move"] * n
            for operation in operations[:n]:
                assert operation["from"].startswith(f"/piles/{src}/up/")
                assert operation["path"] == f"/piles/{dst}/up/-"
            assert not [operation for operation in operations[n:] if operation["op"] == "move"]


@every_game
@examples(20)
@given(data=st.data())
def test_an_undo_restores_all_but_the_counts_of_events(playouts: Playouts, data: st.DataObject) -> None:
    playout = data.draw(playouts)
    play = playout.deal()
    earlier = [encoded(play)]
    undos = 0
    for seq, event in enumerate(playout.follow(play), 1):
        if event.kind == "undo":
            undos += 1
            earlier.pop()
            assert encoded(play) == earlier[-1]
        else:
            earlier.append(encoded(play))
        assert (play.seq, play.undos, play.moves) == (seq, undos, len(earlier) - 1)


@every_game
@examples(10)
@given(data=st.data())
def test_after_an_undo_all_is_as_if_the_move_had_never_been_made(
    playouts: Playouts, data: st.DataObject
) -> None:
    playout = data.draw(playouts)
    play = playout.deal()
    for event in playout.follow(play):
        if event.kind == "undo":
            again = playout.deal()
            for played in play.done:
                again.push(played.move)
            assert encoded(again) == encoded(play)
            assert inside.names(again) == inside.names(play)


@every_game
@examples(10)
@given(data=st.data())
def test_everything_can_be_taken_back_to_the_deal(playouts: Playouts, data: st.DataObject) -> None:
    playout = data.draw(playouts)
    play = playout.deal()
    dealt, names = encoded(play), inside.names(play)
    for _ in playout.follow(play):
        pass
    if play.status != "won":
        while play.done:
            play.pop()
        assert encoded(play) == dealt
        assert inside.names(play) == names


@every_game
@examples(20)
@given(data=st.data())
def test_every_card_is_there_once_for_each_deck(playouts: Playouts, data: st.DataObject) -> None:
    playout = data.draw(playouts)
    play = playout.deal()
    deck = Counter(dict.fromkeys(range(52), playout.game.decks))
    assert inside.cards(play) == deck
    for _ in playout.follow(play):
        assert inside.cards(play) == deck
        assert [len(pile) for pile in inside.names(play)] == play.table.down


@every_game
@examples(20)
@given(data=st.data())
def test_the_check_is_the_crc_of_the_piles_as_sent(playouts: Playouts, data: st.DataObject) -> None:
    playout = data.draw(playouts)
    play = playout.deal()
    for _ in playout.follow(play):
        said = sent(play)
        text = "".join(
            f"{name}:{pile['down']}:{''.join(pile['up'])};" for name, pile in said["piles"].items()
        )
        assert said["check"] == format(crc32(text.encode("ascii")), "08x")
        assert said["check"] == check(play.table)


@every_game
@examples(20)
@given(data=st.data())
def test_the_search_kept_up_to_date_finds_what_a_fresh_one_finds(
    playouts: Playouts, data: st.DataObject
) -> None:
    playout = data.draw(playouts)
    play = playout.deal()
    for _ in playout.follow(play):
        fresh, kept = search(play), inside.takers(play)
        assert (kept.taken, kept.empty) == (fresh.taken, fresh.empty)


@every_game
@examples(10)
@given(data=st.data())
def test_a_position_taken_up_from_its_text_is_the_same_position(
    playouts: Playouts, data: st.DataObject
) -> None:
    playout = data.draw(playouts)
    play = playout.deal()
    for _ in playout.follow(play):
        table = Table.parse(playout.game.layout, play.table.text())
        again = Play.at(playout.game, table, inside.hidden(play))
        known = ("status", "phase", "score", "state", "piles", "check", "legal")
        assert {key: view(again)[key] for key in known} == {key: view(play)[key] for key in known}


@every_game
@examples(20)
@given(data=st.data())
def test_it_is_lost_exactly_where_no_move_is_legal_and_it_is_not_won(
    playouts: Playouts, data: st.DataObject
) -> None:
    playout = data.draw(playouts)
    play = playout.deal()
    for _ in playout.follow(play):
        game, table = playout.game, play.table
        found = game.extra(table) + game.sources.find(table, search(play), game.lift(table))
        expected = "won" if game.won(table, play.score) else "playing" if found else "lost"
        assert play.status == expected
        assert bool(play.legal) == (play.status == "playing")


@every_game
@examples(20)
@given(data=st.data())
def test_the_score_counts_cards_home_or_out_of_play(playouts: Playouts, data: st.DataObject) -> None:
    playout = data.draw(playouts)
    play = playout.deal()
    foundations = [pile.name for pile in playout.game.layout.piles if pile.kind == "foundation"]
    for _ in playout.follow(play):
        now = view(play)["piles"]
        on_table = sum(pile["down"] + len(pile["up"]) for pile in now.values())
        home = sum(len(now[name]["up"]) for name in foundations)
        assert play.score == home + 52 * playout.game.decks - on_table
