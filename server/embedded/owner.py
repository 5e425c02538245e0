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
                "PostgreSQL refuses to run as root, and there is no user 'nobody': start the server as a user"
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

    def barrier(self, folder: Path) -> Path | None:
        """Return the first of the folders down to and with `folder` that this user cannot enter, if any.

        Like `can_read` it judges by owner, group and mode alone, and only for another user than ourselves.
        """
        if self.is_self:
            return None
        folder = folder.resolve()
        way = (*reversed(folder.parents), folder)
        return next((step for step in way if not self._may(step, stat.S_IXOTH)), None)

    def can_read(self, path: Path) -> bool:
        """Whether this user gets at `path` and may read it; what is in a folder is not looked at."""
        if self.is_self:
            return True
        return self.barrier(path if path.is_dir() else path.parent) is None and self._may(path, stat.S_IROTH)

    def _may(self, path: Path, wanted: int) -> bool:
        """Whether this user has at `path` the right whose bit for others is `wanted`."""
        status = path.stat()
        shift = 6 if status.st_uid == self.uid else 3 if status.st_gid == self.gid else 0
        return bool(status.st_mode & (wanted << shift))
