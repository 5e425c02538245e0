"""The typed calls."""

import re
from pathlib import Path
from typing import Any

import pytest

import clients.python
from clients.python import (
    ApiError,
    Client,
    Conflict,
    Forbidden,
    IllegalMove,
    InvalidParams,
    MessageTooLong,
    MethodNotFound,
    NotFound,
    SessionOver,
    Unauthenticated,
    connect,
)

README = Path(clients.python.__file__).with_name("README.md")


async def test_what_the_server_has(client: Client) -> None:
    info = await client.info()
    assert info.protocol == 1
    games = await client.games()
    assert {game.game for game in games} == set(info.games)
    for game in games:
        description = await client.describe(game.game)
        assert description.variants == game.variants
        assert description.help
        session = await client.create(game.game)
        assert [place.pile for place in description.layout] == list(session.piles)


async def test_identities(arena: str) -> None:
    async with connect(arena) as client:
        assert (client.player, client.token) == (None, None)
        with pytest.raises(Unauthenticated):
            await client.create("klondike")
        player = await client.guest("Grace")
        assert (player.name, player.kind, client.player) == ("Grace", "guest", player)
        token = client.token
        assert token is not None
        assert token not in repr(client)
        with pytest.raises(Unauthenticated):
            await client.use("x" * 43)
        assert (client.player, client.token) == (player, token)
        async with connect(arena, token) as other:
            assert other.player == player
            await other.logout()
            assert (other.player, other.token) == (None, None)
            with pytest.raises(Unauthenticated):
                await other.sessions()
    with pytest.raises(Unauthenticated):
        async with connect(arena, token):
            pytest.fail("a token that was revoked is taken")


async def test_refusals(client: Client, arena: str) -> None:
    session = await client.create("klondike", {"draw": 3})
    assert session.view.options["draw"] == 3
    with pytest.raises(IllegalMove) as illegal:
        await session.move("redeal")
    assert (illegal.value.reason, illegal.value.seq) == ("empty_source", 0)
    with pytest.raises(Conflict):
        await session.undo()
    with pytest.raises(InvalidParams) as invalid:
        await client.create("klondike", {"draw": 7})
    assert invalid.value.path == "/options/draw"
    with pytest.raises(NotFound):
        await client.describe("bridge")
    with pytest.raises(MethodNotFound):
        await client.call("session.win", session=session.id)
    with pytest.raises(MessageTooLong):
        await client.call("games.list", lang="x" * 20_000)
    async with connect(arena) as other:
        await other.guest()
        with pytest.raises(Forbidden):
            await other.open(session.id)
    first = await session.resign()
    assert await session.resign() == first
    with pytest.raises(SessionOver) as over:
        await session.move("draw")
    assert over.value.status == "resigned"
    assert isinstance(over.value, ApiError)


async def test_pages_of_sessions(client: Client) -> None:
    made = [(await client.create("camelot")).id for _ in range(5)]
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = await client.sessions(game="camelot", status="playing", limit=2, cursor=cursor)
        found += [item.session for item in page.sessions]
        cursor = page.cursor
        if cursor is None:
            break
    assert found == made[::-1]


async def test_one_session_for_one_request(client: Client, arena: str) -> None:
    session = await client.create("camelot", request_id="the-same")
    await session.move("draw")
    again = await client.create("camelot", request_id="the-same")
    assert again is session
    async with connect(arena, client.token) as other:
        taken_up = await other.create("camelot", request_id="the-same")
        assert taken_up.view.seq == 1
        assert taken_up.view.piles == session.piles


def test_addresses_that_are_none() -> None:
    for url in ("", "http://127.0.0.1/ws", "127.0.0.1:8000"):
        with pytest.raises(ValueError, match="URI"):
            connect(url)


async def test_the_example_of_the_readme(arena: str, capsys: pytest.CaptureFixture[str]) -> None:
    example = README.read_text().split("```python\n")[1].split("```")[0]
    example = example.replace("ws://127.0.0.1:8000/ws", arena).replace("asyncio.run(main())", "")
    names: dict[str, Any] = {}
    exec(compile(example, str(README), "exec"), names)
    await names["main"]()
    assert re.fullmatch(r"(won|lost) \d+\n", capsys.readouterr().out)


def test_the_public_face() -> None:
    for name in clients.python.__all__:
        assert hasattr(clients.python, name)
    assert sorted(clients.python.__all__) == sorted(set(clients.python.__all__))
