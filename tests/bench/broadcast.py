"""The baseline of fan-out: a bare Starlette endpoint that says to all others what one says."""

import asyncio
import socket
import sys
from typing import Final

import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

_BACKLOG: Final = 2048

_sockets: set[WebSocket] = set()


async def broadcast(websocket: WebSocket) -> None:
    """Say everything to all others, one after another."""
    await websocket.accept()
    _sockets.add(websocket)
    try:
        while True:
            text = await websocket.receive_text()
            for other in list(_sockets):
                if other is not websocket:
                    await other.send_text(text)
    except WebSocketDisconnect:
        return
    finally:
        _sockets.discard(websocket)


async def main(port: int) -> None:
    """Serve on a port of this machine, by uvicorn as it is."""
    listener = socket.create_server(("127.0.0.1", port), backlog=_BACKLOG)
    config = uvicorn.Config(
        Starlette(routes=[WebSocketRoute("/ws", broadcast)]),
        ws="websockets-sansio",
        http="httptools",
        access_log=False,
        log_level="error",
        ws_per_message_deflate=False,
    )
    await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(int(sys.argv[1])))
