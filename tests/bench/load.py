"""Puts players on a server, by the rules, and reports how it holds.

    python -m tests.bench.load ws://127.0.0.1:8000/ws -n 200 --seconds 30 --watchers 20

Each player plays random legal moves of the games that the server has, one session after another, over a
connection of its own, and sends the next move when the last one is answered, or at the pace of --rate. Where
the server says `rate_limited`, players wait as long as it tells them to; connections that are lost are made
again and sessions taken up where they were. Times count from sending a call, with --rate from when it was
due. Of some players, or with --check 1 of all, every patch is applied and held against its `check`; everybody
is held to gaps. Sessions are casual ones of guests, public if they are watched, and are resigned in the end.
For wss:// with a certificate from an authority of your own, set SSL_CERT_FILE to that one's.

The exit code is 0 if everything that was checked holds, 1 if something does not or nothing was answered, and
2 if the load could not be begun.
"""

import asyncio
import json
import os
import sys
from argparse import Namespace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn, cast

from tests.bench.arguments import arguments
from tests.bench.crowd import Crowd, NotReady, Outcome
from tests.bench.descriptors import TooFewDescriptors, allow
from tests.bench.link import Link, Lost, Refused, Unreachable
from tests.bench.place import BadUrl, Place
from tests.bench.plan import Plan
from tests.bench.report import document, table


def _fail(reason: object) -> NoReturn:
    """End before anything was measured."""
    print(f"load: {reason}", file=sys.stderr)
    raise SystemExit(2)


async def _look(place: Place) -> list[str]:
    """Return the games of the server at a place.

    Raises:
        NotReady: there is none.
    """
    try:
        link = await Link.open(place)
        games: list[dict[str, Any]] = await link.call("games.list", {})
        await link.close()
    except Unreachable as error:
        raise NotReady(f"cannot connect to {place.url}: {error}; check that a server runs there") from None
    except (Lost, Refused) as error:
        raise NotReady(f"{place.url} is a WebSocket that answers no call: {error}") from None
    return [game["game"] for game in games]


async def _run(given: Namespace) -> Outcome:
    """Look whether everything is there, and put the load on.

    Raises:
        NotReady: something is not.
    """
    places = tuple(map(Place.parse, given.urls))
    found = [await _look(place) for place in places]
    known = found[0]
    games = given.games.split(",") if given.games else known
    for game in games:
        if game not in known:
            raise NotReady(f"the server has no game {game!r}; it has {', '.join(known)}")
    tokens = _read(given.token_file)[: given.players]
    plan = Plan(
        places,
        tuple(games),
        tuple(tokens),
        players=given.players,
        watchers=given.watchers,
        seconds=given.seconds,
        warm=given.warm,
        rate=given.rate,
        undo=given.undo,
        churn=given.churn,
        check=given.check,
    )
    crowd = Crowd(plan, lambda words: print(f"load: {words}", file=sys.stderr))
    try:
        return await crowd.run()
    finally:
        _keep(given.token_file, [player.token for player in crowd.players[len(tokens) :] if player.token])


def _read(path: Path | None) -> list[str]:
    """Return the tokens in a file; none if there is no file yet."""
    return [] if path is None or not path.exists() else path.read_text(encoding="utf-8").split()


def _keep(path: Path | None, tokens: list[str]) -> None:
    """Add tokens to a file, which only its owner can read."""
    if path is not None and tokens:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(descriptor, "a", encoding="utf-8") as file:
            file.writelines(f"{token}\n" for token in tokens)


def _loop() -> asyncio.AbstractEventLoop:
    """Return the fastest loop that there is."""
    if find_spec("uvloop") is None:
        return asyncio.new_event_loop()
    return cast("asyncio.AbstractEventLoop", import_module("uvloop").new_event_loop())


def main() -> None:
    """Run the command line."""
    given = arguments(__doc__ or "")
    try:
        allow(given.players + given.watchers)
        with asyncio.Runner(loop_factory=_loop) as runner:
            outcome = runner.run(_run(given))
        report = document(outcome)
        as_json = json.dumps(report, indent=2)
        if given.json is not None and str(given.json) != "-":
            given.json.write_text(f"{as_json}\n", encoding="utf-8")
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}")
    except (BadUrl, NotReady, TooFewDescriptors) as error:
        _fail(error)
    print(as_json if str(given.json) == "-" else table(report))
    if report["checks"]["failed"]:
        raise SystemExit(1)
    if not report["calls"]["count"]:
        print("load: nothing was answered in the time that was measured", file=sys.stderr)
        raise SystemExit(1)


if __name__ == "__main__":
    main()
