"""`server.info`: what this server is."""

from importlib.metadata import version
from typing import Any

from engine import GAMES
from server import wire
from server.clock import Clock, rfc3339
from server.config import Limits
from server.rpc.call import Call
from server.rpc.methods import Method, NoParams

PROTOCOL = 1


def methods(clock: Clock, limits: Limits) -> tuple[Method[Any], ...]:
    """Return the methods about the server itself."""

    def info(_call: Call, _params: NoParams) -> wire.About:
        """Tell the server's name, version, time, games and limits."""
        names = [game.name for game in GAMES]
        now = rfc3339(clock.now())
        return wire.About("Patience Arena", version("patience-arena"), PROTOCOL, now, names, limits.as_dict())

    return (Method("server.info", NoParams, wire.About, info),)
