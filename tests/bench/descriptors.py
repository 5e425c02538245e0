"""Open files, of which every connection takes one."""

import resource
from typing import Final

_SPARE: Final = 100
"""What a process opens besides."""


class TooFewDescriptors(Exception):
    """This machine does not let us open so many; the text says what to do about it."""


def allow(connections: int) -> None:
    """Let this process, and those that it starts, open so many connections.

    Raises:
        TooFewDescriptors: the hard limit is lower.
    """
    need = connections + _SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft == unlimited or soft >= need:
        return
    if hard != unlimited and hard < need:
        raise TooFewDescriptors(
            f"{connections} connections need {need} open files, and this process may have {hard}: run "
            f"`ulimit -Hn {need}` as root and start this from that shell, or raise LimitNOFILE or nofile in "
            "/etc/security/limits.conf"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (need, hard))
