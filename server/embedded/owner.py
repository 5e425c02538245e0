"""The user that the children run as."""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from server.embedded.errors import EmbeddedError


@dataclass(frozen=True, slots=True)
class Owner:
    """A user by its numbers: ourselves, or `nobody` if we are root, as whom PostgreSQL refuses to run."""

    uid: int
    gid: int
    name: str

    @classmethod
    def for_children(cls) -> "Owner":
        """Return who the children of this process run as; raises `EmbeddedError` if there is no such user."""
        if os.geteuid() != 0:
            return cls(os.geteuid(), os.getegid(), f"uid {os.geteuid()}")
        try:
            nobody = pwd.getpwnam("nobody")
        except KeyError:
            raise EmbeddedError(
                "PostgreSQL does not run as root and there is no user 'nobody': start the server as another user"
            ) from None
        return cls(nobody.pw_uid, nobody.pw_gid, nobody.pw_name)

    @property
    def is_self(self) -> bool:
        """Whether this is the user that the server itself runs as."""
        return self.uid == os.geteuid()

    def take(self, path: Path) -> None:
        """Make `path`, but nothing in it, this user's."""
        if not self.is_self:
            os.chown(path, self.uid, self.gid)

    def barrier(self, path: Path) -> Path | None:
        """Return the first of `path` and the folders above it that keeps this user from reading `path`, if any.

        It judges by owner, group and mode alone, and only for another user than ourselves.
        """
        if self.is_self:
            return None
        for folder in reversed(path.resolve().parents):
            if not self._may(folder, stat.S_IXOTH):
                return folder
        wanted = stat.S_IROTH | stat.S_IXOTH if path.is_dir() else stat.S_IROTH
        return None if self._may(path, wanted) else path

    def _may(self, path: Path, wanted: int) -> bool:
        """Whether the bits `wanted`, given as those for others, are this user's at `path`."""
        status = path.stat()
        shift = 6 if status.st_uid == self.uid else 3 if status.st_gid == self.gid else 0
        return status.st_mode & (wanted << shift) == wanted << shift
