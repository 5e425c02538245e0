"""What one process counts: messages by connection, player and address, and what somebody may have open."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from server.buckets import SECOND
from server.config import Limits
from server.limits import Meter, Meters, address_key
from tests.processes import Process, served

MILLISECOND = SECOND // 1_000
HERE, THERE = "192.0.2.1", "192.0.2.2"


class Clock:
    """A clock that goes on when a test says so."""

    def __init__(self) -> None:
        self.now = 10**12

    def __call__(self) -> int:
        return self.now

    def wait(self, milliseconds: int) -> None:
        self.now += milliseconds * MILLISECOND


def admitted(meter: Meter, most: int = 1_000) -> int:
    """Send until a message is refused, and return how many were not."""
    return next(count for count in range(most) if meter.admit())


def test_each_of_the_three_limits_holds() -> None:
    clock = Clock()
    meters = Meters(Limits(connection_burst=10, player_burst=15, address_burst=20), clock)
    one, two, three = (meters.connection(HERE) for _ in range(3))
    for meter in (one, two):
        meter.act_for("Ada")
    assert admitted(one) == 10
    assert admitted(two) == 5
    assert admitted(three) == 5
    elsewhere = meters.connection(THERE)
    assert admitted(elsewhere) == 10
    elsewhere.act_for("Ada")
    assert elsewhere.admit()


def test_a_refused_message_counts_nowhere() -> None:
    meters = Meters(Limits(connection_burst=1, player_burst=3), Clock())
    one, two = (meters.connection(HERE) for _ in range(2))
    for meter in (one, two):
        meter.act_for("Ada")
    assert [bool(one.admit()) for _ in range(5)] == [False, True, True, True, True]
    assert [bool(two.admit()) for _ in range(2)] == [False, True]
    third = meters.connection(HERE)
    third.act_for("Ada")
    assert not third.admit()


def test_whoever_comes_back_finds_what_was_left() -> None:
    meters = Meters(Limits(player_burst=7, address_burst=9), Clock())
    one = meters.connection(HERE)
    one.act_for("Ada")
    assert admitted(one) == 7
    one.close()
    two = meters.connection(HERE)
    two.act_for("Ada")
    assert admitted(two) == 0
    two.act_for(None)
    assert admitted(two) == 2
    two.act_for("Bob")
    assert admitted(two) == 0


def test_what_was_drawn_and_not_sent_is_given_back() -> None:
    meters = Meters(Limits(connection_burst=640, player_burst=640, address_burst=640), Clock())
    assert meters.at_a_time == 10
    one = meters.connection(HERE)
    one.act_for("Ada")
    assert not one.admit()
    one.act_for("Bob")
    assert not one.admit()
    one.close()
    two = meters.connection(HERE)
    two.act_for("Ada")
    assert admitted(two) == 638


def test_an_http_request_counts_for_player_and_address_alone() -> None:
    meters = Meters(Limits(connection_burst=1, player_burst=5, address_burst=8), Clock())

    def post(who: str | None) -> int:
        meter = meters.request(HERE)
        meter.act_for(who)
        refusal = meter.admit()
        meter.close()
        return refusal

    assert [bool(post("Ada")) for _ in range(6)] == [False] * 5 + [True]
    assert [bool(post(None)) for _ in range(4)] == [False] * 3 + [True]
    assert not meters.addresses.holders(HERE)
    assert meters.connection(HERE).admit()


def test_an_unknown_address_is_not_limited() -> None:
    meters = Meters(Limits(address_burst=1, address_connections=1), Clock())
    for _ in range(3):
        assert meters.refuse("") is None
        assert meters.connection("").admit() == 0
        assert meters.request("").admit() == 0


def test_connections_of_an_address_are_counted() -> None:
    meters = Meters(Limits(address_connections=2), Clock())
    one, _ = meters.connection(HERE), meters.connection(HERE)
    assert meters.refuse(HERE) == "too many connections from this address"
    assert meters.refuse(THERE) is None
    one.close()
    one.close()
    assert meters.refuse(HERE) is None
    meters.connection(HERE)
    assert meters.refuse(HERE) == "too many connections from this address"


def test_a_handshake_counts_as_a_message_of_its_address() -> None:
    clock = Clock()
    meters = Meters(Limits(connection_burst=1, address_rate=1, address_burst=3), clock)
    assert [meters.refuse(HERE) for _ in range(2)] == [None, None]
    assert not meters.connection(HERE).admit()
    assert meters.refuse(HERE) == "too many messages from this address"
    clock.wait(1_000)
    assert meters.refuse(HERE) is None
    assert meters.connection(HERE).admit()


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("", ""),
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("unix:", "unix:"),
        ("x" * 1_000, "x" * 64),
    ],
)
def test_what_counts_as_one_address(address: str, key: str) -> None:
    assert address_key(address) == key


def test_a_flood_is_read_no_further_until_it_may_go_on() -> None:
    clock = Clock()
    meter = Meters(Limits(connection_rate=10, connection_burst=1), clock).connection(HERE)
    assert not meter.admit()
    refusals = 0
    while not meter.pause():
        assert meter.admit()
        meter.refused()
        refusals += 1
    assert refusals == 32
    clock.wait(round(meter.pause() * 1_000))
    assert not meter.pause()
    assert not meter.admit()
    # One who goes on is not given as many refusals again.
    assert meter.admit()
    meter.refused()
    assert 0 < meter.pause() <= 1


def test_an_http_request_that_is_refused_takes_a_while() -> None:
    meter = Meters(Limits(address_burst=1), Clock()).request(HERE)
    assert not meter.admit()
    assert not meter.pause()
    assert meter.admit()
    meter.refused()
    assert 0 < meter.pause() <= 1


@given(
    st.builds(
        Limits,
        connection_rate=st.integers(1, 50),
        connection_burst=st.integers(1, 500),
        player_rate=st.integers(1, 50),
        player_burst=st.integers(1, 500),
        address_rate=st.integers(1, 50),
        address_burst=st.integers(1, 500),
    ),
    st.lists(
        st.one_of(
            st.tuples(st.just("send"), st.integers(0, 3), st.integers(1, 200)),
            st.tuples(st.just("wait"), st.just(0), st.integers(1, 3_000)),
            st.tuples(st.just("log in"), st.integers(0, 3), st.integers(0, 1)),
            st.tuples(st.just("come back"), st.integers(0, 3), st.just(0)),
        ),
        max_size=40,
    ),
)
def test_what_is_told_to_wait_is_true_and_no_limit_is_exceeded(
    limits: Limits, story: list[tuple[str, int, int]]
) -> None:
    clock = Clock()
    meters = Meters(limits, clock)
    addresses = (HERE, HERE, HERE, THERE)
    connections = [meters.connection(address) for address in addresses]
    players: list[int | None] = [None] * 4
    sent: dict[object, list[int]] = {}
    for word, which, number in story:
        meter = connections[which]
        if word == "wait":
            clock.wait(number)
        elif word == "log in":
            meter.act_for(number)
            players[which] = number
        elif word == "come back":
            meter.close()
            connections[which] = meters.connection(addresses[which])
            players[which] = None
        else:
            for _ in range(number):
                retry_after = meter.admit()
                if retry_after:
                    _hold(clock, meter, retry_after)
                    break
                for key in (("player", players[which]), ("address", addresses[which])):
                    sent.setdefault(key, []).append(clock.now)
    for key, times in sent.items():
        if key == ("player", None):
            continue
        of = "player" if isinstance(key, tuple) and key[0] == "player" else "address"
        rate: int = getattr(limits, f"{of}_rate")
        burst: int = getattr(limits, f"{of}_burst")
        # Each connection may have a few in hand that it drew before.
        spare = len(connections) * (meters.at_a_time - 1)
        for i, first in enumerate(times):
            for j, last in enumerate(times[i:], 1):
                assert j <= burst + spare + (last - first) * rate // SECOND + 1


def _hold(clock: Clock, meter: Meter, retry_after: int) -> None:
    """Fail unless a message is admitted after that time, and is not a millisecond earlier."""
    now = clock.now
    clock.wait(retry_after - 1)
    assert meter.retry_after() == 1
    clock.wait(1)
    assert meter.retry_after() == 0
    clock.now = now


@asynccontextmanager
async def behind(process: Process, address: str) -> AsyncGenerator[ClientConnection]:
    """Connect as a proxy does for a client of that address."""
    headers = {"X-Forwarded-For": address}
    async with connect(process.ws, additional_headers=headers, compression=None) as client:
        yield client


async def is_taken(client: ClientConnection) -> bool:
    """Tell whether a connection is served, and not closed at once because of its address."""
    async with asyncio.timeout(60):
        try:
            await client.send('{"jsonrpc":"2.0","id":1,"method":"server.info"}')
            await client.recv()
        except ConnectionClosed:
            assert client.close_code == 1013
            assert client.close_reason == "too many connections from this address"
            return False
    return True


@pytest.mark.parametrize("trusted", ["127.0.0.1", ""])
async def test_addresses_are_those_that_a_trusted_proxy_names(
    database_url: str, redis_url: str, trusted: str
) -> None:
    settings = {
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "PATIENCE_LIMIT_ADDRESS_CONNECTIONS": "1",
        "PATIENCE_TRUSTED_PROXIES": trusted,
    }
    async with served(**settings) as process, AsyncExitStack() as stack:
        taken = [
            await is_taken(await stack.enter_async_context(behind(process, address)))
            for address in (HERE, HERE, THERE, f"{HERE}, 198.51.100.7", "2001:db8::1", "2001:db8::2")
        ]
        assert taken == ([True, False, True, True, True, False] if trusted else [True] + [False] * 5)
