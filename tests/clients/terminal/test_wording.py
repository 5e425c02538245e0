"""Plain words for what the server says."""

from typing import Any

import pytest

from clients.python import Player, View
from clients.python.errors import api_error
from clients.terminal.wording import commands, ending, plain, refusal, standing

REASONS = (
    "malformed",
    "no_such_pile",
    "not_in_this_phase",
    "empty_source",
    "face_down",
    "source_locked",
    "not_a_run",
    "target_locked",
    "target_full",
    "wrong_card",
    "no_effect",
)


def view(**changes: Any) -> View:
    parts: dict[str, Any] = {
        "session": "s",
        "game": "g",
        "rules": "g/1",
        "variant": "default",
        "options": {},
        "mode": "casual",
        "public": False,
        "ranked": True,
        "player": Player("p", "Ada", "guest"),
        "commitment": "",
        "seed": None,
        "seq": 0,
        "status": "playing",
        "phase": "play",
        "score": 3,
        "moves": 1,
        "undos": 0,
        "elapsed_ms": 0,
        "state": {},
        "piles": {},
        "check": "",
        "legal": (),
    }
    return View(**{**parts, **changes})


def test_each_reason_has_words_of_its_own() -> None:
    texts = {
        refusal(api_error(1004, "raw", {"kind": "illegal_move", "reason": reason})) for reason in REASONS
    }
    assert len(texts) == len(REASONS)
    assert "raw" not in texts
    assert refusal(api_error(1004, "raw", {"kind": "illegal_move", "reason": "new"})) == "raw"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("stale_seq", "changed meanwhile"),
        ("session_over", "over"),
        ("conflict", "nothing to take back"),
        ("forbidden", "somebody else's"),
        ("not_allowed", "raw"),
    ],
)
def test_other_refusals(kind: str, text: str) -> None:
    assert text in refusal(api_error(1, "raw", {"kind": kind}))


def test_how_it_stands() -> None:
    assert standing("Plot", view(), 61_000) == "Plot | score 3 | 1 move | 1:01"
    state = {"step": None, "next": {"f1": "A", "f2": None}}
    assert standing("S", view(variant="odd", phase="choose", moves=2, state=state), 3_600_000) == (
        "S (odd) | score 3 | 2 moves | 1:00:00 | phase choose | step - | next f1:A f2:-"
    )


def test_how_it_ended() -> None:
    assert ending(view()) is None
    assert ending(view(status="won", seed="x")) == "You have won! Seed: x"
    assert ending(view(status="expired")) == "The game has expired."


def test_refusals_that_depend_on_the_move() -> None:
    def told(reason: str, move: str) -> str:
        return refusal(api_error(1004, "raw", {"kind": "illegal_move", "reason": reason}), move)

    assert "No pass" in told("source_locked", "redeal")
    assert "No pass" not in told("source_locked", "f1-t1")
    assert "No pass" not in told("target_full", "redeal")
    assert "same pile" in told("target_locked", "t3-t3")
    assert "same pile" in told("not_a_run", "t3-t3:2")
    assert "same pile" not in told("target_locked", "t3-t31")
    assert "same pile" not in told("no_such_pile", "t99-t99")


def test_commands_show_only_moves_that_are_legal() -> None:
    assert commands(()).startswith("A move is typed as ? lists it.\n")
    legal = ("draw", "t1-t2", "t1-t3:4", "t2-t3", "t2-t4:2")
    assert commands(legal).startswith(
        "A move is typed as ? lists it: draw, t1-t2, t1-t3:4 for 4 cards together.\n"
    )
    assert commands(("g1+g2",)).startswith("A move is typed as ? lists it: g1+g2.\n")


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("- **Columns** are *built* `down`.", "- Columns are built down."),
        ("an *option over\ntwo lines* ends", "an option over\ntwo lines ends"),
        ("* a list\n* of two", "* a list\n* of two"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("`a*b` and `c*d`", "a*b and c*d"),
    ],
)
def test_markdown_without_signs(markdown: str, text: str) -> None:
    assert plain(markdown) == text
