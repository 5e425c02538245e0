"""Where a server is, as a URL says it."""

import ssl
from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import urlsplit

_PORTS: Final = {"ws": 80, "wss": 443}


class BadUrl(Exception):
    """A URL is none of a server; the text says what to give instead."""


@dataclass(frozen=True, slots=True)
class Place:
    """A WebSocket endpoint."""

    host: str
    port: int
    path: str
    tls: ssl.SSLContext | None

    @classmethod
    def parse(cls, url: str) -> Self:
        """Read a `ws://` or `wss://` URL; without a path it is `/ws`.

        Raises:
            BadUrl: it is none.
        """
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise BadUrl(f"{url!r} is no WebSocket address; give one like ws://127.0.0.1:8000/ws")
        try:
            port = parts.port or _PORTS[parts.scheme]
        except ValueError as error:
            raise BadUrl(f"{url!r} has no usable port: {error}") from None
        path = parts.path if parts.path not in {"", "/"} else "/ws"
        path += f"?{parts.query}" if parts.query else ""
        tls = ssl.create_default_context() if parts.scheme == "wss" else None
        return cls(parts.hostname, port, path, tls)

    @property
    def authority(self) -> str:
        """The host and port as a request names them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self._scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL in full."""
        return f"{self._scheme}://{self.authority}{self.path}"

    @property
    def _scheme(self) -> str:
        return "ws" if self.tls is None else "wss"
