"""All games are played to an end through the SDK, with nothing but what the server says."""

import random

import pytest

from clients.python import Client, Record, Session, check

GAMES = ("klondike", "casket", "plot", "stalactites", "camelot")


@pytest.mark.parametrize("game", GAMES)
async def test_a_game_to_its_end(client: Client, game: str) -> None:
    session = await client.create(game, seed="a-walk")
    watch = session.watch()
    choices = random.Random(7)
    while session.legal and session.seq < 300:
        before = session.view
        move = choices.choice(session.legal)
        answer = await session.move(move)
        assert (answer.seq, answer.status) == (before.seq + 1, session.status)
        assert check(session.data["piles"]) == answer.check == session.view.check
        event = await anext(watch)
        assert (event.seq, event.kind, event.move) == (answer.seq, "move", move)
    if session.status == "playing":
        await session.resign()
    assert session.status in {"won", "lost", "resigned"}
    assert session.view.seed == "a-walk"
    assert (session.gaps, session.repairs) == (0, 0)
    await _is_what_the_server_has(client, session)
    record = await client.record(session.id)
    verdict = await client.verify(record)
    assert (verdict.valid, verdict.score, verdict.status) == (True, session.view.score, session.status)
    assert len(Record.of(record).events) == session.seq


@pytest.mark.parametrize("game", GAMES)
async def test_undo_leads_back_to_the_deal(client: Client, game: str) -> None:
    session = await client.create(game)
    deal = session.view
    choices = random.Random(7)
    moves = 0
    while moves < 20 and session.legal:
        await session.move(choices.choice(session.legal))
        moves += 1
    for left in reversed(range(moves)):
        await session.undo()
        assert session.view.moves == left
    assert (session.view.piles, session.view.legal, session.view.phase) == (
        deal.piles,
        deal.legal,
        deal.phase,
    )
    assert (session.gaps, session.repairs) == (0, 0)
    await _is_what_the_server_has(client, session)


async def test_a_replay_shows_what_was_played(client: Client) -> None:
    session = await client.create("camelot")
    while session.legal:
        await session.move(session.legal[-1])
    replay = await client.replay(await client.record(session.id))
    assert (replay.view.seq, len(replay.events), replay.more) == (0, session.seq, False)
    assert replay.events[-1].check == session.view.check


async def _is_what_the_server_has(client: Client, session: Session) -> None:
    view = session.view
    fresh = await client.view(session.id)
    for field in view.__struct_fields__:
        if field != "elapsed_ms":
            assert getattr(view, field) == getattr(fresh, field), field
    refreshed = await session.refresh()
    assert refreshed is session.view
    if view.status != "playing":
        assert refreshed == fresh
