"""How the peers' load client speaks to our server: a subclass of its `Proto`.

What to play is in the file that `BENCH_SESSIONS` names: a token, the moves, and for each connection the
sessions that were dealt for it beforehand. Standard library only, since it runs in the client.
"""

import json
import os
from pathlib import Path
from typing import Any

from protos import Proto  # pyright: ignore[reportMissingImports, reportUnknownVariableType]  It is the client's.


class Arena(Proto):  # pyright: ignore[reportUntypedBaseClass]
    """Plays one session after another; what a move is answered with is its acknowledgement."""

    def __init__(self, run: Any) -> None:
        """Read what to play."""
        super().__init__(run)  # pyright: ignore[reportUnknownMemberType]
        given = json.loads(Path(os.environ["BENCH_SESSIONS"]).read_text())
        self.headers = f"Authorization: Bearer {given['token']}\r\n"
        self._moves: list[str] = given["moves"]
        self._sessions: list[list[str]] = given["sessions"]

    def frames(self, c: Any) -> None:
        """Build every message when it is due, since sessions are played once."""

    def build(self, c: Any, k: int) -> bytes:
        """Return the next move; past the last one, of the next session."""
        game, seq = divmod(k, len(self._moves))
        return (
            f'{{"jsonrpc":"2.0","id":{seq},"method":"session.move","params":'
            f'{{"session":"{self._sessions[c.i][game]}","move":"{self._moves[seq]}","seq":{seq}}}}}'
        ).encode()

    def is_ack(self, c: Any, data: bytes, a: int, b: int) -> bool | str:
        """Tell a result from an error."""
        return True if data.find(b'"result"', a, b) > 0 else "error"
