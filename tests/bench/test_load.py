"""The load command against a real server: what it says is what the server counted."""

import asyncio
import json
import re
import socket
import sys
from itertools import count
from pathlib import Path
from typing import cast

import httpx
from prometheus_client.parser import text_string_to_metric_families

from server.config import Limits
from tests.arena import Address, run
from tests.clients.relay import Cut, Message, Relay
from tests.durability.crowd import gather


async def load(*arguments: object) -> tuple[int, str, str]:
    """Run the command and return its exit code, what it printed, and what it said meanwhile."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.bench.load",
        *map(str, arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, said = await child.communicate()
    assert child.returncode is not None
    return child.returncode, output.decode(), said.decode()


async def counted(server: Address) -> dict[str, float]:
    """Return how often each method was called at a server, and how many events it made, as "events"."""
    async with httpx.AsyncClient(timeout=30) as http:
        text = (await http.get(f"{server.http}/metrics")).text
    counts: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "patience_calls_total" and sample.value:
                counts[sample.labels["method"]] = sample.value
            elif sample.name == "patience_journal_events_total":
                counts["events"] = sample.value
    return counts


def numbers(document: object) -> set[str]:
    """Return the text of every number in a document that is not 0."""
    if isinstance(document, dict):
        return numbers(list(cast("dict[str, object]", document).values()))
    if isinstance(document, list):
        return {text for part in cast("list[object]", document) for text in numbers(part)}
    return {str(document)} if isinstance(document, int | float) and document else set()


async def test_the_report_adds_up_with_what_the_servers_counted(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    file, tokens = tmp_path / "report.json", tmp_path / "tokens"
    async with run(database_url, redis_url) as one, run(database_url, redis_url) as other:
        options = ("-n", 3, "--watchers", 2, "--check", 1, "--undo", 0.4, "--churn", 0.3)
        files = ("--json", file, "--token-file", tokens)
        pace = ("--seconds", 1, "--warm", 0.2, "--rate", 60)
        code, output, _ = await load(one.ws, other.ws, *pace, *options, *files)
        shares = [await counted(server) for server in (one, other)]
    counts = {key: sum(share.get(key, 0) for share in shares) for key in shares[0] | shares[1]}
    report = json.loads(file.read_text())
    in_all, methods = report["in_all"]["sent"], report["methods"]

    assert code == 0
    assert all(share["session.move"] for share in shares)
    assert in_all == {method: counts[method] for method in in_all}
    assert report["in_all"]["answered"] == in_all
    changes = ("session.move", "session.undo", "session.resign")
    assert counts["events"] == sum(in_all.get(method, 0) for method in changes)
    # Nobody plays before everybody is there but the players themselves, who warm up; that is not counted.
    assert 0 < methods["session.move"]["count"] < in_all["session.move"]
    assert methods["session.undo"]["count"]
    assert report["moves"]["count"] == sum(methods[method]["count"] for method in changes[:2])
    assert report["calls"]["count"] == sum(one["count"] for one in methods.values())
    assert report["events"]["count"]
    assert report["reconnects"].keys() == {"dropped"}
    assert report["errors"] == []
    # Each session is followed by its player, and most by a watcher too.
    assert report["checks"]["sessions"] > in_all["session.create"] >= 3
    assert report["checks"]["patches"] > counts["events"] - in_all["session.resign"]
    assert report["checks"]["failed"] == 0
    # The table tells the same.
    words = set(re.findall(r"[\w.]+", output))
    assert numbers(report) <= {word.rstrip(".") for word in words}
    assert len(tokens.read_text().split()) == 3
    assert tokens.stat().st_mode & 0o077 == 0


async def test_players_are_the_same_again_by_their_tokens(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens"
    async with run(database_url, redis_url) as server:
        for players in (1, 2):
            arguments = (server.ws, "-n", players, "--seconds", 1, "--warm", 0, "--rate", 60)
            assert (await load(*arguments, "--games", "plot", "--token-file", tokens))[0] == 0
        counts = await counted(server)
    assert counts["auth.guest"] == len(tokens.read_text().split()) == 2


async def test_what_does_not_hold_is_told(database_url: str, redis_url: str) -> None:
    def tamper(message: Message) -> Message:
        result = message.get("result")
        if isinstance(result, dict) and "patch" in result and result["seq"] == 3:
            return message | {"result": result | {"check": "00000000"}}
        return message

    async with run(database_url, redis_url) as server, Relay(server.ws) as relay:
        relay.down = tamper
        arguments = ("-n", 2, "--seconds", 1, "--warm", 0, "--rate", 60, "--json", "-")
        code, output, _ = await load(relay.url, *arguments, "--check", 1)
        unchecked, _, _ = await load(relay.url, *arguments, "--check", 0)
    checks = json.loads(output)["checks"]
    assert code == 1
    assert checks["failed"] > 1
    assert "the patch of 3 does not lead to its check" in checks["failures"][0]
    assert unchecked == 0


async def test_refusals_and_lost_connections_are_counted_and_survived(
    database_url: str, redis_url: str
) -> None:
    moves = count(1)

    def tamper(message: Message) -> Message:
        if "patch" not in (message.get("result") or {}):
            return message
        number = next(moves)
        if number == 4:
            raise Cut(1012)
        if number == 8:
            data = {"kind": "rate_limited", "retry_after_ms": 70}
            error = {"code": 1009, "message": "Wait a little.", "data": data}
            return {"jsonrpc": "2.0", "id": message["id"], "error": error}
        return message

    async with run(database_url, redis_url) as server, Relay(server.ws) as relay:
        relay.down = tamper
        options = ("-n", 1, "--seconds", 2, "--warm", 0, "--rate", 60, "--undo", 0)
        code, output, _ = await load(relay.url, *options, "--json", "-")
    report = json.loads(output)
    assert code == 0
    assert report["reconnects"] == {"1012": 1}
    assert report["errors"] == [
        {"method": "session.move", "kind": "lost", "count": 1},
        {"method": "session.move", "kind": "rate_limited", "count": 1},
    ]
    assert report["rate_limited"] == {"count": 1, "waited_ms": 70}
    assert report["moves"]["count"] > 8


async def test_players_wait_as_long_as_the_server_tells_them_to(database_url: str, redis_url: str) -> None:
    limits = Limits(player_rate=2, player_burst=3)
    async with run(database_url, redis_url, limits, hurried=True) as server:
        code, output, _ = await load(server.ws, "-n", 2, "--seconds", 2, "--warm", 0, "--json", "-")
    report = json.loads(output)
    refused = {(error["method"], error["kind"]) for error in report["errors"]}
    assert code == 0
    assert report["rate_limited"]["count"]
    assert report["rate_limited"]["waited_ms"]
    assert {kind for _, kind in refused} == {"rate_limited"}
    assert report["moves"]["count"]


async def test_one_line_says_why_it_cannot_begin(database_url: str, redis_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = f"ws://127.0.0.1:{listener.getsockname()[1]}/ws"

    async def refused(words: str, *arguments: str) -> None:
        code, output, said = await load(*arguments)
        assert words in said
        assert (code, output, said.count("\n")) == (2, "", 1)
        assert said.startswith("load: ")

    async with run(database_url, redis_url) as server:
        await gather(
            refused("is no WebSocket address; give one like ws://127.0.0.1:8000/ws", server.http),
            refused(f"cannot connect to {closed}: Connection refused; check that", closed),
            refused("instead of a WebSocket", f"ws://127.0.0.1:{server.port}/elsewhere"),
            refused("TLS failed", f"wss://127.0.0.1:{server.port}/ws"),
            refused("has no game 'bridge'; it has klondike", server.ws, "--games", "klondike,bridge"),
            refused("open files", server.ws, "-n", "1000000000"),
        )


async def test_a_token_that_is_none_is_named_as_the_reason(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"pa_{'x' * 43}\n")
    async with run(database_url, redis_url) as server:
        code, _, said = await load(server.ws, "-n", 1, "--token-file", tokens)
    assert code == 2
    assert "somebody cannot begin: unauthenticated" in said
