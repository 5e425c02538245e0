"""The grammar of moves: each has one spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.moves import Move

NAMES = st.from_regex(r"[a-z]{1,8}[0-9]{0,2}", fullmatch=True)


@st.composite
def moves(draw: st.DrawFn) -> Move:
    """Any move that can be written down."""
    form = draw(st.sampled_from(["draw", "redeal", "put", "run", "leave", "pair", "choose"]))
    a, b = draw(NAMES), draw(NAMES)
    match form:
        case "draw" | "redeal":
            return Move(form)
        case "run":
            return Move("run", a, b, draw(st.integers(2, 104)))
        case "leave":
            return Move("leave", a)
        case "pair":
            return Move("pair", a, b if a != b else f"z{b}")
        case "choose":
            return Move("choose", a, draw(st.from_regex(r"[a-z0-9]{1,5}", fullmatch=True)))
        case _:
            return Move("put", a, b)


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("draw", Move("draw")),
        ("redeal", Move("redeal")),
        ("t3-t5", Move("put", "t3", "t5")),
        ("waste-f1", Move("put", "waste", "f1")),
        ("t3-t5:2", Move("run", "t3", "t5", 2)),
        ("t3-t12:13", Move("run", "t3", "t12", 13)),
        ("t3-t5:104", Move("run", "t3", "t5", 104)),
        ("a1x", Move("leave", "a1")),
        ("wastex", Move("leave", "waste")),
        ("a1+b4", Move("pair", "a1", "b4")),
        ("step=2", Move("choose", "step", "2")),
        ("draw-t1", Move("put", "draw", "t1")),
    ],
)
def test_every_form_is_read_and_written(text: str, move: Move) -> None:
    assert Move.parse(text) == move
    assert move.text == text


@given(move=moves())
def test_what_is_written_is_read_as_the_same_move(move: Move) -> None:
    assert Move.parse(move.text) == move


@given(text=st.text(alphabet="adrwtx019-+:= \n", max_size=12) | st.text(max_size=12))
def test_what_is_read_is_written_as_it_was(text: str) -> None:
    try:
        move = Move.parse(text)
    except ValueError:
        return
    assert move.text == text


REFUSED = [
    "Draw",
    "DRAW",
    "draws3",
    "redeal:2",
    "draw:1",
    "t1",
    "t1-",
    "-t1",
    "t1--t2",
    "t1-t2:",
    "t1-t2:0",
    "t1-t2:1",
    "t1-t2:01",
    "t1-t2:02",
    "t1-t2:002",
    "t1-t2:-2",
    "t1-t2:+2",
    "t1-t2:1000",
    "t1-t2:2x",
    "t1-t2:2:2",
    "t1-t2x",
    "t1-t2+t3",
    "T1-t2",
    "t1-T2",
    "1t-t2",
    "t-1",
    "x",
    "1x",
    "a1X",
    "a1xx1",
    "a1+",
    "+a1",
    "a1+a1",
    "a1++b1",
    "a1+b1+c1",
    "a1+b1x",
    "step=",
    "=2",
    "step==2",
    "step=-1",
    "step=2=3",
    "s_t=1",
    "5H-6S",
    "t1:5H-t2",
    "null",
    "move",
    "t1–t2",
    "t1−t2",
    "t١-t2",
    "t1-t2:٢",
    "ｔ1-t2",
]
SPACED = [
    "",
    " ",
    "draw ",
    " draw",
    "draw\n",
    "t1 -t2",
    "t1- t2",
    "t1-t2:2 ",
    "t1-t2: 2",
    "a1 x",
    "step= 2",
    "t1-t2\x00",
]


@pytest.mark.parametrize("text", REFUSED + SPACED)
def test_anything_else_is_no_move(text: str) -> None:
    with pytest.raises(ValueError, match=r"a move|two piles"):
        Move.parse(text)


def test_a_text_without_end_is_refused_without_being_said_again_in_full() -> None:
    with pytest.raises(ValueError, match="not a move") as refused:
        Move.parse("t" * 10_000 + "-t1")
    assert len(str(refused.value)) < 100
