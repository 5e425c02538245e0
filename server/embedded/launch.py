"""Turn this process into a program that dies with its parent.

Usage: `python -I -S launch.py SIGNAL PARENT UID GID PROGRAM ARGUMENT…`. The process takes on UID and GID,
asks the kernel (Linux has a way) to send it SIGNAL when the thread that forked it ends, and becomes PROGRAM.
This is a program of its own rather than a `preexec_fn`, since Python code should not run after a fork
in a process with threads. It imports nothing of ours, for a quick start.
"""

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Do as the module says; it returns only if the parent is gone already."""
    death_signal, parent, uid, gid = (int(argument) for argument in arguments[:4])
    command = arguments[4:]
    os.umask(0o077)
    if uid != os.geteuid():
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    # A change of user clears the death signal, so it is set after that.
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
    # A parent that died before this point sends no signal any more.
    if os.getppid() == parent:
        os.execv(command[0], command)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main(sys.argv[1:])
