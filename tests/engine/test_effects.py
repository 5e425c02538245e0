"""The three effects and their inverses."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.cards import parse_card
from engine.effects import Effect, Flip, Record, Set, Shift
from engine.layout import Layout, Pile, row
from engine.table import Backs, Table

LAYOUT = Layout(
    Pile("stock", "stock", 0, 0), Pile("waste", "waste", 1, 0), row("t", 2, "tableau", 0, 1, label="column")
)
STOCK, WASTE, T1, T2 = range(4)


def laid(text: str, hidden: str = "") -> tuple[Table, Backs]:
    """Return a position with its face-down cards, named pile by pile from the bottom."""
    table, backs = Table.parse(LAYOUT, text), Backs(LAYOUT.off + 1)
    names = iter(hidden.split())
    for pile, down in enumerate(table.down):
        backs.lay(pile, [parse_card(next(names)) for _ in range(down)])
    return table, backs


def cards(names: str) -> list[int]:
    return [parse_card(name) for name in names.split()]


def test_a_shift_moves_a_packet_as_it_lies() -> None:
    table, backs = laid("t1: ?? KS QH JC\nt2: KD", "2C")
    effect = Shift(T1, T2, 2)
    record = effect.apply(table, backs)
    assert table.text() == "stock:\nwaste:\nt1: ?? KS\nt2: KD QH JC\noff:\n"
    assert (record.effect, record.at, list(record.cards)) == (effect, 1, cards("QH JC"))


def test_a_shift_of_face_down_cards_tells_numbers_and_no_names() -> None:
    table, backs = laid("stock: ?? ?? ??\nt1: ??", "2C 3C 4C 5C")
    record = Shift(STOCK, T1, 2).apply(table, backs)
    assert table.down == [1, 0, 3, 0, 0]
    assert backs.take(T1, 3) == cards("5C 3C 4C")
    assert record == Record(Shift(STOCK, T1, 2), 1, 3, ())


def test_a_flip_turns_a_packet_up_and_over() -> None:
    table, backs = laid("stock: ?? ?? ??\nwaste: KS", "2C 3C 4C")
    record = Flip(STOCK, WASTE, 2).apply(table, backs)
    assert table.text() == "stock: ??\nwaste: KS 4C 3C\nt1:\nt2:\noff:\n"
    assert (record.at, record.down, list(record.cards)) == (-1, 1, cards("4C 3C"))


def test_a_flip_turns_a_packet_down_and_over_and_tells_no_names() -> None:
    table, backs = laid("waste: KS 4C 3C")
    record = Flip(WASTE, STOCK, 2).apply(table, backs)
    assert table.text() == "stock: ?? ??\nwaste: KS\nt1:\nt2:\noff:\n"
    assert backs.take(STOCK, 2) == cards("3C 4C")
    assert record == Record(Flip(WASTE, STOCK, 2), 1, 2, ())


def test_a_flip_in_place_turns_the_top_card_up() -> None:
    table, backs = laid("t1: ?? ??", "2C 3C")
    Flip(T1, T1, 1).apply(table, backs)
    assert table.up[T1] == cards("3C")
    assert table.down[T1] == 1


def test_a_set_changes_a_variable_from_what_it_was() -> None:
    table, backs = laid("pass = 2")
    effect = Set.of(table, "pass", 3)
    assert effect == Set("pass", 2, 3)
    effect.apply(table, backs)
    assert table.vars == {"pass": 3}
    effect.inverse().apply(table, backs)
    assert table.vars == {"pass": 2}


def test_a_set_of_a_variable_that_the_game_does_not_have_is_an_error() -> None:
    with pytest.raises(KeyError):
        Set.of(Table(LAYOUT), "pass", 3)


def possible(table: Table) -> list[Effect]:
    """Return the effects that can be carried out: none lays a face-down card on a face-up one."""
    found: list[Effect] = [Set.of(table, "pass", table.vars["pass"] + 1), Set.of(table, "phase", 1)]
    for src, dst in product(range(LAYOUT.off + 1), repeat=2):
        up, down, clear = len(table.up[src]), table.down[src], not table.up[dst]
        for n in range(1, (up or down) + 1):
            if src != dst and (up or clear):
                found.append(Shift(src, dst, n))
            if not up or (n == up if src == dst else clear):
                found.append(Flip(src, dst, n))
    return found


def dealt(data: st.DataObject) -> tuple[Table, Backs]:
    """Return a table after some effects on a small deck that lies off the table."""
    table, backs = Table(LAYOUT, {"phase": 0, "pass": 1}), Backs(LAYOUT.off + 1)
    deck = data.draw(st.permutations(range(20)))
    table.down[LAYOUT.off] = len(deck)
    backs.lay(LAYOUT.off, deck)
    for _ in range(data.draw(st.integers(0, 8))):
        data.draw(st.sampled_from(possible(table))).apply(table, backs)
    return table, backs


def everything(table: Table, backs: Backs) -> tuple[str, list[list[int]]]:
    """Return all there is, the names under the backs too."""
    names = [backs.take(pile, down) for pile, down in enumerate(table.down)]
    for pile, packet in enumerate(names):
        backs.lay(pile, packet)
    return table.text(), names


@given(data=st.data())
def test_inverses_in_reverse_order_restore_everything(data: st.DataObject) -> None:
    table, backs = dealt(data)
    before, done = list[object](), list[Effect]()
    for _ in range(data.draw(st.integers(1, 12))):
        effect = data.draw(st.sampled_from(possible(table)))
        before.append(everything(table, backs))
        effect.apply(table, backs)
        done.append(effect)
    for effect in reversed(done):
        effect.inverse().apply(table, backs)
        assert everything(table, backs) == before.pop()


@given(data=st.data())
def test_an_inverse_of_an_inverse_is_the_effect(data: st.DataObject) -> None:
    table, _ = dealt(data)
    for effect in possible(table):
        assert effect.inverse().inverse() == effect


@given(data=st.data())
def test_a_record_names_the_cards_that_lie_face_up_afterwards_and_no_others(data: st.DataObject) -> None:
    table, backs = dealt(data)
    effect = data.draw(st.sampled_from(possible(table)))
    record = effect.apply(table, backs)
    if isinstance(effect, Set):
        assert list(record.cards) == []
    elif record.cards:
        assert table.up[effect.dst][-effect.n :] == list(record.cards)
    else:
        assert table.up[effect.dst] == []
        assert record.down == table.down[effect.dst]
