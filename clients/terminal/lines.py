"""Reading lines from a terminal, a pipe or a file while the event loop runs."""

import asyncio
import os
import threading
from typing import Final

_CHUNK: Final = 4_096
_LONGEST: Final = 65_536
"""Bytes of a line, beyond which it is cut in two."""


class Lines:
    """The lines of a file descriptor, read only when they are asked for.

    The reading is done by a thread that nothing waits for, because no other way serves terminals, pipes and
    files alike and can be left while a read blocks.
    """

    def __init__(self, descriptor: int) -> None:
        """Read from an open file descriptor; nobody else must."""
        self._descriptor = descriptor
        self._buffer = b""
        self._ended = False

    async def next(self) -> str | None:
        """Return the next line without its end, None after the last one. One at a time may wait."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str | None] = loop.create_future()

        def settle(line: str | None) -> None:
            if not answer.done():
                answer.set_result(line)

        def read() -> None:
            line = self._read()
            # If the loop has been closed meanwhile, nobody wants the line any more.
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, line)

        threading.Thread(target=read, name="lines", daemon=True).start()
        return await answer

    def _read(self) -> str | None:
        """Block until there is a whole line, or the end."""
        while b"\n" not in self._buffer and len(self._buffer) < _LONGEST and not self._ended:
            try:
                chunk = os.read(self._descriptor, _CHUNK)
            except OSError:
                chunk = b""
            self._buffer += chunk
            self._ended = not chunk
        if not self._buffer:
            return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace")
