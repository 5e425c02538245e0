"""What the notes would show if something were not as it was seen; otherwise no drill would show anything."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from clients.python import Answer, Client
from tests.clients.notes import Doings, Notes, Truth
from tests.durability.crowd import Violation
from tests.peer import Peer

Harm = Callable[[Notes, Doings], object]


def skip_event(notes: Notes, _doings: Doings) -> None:
    del notes.events[1]


def double_event(notes: Notes, _doings: Doings) -> None:
    notes.events.insert(1, notes.events[1])


def change_event(notes: Notes, _doings: Doings) -> None:
    notes.events[1] = replace(notes.events[1], move="redeal")


def change_view(notes: Notes, _doings: Doings) -> None:
    notes.views[1] = notes.views[1] | {"score": 99}


def move_view(notes: Notes, _doings: Doings) -> None:
    notes.views[1] = notes.views[2] | {"seq": notes.views[1]["seq"]}


def invent_view(notes: Notes, _doings: Doings) -> None:
    notes.views[1] = notes.views[1] | {"seq": 4}


def answer_twice(_notes: Notes, doings: Doings) -> None:
    doings.answers.append(doings.answers[1])


def answer_otherwise(_notes: Notes, doings: Doings) -> None:
    kind, move, answer = doings.answers[1]
    doings.answers[1] = kind, move, replace(answer, check="00000000")


def answer_in_vain(_notes: Notes, doings: Doings) -> None:
    doings.answers.append(("move", "draw", replace(doings.answers[1][2], seq=4)))


def ask_for_nothing(_notes: Notes, doings: Doings) -> None:
    del doings.answers[1]


HARMS: tuple[Harm, ...] = (
    skip_event,
    double_event,
    change_event,
    change_view,
    move_view,
    invent_view,
    answer_twice,
    answer_otherwise,
    answer_in_vain,
    ask_for_nothing,
)


async def played(client: Client, arena: str) -> tuple[Notes, Doings, Truth]:
    """Make three changes, and give what was seen and done and what the server has of it."""
    session = await client.create("klondike", public=True)
    notes, doings = Notes(session), Doings()
    for move in ("draw", "draw", None):
        answer: Answer = await (session.undo() if move is None else session.move(move))
        doings.answers.append(("undo" if move is None else "move", move, answer))
    await client.info()
    async with Peer(arena) as peer:
        return notes, doings, await Truth.read(peer, session.id)


async def test_what_was_so_holds(client: Client, arena: str) -> None:
    notes, doings, truth = await played(client, arena)
    assert len(notes.events) == 3
    await truth.hold_notes(notes)
    truth.hold_doings(doings)
    doings.doubts.append(doings.answers.pop()[:2])
    doings.doubts.append(("resign", None))
    truth.hold_doings(doings)


@pytest.mark.parametrize("harm", HARMS)
async def test_what_was_not_so_does_not(client: Client, arena: str, harm: Harm) -> None:
    notes, doings, truth = await played(client, arena)
    harm(notes, doings)

    async def look() -> None:
        await truth.hold_notes(notes)
        truth.hold_doings(doings)

    with pytest.raises(Violation):
        await look()
