"""The embedded Valkey: memory only, since nothing in it needs to outlive it."""

import signal
import socket
import subprocess
from pathlib import Path
from typing import Final
from urllib.parse import quote

from server.embedded.child import Child, Spawner

_SETTINGS: Final = {
    "port": "0",
    "unixsocketperm": "700",
    "save": "",
    "appendonly": "no",
    "maxmemory": "128mb",
    "maxmemory-policy": "volatile-ttl",
}


class Valkey(Child):
    """Valkey, or a Redis, on a unix socket."""

    name = "Valkey"
    death_signal = signal.SIGTERM

    def __init__(self, program: Path, sockets: Path, log: Path, spawner: Spawner) -> None:
        """Prepare `program` to listen in the folder `sockets`."""
        super().__init__(spawner, log)
        self._program = program
        self._socket = sockets / "valkey.sock"

    @property
    def url(self) -> str:
        """Where it listens, as redis-py reads it."""
        return f"unix://{quote(str(self._socket))}"

    def launch(self) -> subprocess.Popen[bytes]:
        """Start the program; an old socket in its place is replaced by itself."""
        settings = _SETTINGS | {"unixsocket": str(self._socket), "dir": str(self._socket.parent)}
        options = (word for name, value in settings.items() for word in (f"--{name}", value))
        return self._spawner.spawn([str(self._program), *options], self.log, death_signal=self.death_signal)

    def is_ready(self, process: subprocess.Popen[bytes]) -> bool:
        """Whether it answers a PING."""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(1)
                connection.connect(str(self._socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(5) == b"+PONG"
        except OSError:
            return False
