"""The `patience` command: what it says when something is in its way, and that it says no secret."""

import socket
import subprocess
import sys
from importlib.metadata import version

import pytest

from server.store.migrate import pending
from tests.peer import Peer
from tests.processes import environment, served
from tests.stores import Stores, database, execute, outside_loop

SECONDS = 60
NOWHERE = "postgresql://arena:hunter2@127.0.0.1:1/arena"


def patience(*words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "server", *words],
        env=environment(**settings),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def complaint(result: subprocess.CompletedProcess[str]) -> str:
    """Return the last line of a command that failed, without a traceback on the way."""
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert "hunter2" not in result.stderr + result.stdout
    return result.stderr.splitlines()[-1]


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = complaint(patience("serve", "--port", port))
    assert said.startswith(f"patience: cannot listen on 127.0.0.1:{port}: ")
    assert "--port" in said


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"PATIENCE_PROT": "8000"}, "did you mean PATIENCE_PORT?"),
        ({"REDIS_URL": "redis://:hunter2@x"}, "only REDIS_URL is set"),
    ],
    ids=str,
)
def test_settings_that_cannot_be_used(settings: dict[str, str], words: str) -> None:
    assert words in complaint(patience("serve", "--port", "0", **settings))


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("migrate",)], ids=str)
def test_a_database_that_is_not_there(command: tuple[str, ...], stores: Stores) -> None:
    said = complaint(patience(*command, DATABASE_URL=NOWHERE, REDIS_URL=stores.redis_url))
    assert "cannot be reached" in said


def test_migrating_without_a_database() -> None:
    assert "DATABASE_URL" in complaint(patience("migrate"))


async def test_a_database_without_tables_is_migrated_first(stores: Stores) -> None:
    async with database(stores.database_url) as url:
        settings = {"DATABASE_URL": url, "REDIS_URL": stores.redis_url}
        said = complaint(outside_loop(lambda: patience("serve", "--port", "0", **settings)))
        assert "patience migrate" in said
        assert outside_loop(lambda: pending(url))
        assert outside_loop(lambda: patience("migrate", **settings)).returncode == 0
        assert outside_loop(lambda: patience("migrate", **settings)).returncode == 0
        assert not outside_loop(lambda: pending(url))
        async with served(**settings) as process, Peer(process.ws) as peer:
            await peer.log_in()
            assert (await peer.deal("klondike"))["seq"] == 0


async def test_a_database_of_a_newer_version_is_served(stores: Stores, database_url: str) -> None:
    """Migrations are made so that the version before goes on running."""
    await execute(database_url, "UPDATE alembic_version SET version_num = 'of-tomorrow'")
    settings = {"DATABASE_URL": database_url, "REDIS_URL": stores.redis_url}
    async with served(**settings) as process, Peer(process.ws) as peer:
        await peer.log_in()
        assert (await peer.deal("klondike"))["seq"] == 0
    assert "newer version" in complaint(outside_loop(lambda: patience("migrate", **settings)))


def test_help_names_the_commands() -> None:
    result = patience("--help")
    assert result.returncode == 0
    for command in ("serve", "migrate", "play"):
        assert command in result.stdout


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("migrate",)], ids=str)
@pytest.mark.parametrize(
    "address", ["{root}@{rest}/nosuchdatabase", "nosuchrole@{rest}/postgres"], ids=["name", "role"]
)
def test_a_database_that_lets_nobody_in(command: tuple[str, ...], address: str, stores: Stores) -> None:
    root, _, rest = stores.database_url.removeprefix("postgresql://").partition("@")
    place, _, query = rest.partition("?")
    url = address.format(root=root, rest=place.partition("/")[0])
    said = complaint(
        patience(*command, DATABASE_URL=f"postgresql://{url}?{query}", REDIS_URL=stores.redis_url)
    )
    assert said.startswith("patience: the database at DATABASE_URL refuses us: ")
    assert "nosuch" in said


def test_a_port_that_is_none() -> None:
    assert "PATIENCE_PORT is 99999" in complaint(patience("serve", "--port", "99999"))


def test_the_version_is_the_packages() -> None:
    assert patience("--version").stdout.strip() == version("patience-arena")


def test_migrating_takes_the_database_alone(database_url: str) -> None:
    result = patience("migrate", DATABASE_URL=database_url)
    assert (result.returncode, result.stdout) == (0, "The database is at this version's schema.\n")
