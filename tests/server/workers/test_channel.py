"""What a worker and its parent say: each word is heard once, with the socket that belongs to it."""

import socket
from collections.abc import Iterator

import pytest

from server.workers.channel import ENDED, FIGURES, READY, TAKE, TOOK, Channel


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    """Give both ends of a channel."""
    one, other = (Channel(end) for end in socket.socketpair())
    yield one, other
    one.close()
    other.close()


def test_words_are_heard_in_their_order(ends: tuple[Channel, Channel]) -> None:
    one, other = ends
    assert other.hear() == []
    for word in (READY, TOOK, b"?", ENDED):
        assert one.say(word)
    assert [heard.word for heard in other.hear()] == [READY, TOOK, b"?", ENDED]
    assert not other.closed


def test_a_socket_comes_with_its_word(ends: tuple[Channel, Channel]) -> None:
    one, other = ends
    near: list[socket.socket] = []
    for number in range(40):
        mine, its = socket.socketpair()
        near.append(mine)
        with its:
            assert one.say(TAKE if number % 2 else FIGURES, its)
        mine.sendall(bytes([number]))
        assert one.say(TOOK)
    words = other.hear()
    assert [word for word, _ in words] == [FIGURES, TOOK, TAKE, TOOK] * 20
    sent = [heard.sent for heard in words if heard.sent is not None]
    assert [end.recv(10) for end in sent] == [bytes([number]) for number in range(40)]
    for end in (*near, *sent):
        end.close()


def test_the_end_comes_after_all_that_was_said(ends: tuple[Channel, Channel]) -> None:
    one, other = ends
    one.say(READY)
    one.finish()
    assert [heard.word for heard in other.hear()] == [READY]
    assert other.closed
    # The other way is still open.
    assert other.say(TOOK)
    assert [heard.word for heard in one.hear()] == [TOOK]
    one.close()
    assert not other.say(TOOK)
    other.finish()


def test_who_does_not_listen_holds_up_nobody(ends: tuple[Channel, Channel]) -> None:
    one, other = ends
    count = 0
    while one.say(TAKE):
        count += 1
    assert count > 64
    heard = 0
    while words := other.hear():
        heard += len(words)
    assert heard == count
