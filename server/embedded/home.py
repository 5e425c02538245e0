"""The folder that the embedded stores live in, held by one server at a time."""

import fcntl
import os
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from server.embedded.errors import EmbeddedError
from server.embedded.owner import Owner

_SOCKET_PATH_BYTES: Final = 100
"""The longest path of a unix socket that every system takes, rounded down."""
_LONGEST_SOCKET_NAME: Final = ".s.PGSQL.5432.lock"
_SOCKETS_PREFIX: Final = "patience-"


class Home:
    """A home that is this process's alone from entering until leaving it, or until the process ends."""

    path: Final[Path]
    """The absolute folder."""
    owner: Final[Owner]
    """The user the children run as, who gets through `path` but owns only the folders it is given."""
    sockets: Path
    """While the home is held, the folder for sockets: short, private to `owner`, and new each time."""

    def __init__(self, path: Path, owner: Owner) -> None:
        """Name the home; nothing is touched yet."""
        self.path = path.absolute()
        self.owner = owner
        self.sockets = Path()
        self._held = ExitStack()

    def __enter__(self) -> Self:
        """Make the folder if need be and hold it.

        Raises `EmbeddedError` if another server holds it, or if we or `owner` cannot use it.
        """
        try:
            if not self.path.exists():
                self.path.mkdir(parents=True)
                # Another user must get through to the folders it owns, and needs no more than that.
                self.path.chmod(0o700 if self.owner.is_self else 0o711)
            self._hold()
            self._check_passage()
            self.folder("logs")
            # The link tells where a killed server left its sockets.
            self._remove_sockets()
            self.sockets = self._make_sockets()
            (self.path / "sockets").symlink_to(self.sockets)
        except OSError as error:
            self._held.close()
            raise EmbeddedError(
                f"{self.path} cannot be used ({error.strerror}: {error.filename}): "
                "make it this user's, or name another folder with PATIENCE_HOME"
            ) from error
        except EmbeddedError:
            self._held.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the sockets and let go."""
        self._remove_sockets()
        self._held.close()

    def folder(self, name: str) -> Path:
        """Return a folder of the server's own in this home, made if need be."""
        folder = self.path / name
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def _hold(self) -> None:
        """Take the lock, which the kernel frees when this process ends and which no child inherits."""
        lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._held.callback(os.close, lock)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(lock, 20).decode("ascii", "replace").strip()
            raise EmbeddedError(
                f"a server already runs on {self.path} (pid {holder or 'unknown'}): stop that one first, "
                "or name another folder with PATIENCE_HOME"
            ) from None
        os.truncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)

    def _check_passage(self) -> None:
        """Raise `EmbeddedError` if `owner` could not get at its own folders in here."""
        barrier = self.owner.barrier(self.path)
        if barrier is not None:
            raise EmbeddedError(
                f"{barrier} cannot be entered by the user {self.owner.name}, as whom the embedded PostgreSQL "
                f"runs: chmod o+x {barrier}, or name another folder with PATIENCE_HOME"
            )

    def _make_sockets(self) -> Path:
        for parent in dict.fromkeys((Path(tempfile.gettempdir()), Path("/tmp"))):  # noqa: S108 - mkdtemp is safe
            longest = parent / f"{_SOCKETS_PREFIX}xxxxxxxx" / _LONGEST_SOCKET_NAME
            if len(os.fsencode(longest)) <= _SOCKET_PATH_BYTES and not self.owner.barrier(parent):
                folder = Path(tempfile.mkdtemp(prefix=_SOCKETS_PREFIX, dir=parent))
                self.owner.take(folder)
                return folder
        raise EmbeddedError(
            "there is no folder for unix sockets: set TMPDIR to a short path that all can enter"
        )

    def _remove_sockets(self) -> None:
        """Remove the folder that the link names, if it is one that a server made for this home's children."""
        link = self.path / "sockets"
        if not link.is_symlink():
            return
        folder = link.readlink()
        link.unlink()
        if (
            folder.name.startswith(_SOCKETS_PREFIX)
            and folder.is_dir()
            and not folder.is_symlink()
            and folder.stat().st_uid == self.owner.uid
        ):
            shutil.rmtree(folder, ignore_errors=True)
