"""Who may see what: the one place where it is decided."""

from server.auth import Caller
from server.rpc.errors import Forbidden, Unauthenticated
from server.timeline import Timeline


def may_see(caller: Caller | None, timeline: Timeline) -> bool:
    """Tell whether somebody may see a session's view, events and record.

    Its player always may. Others may see a casual session that is public or has ended once, even if an undo
    has taken it up again; what belongs to a daily or a race is shown to nobody else while that deal can still
    be played. In either case that is when the seed becomes known.
    """
    if caller is not None and _reads(caller, timeline):
        return True
    return timeline.seed_known or (timeline.row.mode == "casual" and timeline.row.public)


def _reads(caller: Caller, timeline: Timeline) -> bool:
    """Tell whether a caller's token lets the session's player see it."""
    return caller.player.id == timeline.row.player and "read" in caller.scopes and not caller.revoked


def see(caller: Caller | None, timeline: Timeline) -> None:
    """Let the caller see a session, or refuse.

    Raises:
        Unauthenticated: without a token; with one it might be seen.
        Forbidden: it is somebody else's.
    """
    if may_see(caller, timeline):
        return
    if caller is None or caller.revoked:
        raise Unauthenticated
    raise Forbidden("This session is somebody else's; only its player may see it.")
