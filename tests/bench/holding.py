"""Holds idle connections open, as a process of its own, and answers their pings.

    python -m tests.bench.holding URL COUNT bare|subscribed SOURCE

It says `ready` when all are open, and holds them until its standard input ends; then it says how many of them
were lost in the meantime. `subscribed` ones act for a guest each, who is subscribed to a session of his own.
"""

import asyncio
import sys
from typing import Final

import uvloop

from tests.bench.descriptors import allow
from tests.bench.link import Link
from tests.bench.place import Place

_AT_ONCE: Final = 50
KINDS: Final = ("bare", "subscribed")


async def hold(place: Place, count: int, kind: str, source: str) -> int:
    """Open so many connections from an address, hold them, and return how many were lost."""
    links: list[Link] = []

    async def open_one() -> None:
        link = await Link.open(place, source=source)
        links.append(link)
        if kind == "subscribed":
            token = (await link.call("auth.guest", {}))["token"]
            await link.call("auth.use", {"token": token})
            session = (await link.call("session.create", {"game": "klondike"}))["session"]
            await link.call("session.subscribe", {"session": session})

    for at in range(0, count, _AT_ONCE):
        await asyncio.gather(*(open_one() for _ in range(min(_AT_ONCE, count - at))))
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    return sum(link.closed.done() for link in links)


def main() -> None:
    """Run the command line."""
    url, count, kind, source = sys.argv[1:]
    allow(int(count))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(runner.run(hold(Place.parse(url), int(count), kind, source)), flush=True)


if __name__ == "__main__":
    main()
