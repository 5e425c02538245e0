"""The embedded PostgreSQL: its data folder, its settings and its process."""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Final
from urllib.parse import quote

from server.embedded.child import Child, Spawner, until
from server.embedded.errors import EmbeddedError
from server.embedded.home import Home
from server.embedded.programs import PostgresPrograms

_INITDB_TIMEOUT: Final = 300.0
"""Seconds that making a new data folder may take on a slow disk."""

_SETTINGS: Final = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "shared_buffers": "16MB",
    "max_wal_size": "256MB",
    # There is no second server to send a log to.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    # Small containers have little shared memory, and no query here gains from parallel work.
    "max_parallel_workers_per_gather": "0",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    # Statements and the values of keys may be somebody's secret and do not belong in a log.
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
}
_UNSAFE_SETTINGS: Final = {"fsync": "off", "full_page_writes": "off"}
"""For tests: what is committed outlives the process, but not the machine."""


class Postgres(Child):
    """PostgreSQL on a data folder in the home, listening on a unix socket.

    Whoever may enter the sockets' folder is the user who owns the data, so there is no password.
    """

    name = "PostgreSQL"
    # A fast shutdown: sessions are cut off, and what is committed is on disk.
    death_signal = signal.SIGINT

    def __init__(self, programs: PostgresPrograms, home: Home, spawner: Spawner, *, durable: bool) -> None:
        """Prepare a server on `home`/postgres; without `durable` a crash of the machine may lose its data."""
        super().__init__(spawner, home.path / "logs" / "postgres.log")
        self._programs = programs
        self._home = home
        self._durable = durable
        self._data = home.path / "postgres"

    @property
    def url(self) -> str:
        """Where it listens, as a libpq address of its superuser."""
        return f"postgresql://postgres@/postgres?host={quote(str(self._home.sockets))}"

    def prepare(self) -> None:
        """Make the data folder if there is none, and check that these programs can run the one there is.

        Raises `EmbeddedError` if they cannot.
        """
        lock = until(self._lock_data, f"an earlier PostgreSQL on {self._data} does not stop")
        try:
            version_file = self._data / "PG_VERSION"
            if not version_file.exists():
                if self._data.is_dir() and any(self._data.iterdir()):
                    raise EmbeddedError(
                        f"{self._data} holds no PostgreSQL data: move what is in it elsewhere"
                    )
                self._make_data(lock)
            self._check_version(version_file.read_text().strip())
            self._check_owner()
        finally:
            os.close(lock)

    def launch(self) -> subprocess.Popen[bytes] | None:
        """Start the program, or return None while any process of an earlier one has the data open."""
        lock = self._lock_data()
        if lock is None:
            return None
        try:
            self._remove_stale_pid()
            return self._spawner.spawn(
                [str(self._programs.postgres), "-D", str(self._data), *self._options()],
                self.log,
                death_signal=self.death_signal,
                keep=[lock],
            )
        finally:
            os.close(lock)

    def is_ready(self, process: subprocess.Popen[bytes]) -> bool:
        """Whether it takes connections, by the status it keeps for pg_ctl."""
        lines = self._pid_file()
        return len(lines) > 7 and lines[0] == str(process.pid) and lines[7].strip() == "ready"

    def _options(self) -> list[str]:
        settings = _SETTINGS | {"unix_socket_directories": f'"{self._home.sockets}"'}
        if self._programs.major >= 18:
            settings["io_method"] = "sync"
        if not self._durable:
            settings |= _UNSAFE_SETTINGS
        return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]

    def _lock_data(self) -> int | None:
        """Lock the data folder and return the descriptor that holds the lock, None if it is held.

        All processes of a PostgreSQL inherit that descriptor, so the kernel knows when the last is gone.
        """
        lock = os.open(self._home.path / "postgres.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            self._stop_leftover()
            return None
        return lock

    def _make_data(self, lock: int) -> None:
        """Make the data folder beside its place and move it there whole: an interrupted one is never used."""
        unfinished = self._data.with_name("postgres.new")
        if unfinished.exists():
            shutil.rmtree(unfinished)
        unfinished.mkdir(mode=0o700)
        self._home.owner.take(unfinished)
        # The builtin provider's order of texts depends on no library of the machine's.
        builtin = ["--locale-provider=builtin", "--locale=C", "--builtin-locale=C.UTF-8"]
        process = self._spawner.spawn(
            [
                *(str(self._programs.initdb), "-D", str(unfinished)),
                *("--username=postgres", "--auth=trust", "--encoding=UTF8"),
                *(builtin if self._programs.major >= 17 else ["--locale=C.UTF-8"]),
                *([] if self._durable else ["--no-sync"]),
            ],
            self.log,
            death_signal=signal.SIGTERM,
            keep=[lock],
        )
        try:
            status = process.wait(_INITDB_TIMEOUT)
        except BaseException:
            process.kill()
            process.wait()
            raise
        if status != 0:
            raise EmbeddedError(f"initdb could not make {self._data}; {self.last_words()}")
        unfinished.rename(self._data)

    def _check_version(self, version: str) -> None:
        major = str(self._programs.major)
        if version != major:
            raise EmbeddedError(
                f"{self._data} is of PostgreSQL {version} and {self._programs.postgres} is of {major}: "
                f"dump it with pg_dumpall while a PostgreSQL {version} runs on it and restore that into a "
                "new home, go on with the package you had, or name another folder with PATIENCE_HOME"
            )

    def _check_owner(self) -> None:
        uid, owner = self._data.stat().st_uid, self._home.owner
        if uid != owner.uid:
            raise EmbeddedError(
                f"{self._data} belongs to uid {uid} and PostgreSQL would run as {owner.name}: "
                f"start the server as the user you had, or chown -R {owner.uid} {self._data}"
            )

    def _pid_file(self) -> list[str]:
        try:
            return (self._data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return []

    def _stop_leftover(self) -> None:
        """Tell a PostgreSQL that outlived its server to stop, for where the kernel has not."""
        lines = self._pid_file()
        if lines and lines[0].isdecimal():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(lines[0]), self.death_signal)

    def _remove_stale_pid(self) -> None:
        """Remove the pid file that a killed server left, unless its pid is a PostgreSQL's.

        PostgreSQL itself refuses to start if any process of its user has that pid by now, as happens in a
        container that starts again, where pids are small and repeat. One run by hand is left to its check.
        """
        lines = self._pid_file()
        if lines and _program_of(lines[0]) != "postgres":
            for stale in (self._data / "postmaster.pid", *self._home.sockets.glob(".s.PGSQL.*")):
                stale.unlink(missing_ok=True)


def _program_of(pid: str) -> str | None:
    """Return the name of the program that runs as `pid`, None if there is none.

    Where the system has no /proc it cannot be told, and "postgres" is the safe answer.
    """
    if not Path("/proc/self/comm").exists():
        return "postgres"
    try:
        return Path("/proc", pid, "comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
