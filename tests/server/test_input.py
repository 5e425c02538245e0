"""Bad input of every kind: each has its typed error, nothing changes, and the connection goes on."""

import asyncio
import json

import pytest

from tests.contract import Json
from tests.peer import SECONDS, Peer

SURROGATES = ("\\ud800", "\\udfff", "\\udc00\\ud800", "a\\ud83d")
LONG = "x" * 10_000

NO_SEEDS = ("", " ", "a b", "ä", "１", "seed\n", "a/b", "a\u0000", "x" * 65, LONG)
NO_MOVES = (
    *("", " ", "draw ", " draw", "DRAW", "Draw", "draw\n", "draw\u0000", "draw:1", "draw=1", "drawx", LONG),
    *("t1", "t1-", "-t1", "-", "t1--t2", "t1-t2-t3", "t1-t2:", "t1-t2:0", "t1-t2:1", "t1-t2:01", "t1-t2:-1"),
    *("t1-t2:1.5", "t1-t2:2:3", "t1-t2:99999999999999999999", "T1-t2", "t1−t2", "t1–t2", "t１-t2"),
    *("t1+t2", "t1+t1", "t1x", "waste+stock", "step=1", "step=", "=1", "base=3", "undo", "resign", "null"),
    *("t1 - t2", "t1-t2 ", "../t1", "/piles/t1", "%s", "'; DROP TABLE events; --", "ﬀ1-t2", "t1\u200b-t2"),
)
NO_NUMBERS: tuple[str, ...] = (
    "-1",
    "-0.5",
    "0.5",
    "1.0",
    "1e0",
    "1e400",
    '"0"',
    "null",
    "true",
    "[]",
    "{}",
    str(2**31),
    str(10**40),
)
NO_TOKENS = (
    "",
    "x",
    "pa_",
    "pa_" + "A" * 43,
    "pa_" + "A" * 42 + "=",
    "pa_" + "A" * 44,
    "ä" * 46,
    LONG,
    "a\u0000",
)
NO_TEXTS: tuple[object, ...] = (1, 1.5, True, [], {})
STRINGS: dict[str, Json] = {
    "auth.guest": {"name": "Ada"},
    "auth.use": {"token": "x"},
    "games.list": {"lang": "en"},
    "games.describe": {"game": "klondike", "lang": "en"},
    "session.create": {"game": "klondike", "seed": "1", "request_id": "a"},
    "session.get": {"session": "S"},
    "session.list": {"status": "won", "game": "klondike", "mode": "casual"},
    "session.move": {"session": "S", "move": "draw", "seq": 0},
    "session.undo": {"session": "S", "seq": 0},
    "session.resign": {"session": "S"},
    "session.subscribe": {"session": "S"},
    "session.unsubscribe": {"session": "S"},
    "session.record": {"session": "S"},
}
"""Every method that takes texts, with params that are in order; S stands for a session."""


async def answer(player: Peer, text: str) -> Json:
    """Send a frame as it is and return its answer: the first that belongs to no call of the peer's."""
    seen = len(player.frames)
    await player.socket.send(text)
    async with asyncio.timeout(SECONDS):
        while True:
            await player.call("server.info")
            for frame in player.frames[seen:]:
                message = json.loads(frame)
                if not isinstance(message["id"], int):
                    return message


@pytest.fixture
async def session(player: Peer) -> str:
    return (await player.deal("klondike", seed="1", request_id="first"))["session"]


async def untouched(player: Peer, session: str) -> bool:
    """Tell whether nothing has happened to a session that was dealt, and no other was."""
    [item] = (await player.call("session.list"))["sessions"]
    view = await player.call("session.get", session=session)
    return item["session"] == session and view["seq"] == 0 and not player.closed


async def test_seeds(player: Peer, session: str) -> None:
    for seed in NO_SEEDS:
        refused = await player.refused("session.create", game="klondike", seed=seed)
        assert refused == {"kind": "invalid_params", "path": "/seed"}
    for seed in NO_TEXTS:
        assert await player.kind("session.create", game="klondike", seed=seed) == "invalid_params"
    assert await untouched(player, session)
    assert (await player.deal("klondike", seed="x" * 64))["seq"] == 0
    assert (await player.deal("klondike", seed="A-z_0.9"))["seq"] == 0


async def test_games(player: Peer, session: str) -> None:
    for game in ("", "Klondike", "klondike ", "klondike/1", "__init__", "freecell", "klondike\u0000", LONG):
        assert await player.refused("session.create", game=game) == {"kind": "not_found"}
        assert await player.refused("games.describe", game=game) == {"kind": "not_found"}
    for game in (None, 1, ["klondike"]):
        refused = await player.refused("session.create", game=game)
        assert refused == {"kind": "invalid_params", "path": "/game"}
    assert await untouched(player, session)


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"draw": 2}, "/options/draw"),
        ({"draw": 0}, "/options/draw"),
        ({"draw": -1}, "/options/draw"),
        ({"draw": 1.0}, "/options/draw"),
        ({"draw": "1"}, "/options/draw"),
        ({"draw": True}, "/options/draw"),
        ({"draw": None}, "/options/draw"),
        ({"draw": 10**40}, "/options/draw"),
        ({"draw": [1]}, "/options/draw"),
        ({"passes": 10}, "/options/passes"),
        ({"passes": -1}, "/options/passes"),
        ({"worry_back": 1}, "/options/worry_back"),
        ({"worry_back": "true"}, "/options/worry_back"),
        ({"Draw": 1}, "/options/Draw"),
        ({"a/b~c": 1}, "/options/a~1b~0c"),
        ({"": 1}, "/options/"),
        ([], "/options"),
        ("draw", "/options"),
        (3, "/options"),
    ],
    ids=str,
)
async def test_options(player: Peer, session: str, options: object, path: str) -> None:
    for method in ("session.create", "games.describe"):
        refused = await player.refused(method, game="klondike", options=options)
        assert refused == {"kind": "invalid_params", "path": path}
    assert await player.kind("session.create", game="camelot", options={"draw": 1}) == "invalid_params"
    assert await untouched(player, session)


async def test_moves(player: Peer, rival: Peer, session: str) -> None:
    for move in NO_MOVES:
        refused = await player.refused("session.move", session=session, move=move, seq=0)
        assert refused == {"kind": "illegal_move", "reason": "malformed", "seq": 0}, move
        assert await rival.kind("session.move", session=session, move=move, seq=0) == "forbidden"
    for move in (None, 1, ["draw"], {"from": "t1"}):
        refused = await player.refused("session.move", session=session, move=move, seq=0)
        assert refused == {"kind": "invalid_params", "path": "/move"}
    assert await untouched(player, session)
    await player.call("session.resign", session=session)
    for move in NO_MOVES:
        assert await player.kind("session.move", session=session, move=move, seq=1) == "session_over"


@pytest.mark.parametrize("method", ["session.move", "session.undo", "session.get", "session.subscribe"])
async def test_numbers(player: Peer, session: str, method: str) -> None:
    name = {"session.get": "seq", "session.subscribe": "since"}.get(method, "seq")
    more = '"move":"draw",' if method == "session.move" else ""
    for number in NO_NUMBERS:
        if number == "null" and method in {"session.get", "session.subscribe"}:
            continue
        params = f'{{{more}"session":"{session}","{name}":{number}}}'
        message = f'{{"jsonrpc":"2.0","id":"n","method":"{method}","params":{params}}}'
        error = (await answer(player, message))["error"]
        assert error["data"] == {"kind": "invalid_params", "path": f"/{name}"}, number
    assert await untouched(player, session)


async def test_numbers_that_the_session_has_not_reached(player: Peer, session: str) -> None:
    for seq in (1, 5_001, 2**31 - 1):
        for method, name in (("session.get", "seq"), ("session.subscribe", "since")):
            refused = await player.refused(method, session=session, **{name: seq})
            assert refused == {"kind": "invalid_params", "path": f"/{name}"}
        refused = await player.refused("session.move", session=session, move="draw", seq=seq)
        assert refused == {"kind": "stale_seq", "seq": 0}
    assert await untouched(player, session)


async def test_tokens(player: Peer, session: str) -> None:
    for token in NO_TOKENS:
        assert await player.refused("auth.use", token=token) == {"kind": "unauthenticated"}, token
    for token in NO_TEXTS:
        assert await player.refused("auth.use", token=token) == {"kind": "invalid_params", "path": "/token"}
    assert await untouched(player, session)


async def test_session_ids(player: Peer, session: str) -> None:
    for wrong in (
        "",
        session.upper(),
        session + " ",
        session[:-1],
        session + "0",
        "0" * 26,
        "z" * 26,
        LONG,
        "é",
    ):
        assert await player.refused("session.get", session=wrong) == {"kind": "not_found"}
        assert await player.kind("session.move", session=wrong, move="draw", seq=0) == "not_found"
    assert await untouched(player, session)


async def test_names_of_guests(player: Peer) -> None:
    for name in ("", " Ada", "Ada ", "x" * 33, "a\u0000b", "a\nb", "\u202eadA", "\ud7ff" + "\x7f"):
        refused = await player.refused("auth.guest", name=name)
        assert refused == {"kind": "invalid_params", "path": "/name"}, name
    for name in ("A", "x" * 32, "Ada Lovelace", "Zoë", "李", "🃏"):
        assert (await player.call("auth.guest", name=name))["player"]["name"] == name


async def test_lists(player: Peer, session: str) -> None:
    wrong: dict[str, tuple[object, ...]] = {
        "limit": (0, -1, 101, 2**31, 1.5, "20"),
        "cursor": ("", "x", "0" * 25, "a\u0000", 3),
        "status": ("", "open", "PLAYING", 1),
        "mode": ("", "ranked", 1),
        "game": (1, []),
    }
    for name, values in wrong.items():
        for value in values:
            refused = await player.refused("session.list", **{name: value})
            assert refused == {"kind": "invalid_params", "path": f"/{name}"}, value
    assert (await player.call("session.list", game="nonesuch"))["sessions"] == []
    assert await untouched(player, session)


async def test_request_ids(player: Peer, session: str) -> None:
    for request_id in ("", " ", "a b", "a\n", "ä", "x" * 65, "a\u0000", 1):
        refused = await player.refused("session.create", game="klondike", request_id=request_id)
        assert refused == {"kind": "invalid_params", "path": "/request_id"}, request_id
    assert await untouched(player, session)


@pytest.mark.parametrize("method", STRINGS)
async def test_lone_surrogates_and_nul_in_every_text(player: Peer, session: str, method: str) -> None:
    good = json.loads(json.dumps(STRINGS[method]).replace('"S"', f'"{session}"'))
    for name, value in good.items():
        if not isinstance(value, str):
            continue
        for wrong in SURROGATES:
            params = json.dumps(good | {name: "@"}).replace('"@"', f'"{wrong}"')
            message = f'{{"jsonrpc":"2.0","id":"n","method":"{method}","params":{params}}}'
            error = (await answer(player, message))["error"]
            assert error["data"]["kind"] in {"parse_error", "invalid_request", "invalid_params"}, wrong
        message = {"jsonrpc": "2.0", "id": "n", "method": method, "params": good | {name: "a\u0000"}}
        got = await answer(player, json.dumps(message))
        assert got.get("error", {"data": {"kind": "none"}})["data"]["kind"] != "internal_error", name
    assert await untouched(player, session)


@pytest.mark.parametrize("method", STRINGS)
async def test_unknown_missing_and_superfluous_params(player: Peer, session: str, method: str) -> None:
    good = json.loads(json.dumps(STRINGS[method]).replace('"S"', f'"{session}"'))
    assert await player.refused(method, **good, extra=1) == {"kind": "invalid_params", "path": "/extra"}
    for name in ("session", "move", "seq", "token"):
        if name in good:
            without = {key: value for key, value in good.items() if key != name}
            assert await player.refused(method, **without) == {"kind": "invalid_params", "path": f"/{name}"}
    message = {"jsonrpc": "2.0", "id": "n", "method": method, "params": [None] * 9}
    error = (await answer(player, json.dumps(message)))["error"]
    assert error["data"]["kind"] == "invalid_params"
    assert await untouched(player, session)


async def test_frames_that_are_too_long_or_too_deep_are_refused_whole(player: Peer, session: str) -> None:
    params = f'{{"session":"{session}","move":"draw","seq":0}}'
    move = f'{{"jsonrpc":"2.0","id":"n","method":"session.move","params":{params}}}'
    for text in (
        move[:-1] + "," + '"x":"' + "y" * 17_000 + '"}',
        move[:-1] + ',"x":' + "[" * 40 + "]" * 40 + "}",
        "[" + ",".join([move] * 33) + "]",
    ):
        refusal = await answer(player, text)
        assert refusal["id"] is None
        assert refusal["error"]["data"] == {"kind": "invalid_request"}
    assert await untouched(player, session)
