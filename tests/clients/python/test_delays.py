"""Waits between attempts grow, within bounds, and differ."""

from itertools import islice

from clients.python.delays import delays


def test_grow_to_a_bound() -> None:
    waits = list(islice(delays(0.1), 20))
    for i, wait in enumerate(waits):
        longest = min(10.0, 0.1 * 2**i)
        assert longest / 2 <= wait <= longest


def test_differ_from_client_to_client() -> None:
    assert len({next(delays()) for _ in range(20)}) > 10
