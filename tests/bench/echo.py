"""The baseline: a bare Starlette echo on the very stack that the server runs on.

An answer is as long as a move's answer is, so that both carry the same bytes.
"""

import asyncio
import socket
import sys

import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from server.rpc.socket_protocol import SocketProtocol

_PAD = "." * 250


async def echo(websocket: WebSocket) -> None:
    """Say everything back, and a little more."""
    await websocket.accept()
    try:
        while True:
            await websocket.send_text(await websocket.receive_text() + _PAD)
    except WebSocketDisconnect:
        return


async def main(port: int) -> None:
    """Serve on a port of this machine."""
    listener = socket.create_server(("127.0.0.1", port), backlog=2048)
    config = uvicorn.Config(
        Starlette(routes=[WebSocketRoute("/ws", echo)]),
        ws=SocketProtocol,
        http="httptools",
        access_log=False,
        log_level="error",
        ws_per_message_deflate=False,
    )
    await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(int(sys.argv[1])))
