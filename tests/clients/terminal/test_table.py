"""Tables as text: by example, and whole games' first tables by what must be on them."""

import re
from typing import Any

import pytest

from clients.python import Client, Pile, Place, View
from clients.terminal.table import WIDTH, colored, in_full, table
from tests.clients.playthroughs import playthroughs


def place(pile: str, x: float, y: float, fan: str = "none", hint: str | None = None) -> Place:
    return Place(pile, "tableau", x, y, fan, "", hint)


def test_example() -> None:
    layout = [
        place("stock", 0, 0),
        place("waste", 1.2, 0, "right"),
        place("f1", 3.6, 0, hint="A"),
        place("f2", 4.8, 0, hint="A"),
        place("t1", 0, 1.3, "down", "K"),
        place("t2", 1.2, 1.3, "down", "K"),
        place("t3", 2.4, 1.3, "down", "K"),
        place("cell", 3.6, 1.3),
    ]
    piles = {
        "stock": Pile(21, ()),
        "waste": Pile(0, ("5H", "TC")),
        "f1": Pile(0, ("AH", "2H", "3H")),
        "f2": Pile(0, ()),
        "t1": Pile(0, ()),
        "t2": Pile(1, ("QS", "JH")),
        "t3": Pile(3, ("KD",)),
        "cell": Pile(0, ()),
    }
    assert "\n".join(table(piles, layout)) == (
        "stock  waste          f1     f2\n"
        "##/21  5H TC          3H/3   (A)\n"
        "\n"
        "t1     t2     t3      cell\n"
        "(K)    ##     ##/3    --\n"
        "       QS     KD\n"
        "       JH"
    )


def test_a_long_pile_is_cut_and_told_in_full() -> None:
    layout = [place("waste", 0, 0, "right"), place("f1", 2, 0)]
    cards = ("2C", "3C", "4C", "5C", "6C", "7C")
    assert table({"waste": Pile(2, cards), "f1": Pile(1, ())}, layout) == [
        "waste       f1",
        "…5C 6C 7C   ##",
        "waste: ##/2 2C 3C 4C 5C 6C 7C",
    ]


def test_piles_grow_downwards_without_hiding_others() -> None:
    layout = [place("t1", 0, 0, "down"), place("t2", 0, 1.2), place("t3", 3, 1.2)]
    piles = {"t1": Pile(0, ("2C", "3C", "4C", "5C")), "t2": Pile(0, ("6C",)), "t3": Pile(0, ("7C",))}
    assert table(piles, layout) == [
        "t1",
        "2C",
        "3C",
        "4C",
        "5C",
        "",
        "t2                t3",
        "6C                7C",
    ]


def test_a_pile_in_full() -> None:
    assert in_full(Pile(0, ()), Place("l1", "reserve", 0, 0, "none", "lid 1", None)) == ["l1 (lid 1): --"]
    assert in_full(Pile(1, ("KS",)), Place("waste", "waste", 0, 0, "none", "waste", None)) == ["waste: ## KS"]


def test_only_red_cards_are_red() -> None:
    assert colored("AH 2C t1-t2 TD") == "\033[31mAH\033[0m 2C t1-t2 \033[31mTD\033[0m"


@pytest.mark.parametrize("played", playthroughs("*-win-*"))
async def test_tables_of_all_games(client: Client, played: dict[str, Any]) -> None:
    layout = (await client.describe(played["game"])).layout
    session = await client.create(played["game"], played["options"], seed=played["seed"])
    for step in played["steps"]:
        await (session.move(step["move"]) if step["kind"] == "move" else session.undo())
        _shows_everything(session.view, layout)


def _shows_everything(view: View, layout: tuple[Place, ...]) -> None:
    """Check that each pile is named and each card that can be played is to be seen."""
    lines = table(view.piles, layout)
    assert max(map(len, lines)) <= WIDTH
    words = re.findall(r"[\w#()…-]+", " ".join(lines))
    for place in layout:
        assert place.pile in words
        up = view.piles[place.pile].up
        if up:
            assert up[-1] in words or f"…{up[-1]}" in words
        if place.fan != "none":
            assert set(up) <= set(words)
