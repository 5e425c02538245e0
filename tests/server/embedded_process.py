"""Other processes that run embedded stores, and the ends of processes that are not our children."""

import json
import os
import pwd
import select
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

import pytest
import structlog

from server.embedded.owner import Owner

WAIT: Final = 60.0
"""Seconds after which what should have happened has not."""

_ROOT = Path(__file__).parents[2]
_SITE = Path(structlog.__file__).parents[1]


class Facts(NamedTuple):
    """What a server tells of its stores."""

    database_url: str
    postgres: int
    valkey: int


class ServerProcess:
    """A process that runs embedded stores; leaving the context kills it."""

    def __init__(self, home: Path, user: str | None = None, path: Sequence[Path] = ()) -> None:
        """Start one on `home`, as `user` if given; `path` are folders to import from before all others."""
        account = None if user is None else pwd.getpwnam(user)
        if account is not None:
            os.chown(home.parent, account.pw_uid, account.pw_gid)
        self._process = subprocess.Popen(
            [_python_for(user), "-m", "tests.server.embedded_program", str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=_ROOT,
            env={"PYTHONPATH": os.pathsep.join(map(str, (*path, _ROOT, _SITE))), "PATH": os.defpath},
            user=None if account is None else account.pw_uid,
            group=None if account is None else account.pw_gid,
            extra_groups=None if account is None else [],
        )
        self.pid: Final = self._process.pid

    def __enter__(self) -> Self:
        """Give the process."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill the process if it still runs."""
        self.kill()

    def kill(self) -> None:
        """Kill it as nothing can be caught, and wait for its end, though not for its children's."""
        self._process.kill()
        self._process.communicate()

    def stop(self) -> None:
        """Let it stop its stores and end."""
        self._process.communicate(timeout=WAIT)

    def facts(self) -> Facts:
        """Return what it tells once its stores run."""
        told = self._line()
        assert "error" not in told, told["error"]
        return Facts(told["database_url"], int(told["postgres"]), int(told["valkey"]))

    def error(self) -> str:
        """Return why its stores do not run."""
        return self._line()["error"]

    def _line(self) -> dict[str, str]:
        output = self._process.stdout
        assert output is not None
        assert select.select([output], [], [], WAIT)[0], "the server says nothing"
        return json.loads(output.readline())


@contextmanager
def watched(*pids: int) -> Generator[list[int]]:
    """Give a descriptor for each process that becomes readable when it ends, whoever takes its pid then."""
    with ExitStack() as held:
        descriptors = [os.pidfd_open(pid) for pid in pids]
        for descriptor in descriptors:
            held.callback(os.close, descriptor)
        yield descriptors


def ended(descriptors: Sequence[int]) -> bool:
    """Wait until all processes behind these descriptors have ended, and tell whether they have."""
    return all(select.select([descriptor], [], [], WAIT)[0] for descriptor in descriptors)


def _python_for(user: str | None) -> str:
    """Return a Python that `user` can run: ours if possible, else the system's, with our packages."""
    if user is None:
        return sys.executable
    account = pwd.getpwnam(user)
    owner = Owner(account.pw_uid, account.pw_gid, user)
    for python in (sys.executable, "/usr/bin/python3"):
        if Path(python).exists() and owner.can_read(Path(python).resolve()):
            return python
    pytest.skip(f"{user} cannot run {sys.executable}, and there is no other Python")
