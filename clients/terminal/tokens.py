"""Where a player's token is kept, so that a game can be taken up again."""

import hashlib
import os
import re
import secrets
from pathlib import Path
from urllib.parse import urlsplit

import platformdirs


def token_path(url: str) -> Path:
    """Return the file in the user's data folder for the token of the server at `url`."""
    parts = urlsplit(url)
    server = f"{parts.scheme}://{(parts.hostname or '').lower()}:{parts.port or ''}{parts.path}"
    name = re.sub(r"[^a-z0-9.]+", "-", f"{parts.hostname or 'server'}-{parts.port or parts.scheme}".lower())
    digest = hashlib.sha256(server.encode()).hexdigest()[:12]
    return platformdirs.user_data_path("patience-player", appauthor=False) / f"{name}-{digest}.token"


def read_token(path: Path) -> str | None:
    """Return the token in a file, None if there is no such file.

    Raises:
        OSError: it cannot be read.
        UnicodeDecodeError: it is no text.
    """
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except FileNotFoundError:
        return None


def write_token(path: Path, token: str) -> None:
    """Keep a token in a file that its owner alone can read; it is replaced as a whole.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(token + "\n")
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def keep_aside(path: Path, token: str) -> Path:
    """Keep a token that `path` is to lose in a file beside it that did not exist, and return that file.

    Raises:
        OSError: it cannot be written.
    """
    number = 1
    while True:
        aside = path.with_name(f"{path.name}.old{number if number > 1 else ''}")
        try:
            descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            break
        except FileExistsError:
            number += 1
    with os.fdopen(descriptor, "w") as file:
        file.write(token + "\n")
    return aside
