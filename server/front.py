"""What stands before the application: it knows when the process stops, and who knows the figures of all."""

import time
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from server.metrics import CONTENT_TYPE

OWN: Final = "own"
"""The query with which a parent asks one of its workers: for its own figures, and not as an onlooker."""

_WATCHED_SECONDS: Final = 60.0
"""For how long after it was asked `/readyz` counts as watched."""


class Front:
    """The ASGI application that a server runs: `app`, but for two addresses at some times."""

    def __init__(self, app: ASGIApp, figures: Callable[[], Awaitable[bytes | None]] | None = None) -> None:
        """Stand before `app`.

        `figures`, if given, returns what `/metrics` says of all processes behind the port, or None if it
        cannot be had; then those of this process alone are shown.
        """
        self.stopping = False
        """Whether `/readyz` says so."""
        self._app = app
        self._figures = figures
        self._asked: float | None = None

    @property
    def watched(self) -> bool:
        """Whether anybody has asked `/readyz` lately, and so may be expected to ask again."""
        return self._asked is not None and time.monotonic() - self._asked < _WATCHED_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection or request."""
        answer = await self._own_answer(scope) if scope["type"] == "http" else None
        await (answer or self._app)(scope, receive, send)

    async def _own_answer(self, scope: Scope) -> Response | None:
        path, by_parent = scope["path"], scope["query_string"] == OWN.encode()
        if path == "/readyz":
            if not by_parent:
                self._asked = time.monotonic()
            if self.stopping:
                return JSONResponse({"status": "draining"}, 503)
        elif path == "/metrics" and self._figures and not by_parent:
            text = await self._figures()
            if text is not None:
                return Response(text, media_type=CONTENT_TYPE)
        return None
