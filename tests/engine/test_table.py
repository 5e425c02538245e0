"""Positions as text, and the names under the backs."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.layout import Layout, Pile, row
from engine.table import Backs, Table

LAYOUT = Layout(Pile("stock", "stock", 0, 0), row("t", 3, "tableau", 0, 1, label="column"))

TEXT = """\
phase = 0
pass = 2
stock: ?? ??
t1:
t2: ?? QS JH
t3: AC
off: TD TD
"""


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Any table that can be written down."""
    names = st.from_regex(r"[a-z]{1,8}", fullmatch=True)
    table = Table(LAYOUT, draw(st.dictionaries(names, st.integers(-99, 99), max_size=4)))
    for pile in range(LAYOUT.off + 1):
        table.down[pile] = draw(st.integers(0, 9))
        table.up[pile] = draw(st.lists(st.integers(0, 51), max_size=13))
    return table


def test_a_position_is_written_a_line_a_variable_and_a_line_a_pile() -> None:
    table = Table(LAYOUT, {"phase": 0, "pass": 2})
    table.down[0], table.down[2] = 2, 1
    table.up[2], table.up[3], table.up[4] = [50, 36], [0], [22, 22]
    assert table.text() == TEXT


def test_a_position_is_read_from_its_text() -> None:
    table = Table.parse(LAYOUT, TEXT)
    assert table.vars == {"phase": 0, "pass": 2}
    assert table.down == [2, 0, 1, 0, 0]
    assert table.up == [[], [], [50, 36], [0], [22, 22]]


@given(table=tables())
def test_text_and_position_go_round(table: Table) -> None:
    again = Table.parse(LAYOUT, table.text())
    assert (again.down, again.up, again.vars) == (table.down, table.up, table.vars)
    assert again.text() == table.text()


def test_piles_left_out_are_empty_and_blank_space_does_not_matter() -> None:
    table = Table.parse(LAYOUT, "\n   t2:   QS   JH  \n\n  pass=3\n")
    assert table.up == [[], [], [50, 36], [], []]
    assert table.vars == {"pass": 3}


def test_a_table_begins_empty_and_keeps_no_hold_of_the_variables_it_was_given() -> None:
    variables = {"phase": 0}
    table = Table(LAYOUT, variables)
    table.vars["phase"] = 1
    assert variables == {"phase": 0}
    assert (table.down, table.up) == ([0] * 5, [[], [], [], [], []])


def test_the_count_of_a_pile_takes_both_sides() -> None:
    table = Table.parse(LAYOUT, TEXT)
    assert [table.count(pile) for pile in range(5)] == [2, 0, 3, 1, 2]


@pytest.mark.parametrize(
    "line",
    [
        "t4: QS",
        "QS",
        "t1 QS",
        "t1: QX",
        "t1: QS ??",
        "t1: ?? QS ??",
        "t1: ? QS",
        "phase = x",
        "t: QS",
        "T1: QS",
    ],
)
def test_a_line_that_is_not_of_the_form_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Table.parse(LAYOUT, line)


def test_backs_are_taken_from_the_top_in_order() -> None:
    backs = Backs(2)
    backs.lay(0, [1, 2, 3, 4])
    assert backs.take(0, 3) == [2, 3, 4]
    backs.lay(1, [7])
    assert (backs.take(0, 1), backs.take(1, 1), len(backs)) == ([1], [7], 0)


def test_taking_none_of_the_backs_takes_none() -> None:
    backs = Backs(1)
    backs.lay(0, [1, 2])
    assert backs.take(0, 0) == []
    assert len(backs) == 2


@given(seed=st.integers(0, 2**32), counts=st.lists(st.integers(0, 6), min_size=1, max_size=6))
def test_a_permutation_gives_each_back_the_name_of_another(seed: int, counts: list[int]) -> None:
    backs, total = Backs(len(counts)), sum(counts)
    names = iter(range(total))
    for pile, count in enumerate(counts):
        backs.lay(pile, [next(names) for _ in range(count)])
    order = Random(seed).sample(range(total), total)
    backs.permute(order)
    assert [name for pile, count in enumerate(counts) for name in backs.take(pile, count)] == order
