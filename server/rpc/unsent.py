"""How much of what was said to a client it has not taken yet."""

import asyncio
import contextlib
import fcntl
import termios
from typing import Final

_INT: Final = bytes(4)


def unsent(transport: asyncio.Transport) -> int:
    """Return the bytes given to a transport that the client's system has not acknowledged; 0 if all went out.

    What the transport itself holds says little of a slow client: the system takes much at once, and then
    nothing for a long time while it sends that. Where the system does not tell, only the transport's own
    count.
    """
    held = transport.get_write_buffer_size()
    if held:
        with contextlib.suppress(OSError):
            queued = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, _INT)
            held += int.from_bytes(queued, "little")
    return held
