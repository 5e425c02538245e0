"""One WebSocket: how it is opened, and how it is found to be dead.

Networks drop connections without telling their ends: then nothing fails, and nothing comes any more. Whatever
is heard counts as a sign of life here, not only the answer to a ping, which on a slow line waits behind much
else. So the keepalive of the library beneath is not used: it insists on that answer, and begins to count only
once there was room to write the ping.
"""

import asyncio
from typing import Final
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from clients.python.errors import ConnectionLost

CLOSE_SECONDS: Final = 5.0
"""How long a close may take."""

_HANDSHAKE_SECONDS: Final = 10.0
_LARGEST: Final = 16 * 2**20
"""Bytes of a message from the server: a page of a thousand events fits."""
_FRAMES: Final = 64
"""Frames received and not read yet, beyond which the server has to wait."""


class Wire(ClientConnection):
    """A WebSocket that counts what it hears."""

    heard = 0
    """How often something came."""

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        self.heard += 1
        super().data_received(data)

    async def watch_over(self, heartbeat: float) -> None:
        """Return when it is closed; cut it when it is dead.

        That takes two to three times `heartbeat` seconds from what was heard last: after one of silence the
        server is pinged, and has another to say anything. Silence is counted while this runs, so that what
        came to a program that was busy or asleep, and is not read yet, is no silence.
        """
        while True:
            heard = self.heard
            await asyncio.sleep(heartbeat)
            if self.heard != heard:
                continue
            try:
                async with asyncio.timeout(heartbeat):
                    await (await self.ping())
            except ConnectionClosed:
                return
            except TimeoutError:
                if self.heard == heard:
                    self.transport.abort()
                    return


async def dial(url: str) -> Wire:
    """Open a WebSocket.

    Raises:
        ConnectionLost: the server cannot be reached.
    """
    # A proxy of the system's settings cannot know what is local here.
    local = urlsplit(url).hostname in {"localhost", "127.0.0.1", "::1"}
    try:
        wire = await connect(
            url,
            compression=None,
            proxy=None if local else True,
            open_timeout=_HANDSHAKE_SECONDS,
            ping_interval=None,
            close_timeout=CLOSE_SECONDS,
            max_size=_LARGEST,
            max_queue=_FRAMES,
            create_connection=Wire,
        )
    except (OSError, WebSocketException, TimeoutError) as error:
        raise ConnectionLost(f"cannot connect to {url}: {error}") from error
    assert isinstance(wire, Wire), "it is made by `create_connection`"
    return wire
