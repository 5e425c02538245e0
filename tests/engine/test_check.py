"""The checksum of a table."""

from zlib import crc32

from engine.check import Check, check
from engine.layout import Layout, Pile, row
from engine.table import Table

EXAMPLE = Layout(Pile("stock", "stock", 0, 0), Pile("waste", "waste", 1, 0))
LAYOUT = Layout(EXAMPLE.piles, row("t", 2, "tableau", 0, 1, label="column"))


def test_the_protocols_own_example() -> None:
    table = Table.parse(EXAMPLE, f"stock: {' '.join(['??'] * 21)}\nwaste: 5H 7C")
    assert check(table) == "d89ed0ac"


def test_every_pile_counts_the_empty_ones_too_and_what_is_off_the_table_does_not() -> None:
    table = Table.parse(LAYOUT, "t1: ?? QS JH\noff: TD")
    assert check(table) == format(crc32(b"stock:0:;waste:0:;t1:1:QSJH;t2:0:;"), "08x")


def test_it_is_eight_digits_also_with_leading_zeros() -> None:
    small: list[str] = []
    for count in range(3000):
        table = Table(EXAMPLE)
        table.down[0] = count
        small.append(check(table))
    assert {len(value) for value in small} == {8}
    assert any(value.startswith("00") for value in small)
    assert all(value == value.lower() for value in small)


def test_piles_that_changed_are_written_down_again_and_only_those() -> None:
    table = Table.parse(LAYOUT, "t1: QS")
    kept = Check(table)
    before = kept.value()
    table.up[2].append(0)
    assert kept.value() == before
    kept.update([2])
    assert kept.value() == check(table) != before
