"""What a worker and its parent say to each other: single bytes over a pair of sockets, some with a socket.

The two may be of different versions of this program, since a worker is started from what is on disk. So a
word keeps its meaning for ever, and one that is not known is passed over.

    the parent says     TAKE      with a connection: serve it
                        NOTICE    the port will be closed: let it be known
    the worker says     READY     give me connections
                        TOOK      I have the next of those that you sent
                        ENDED     one of mine has ended
                        LEAVE     send me no more and close the channel: I want to stop
                        FIGURES   with a socket: write to it what `/metrics` says of all workers

The parent half-closes the channel to say that no more connections come; the worker then drains and ends. If
the parent dies the kernel does the same for it, on any system.
"""

import socket
from typing import Final, NamedTuple, Self

TAKE: Final = b"c"
NOTICE: Final = b"n"
READY: Final = b"r"
TOOK: Final = b"t"
ENDED: Final = b"e"
LEAVE: Final = b"l"
FIGURES: Final = b"f"

_AT_ONCE: Final = 256
"""How many words are heard before others have their turn."""


class Heard(NamedTuple):
    """One word, and the socket that came with it."""

    word: bytes
    sent: socket.socket | None
    """None also where one should have come but this process had no descriptor left for it."""


class Channel:
    """One end. Nothing here blocks, and nothing raises because the other end is gone."""

    def __init__(self, end: socket.socket) -> None:
        """Take an end, which is this object's from here on."""
        end.setblocking(False)
        self._end = end
        self.closed = False
        """Whether the other end has said all that it will."""

    @classmethod
    def inherited(cls, descriptor: int) -> Self:
        """Take the end that the parent left open for us; raises `OSError` if there is none."""
        return cls(socket.socket(fileno=descriptor))

    def fileno(self) -> int:
        """Return the descriptor, to be watched by a loop."""
        return self._end.fileno()

    def say(self, word: bytes, sent: socket.socket | None = None) -> bool:
        """Say a word; False if it cannot be said, because the other end is gone or listens to nothing."""
        try:
            if sent is None:
                return self._end.send(word) == len(word)
            return socket.send_fds(self._end, [word], [sent.fileno()]) == len(word)
        except OSError:
            return False

    def hear(self) -> list[Heard]:
        """Return what has been said and not been heard; `closed` tells whether more may come."""
        heard: list[Heard] = []
        while len(heard) < _AT_ONCE:
            try:
                # A byte at a time, so that it is clear which one a socket belongs to.
                word, descriptors, _, _ = socket.recv_fds(self._end, 1, 1)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                word, descriptors = b"", []
            if not word:
                self.closed = True
                break
            heard.append(Heard(word, socket.socket(fileno=descriptors[0]) if descriptors else None))
        return heard

    def finish(self) -> None:
        """Let the other end know that nothing more will be said."""
        try:
            self._end.shutdown(socket.SHUT_WR)
        except OSError:
            # It has gone already.
            return

    def close(self) -> None:
        """Let go of the channel."""
        self._end.close()
