"""Piles in layout order."""

import pytest

from engine.layout import Layout, Pile, row

LAYOUT = Layout(
    Pile("stock", "stock", 0, 0, label="stock"),
    row("t", 11, "tableau", 0, 1.3, fan="down", label="column", hint="K"),
    [Pile("waste", "waste", 1.2, 0, "right")],
    row("t", 2, "tableau", 0, 3, label="column", first=12),
)


def test_piles_and_rows_of_piles_are_in_order_as_they_come() -> None:
    assert LAYOUT.names == ("stock", *(f"t{i}" for i in range(1, 12)), "waste", "t12", "t13")
    assert [LAYOUT.by_name[name] for name in LAYOUT.names] == list(range(15))
    assert [pile.name for pile in LAYOUT.piles] == list(LAYOUT.names)


def test_the_place_off_the_table_comes_after_all_piles() -> None:
    assert LAYOUT.off == len(LAYOUT.piles)
    assert "off" not in LAYOUT.by_name


def test_paths_point_into_a_view() -> None:
    assert LAYOUT.up_paths[:2] == ("/piles/stock/up", "/piles/t1/up")
    assert LAYOUT.down_paths[-1] == "/piles/t13/down"


def test_a_row_goes_to_the_right_and_is_numbered() -> None:
    first, second, third = row("f", 3, "foundation", 2, 0.5, dx=1.1, label="foundation", hint="A", first=5)
    assert (first.name, second.name, third.name) == ("f5", "f6", "f7")
    assert [(pile.x, pile.y) for pile in (first, second, third)] == [(2, 0.5), (3.1, 0.5), (4.2, 0.5)]
    assert (first.label, first.hint, first.fan, first.kind) == ("foundation 5", "A", "none", "foundation")


@pytest.mark.parametrize(("name", "stem"), [("t12", "t"), ("stock", "stock"), ("a1", "a"), ("f8", "f")])
def test_the_stem_is_the_name_without_its_number(name: str, stem: str) -> None:
    assert Pile(name, "tableau", 0, 0).stem == stem


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        ("stock", [0]),
        ("t1", [1]),
        ("waste stock", [0, 12]),
        ("t", [*range(1, 12), 13, 14]),
        ("t2 waste t", [*range(1, 15)]),
        ("t13 t12", [13, 14]),
        ("", []),
    ],
)
def test_names_and_stems_choose_piles_in_layout_order(names: str, chosen: list[int]) -> None:
    assert list(LAYOUT.select(names)) == chosen


@pytest.mark.parametrize("names", ["f", "t99", "stock f", "T", "off"])
def test_a_word_that_is_neither_pile_nor_stem_is_refused(names: str) -> None:
    with pytest.raises(ValueError, match="no such pile"):
        LAYOUT.select(names)


def test_a_layout_is_not_changed_by_name() -> None:
    with pytest.raises(TypeError):
        LAYOUT.by_name["t1"] = 3  # pyright: ignore[reportIndexIssue]  # It is the refusal that is tried.
