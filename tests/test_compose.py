"""docker-compose.yml without Docker: its form, and everything it runs, run here.

What a container would have of its own (names of hosts, ports) is replaced by what this machine has; commands,
settings, the health check and the proxy's configuration are otherwise used as they stand there.
"""

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import httpx
import pytest
import yaml

from clients.python import Session, connect
from server.config import LIMIT_PREFIX, Limits, Settings
from tests.stores import Stores, database

ROOT: Final = Path(__file__).parents[1]
COMPOSE: Final = ROOT / "docker-compose.yml"
WAIT: Final = 60.0
"""Seconds after which what should have happened has not."""

_VARIABLE: Final = re.compile(r"\$\{(?P<name>\w+)(?P<how>:[-?])(?P<rest>[^}]*)\}")
_ANNOUNCED: Final = re.compile(rb"http://127\.0\.0\.1:(\d+)")


def interpolated(**environment: str) -> dict[str, Any]:
    """Return the file as Compose reads it; a variable that must be set and is not raises KeyError."""

    def value(match: re.Match[str]) -> str:
        name, how, rest = match.group("name", "how", "rest")
        return environment[name] if how == ":?" else environment.get(name) or rest

    return cast("dict[str, Any]", yaml.safe_load(_VARIABLE.sub(value, COMPOSE.read_text())))


@pytest.fixture
def compose() -> dict[str, Any]:
    return interpolated(POSTGRES_PASSWORD="not in an address")


def environment(service: Mapping[str, Any], **own: str) -> dict[str, str]:
    """Return a service's environment on this machine, where `own` stands in for what only containers have."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.defpath))
    return {**service["environment"], "PATH": path, **own}


@asynccontextmanager
async def running(
    command: Sequence[str], env: Mapping[str, str]
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Run a program of a service's, and kill it in the end if it still runs."""
    process = await asyncio.create_subprocess_exec(*command, env=env, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await asyncio.wait_for(process.wait(), WAIT)


async def outcome(command: Sequence[str], env: Mapping[str, str]) -> int:
    """Run a program to its end and return its status."""
    async with running(command, env) as process:
        return await asyncio.wait_for(process.wait(), WAIT)


@dataclass(frozen=True)
class Server:
    """A server process as the file starts it."""

    process: asyncio.subprocess.Process
    env: Mapping[str, str]
    port: int

    async def is_healthy(self, service: Mapping[str, Any]) -> bool:
        """Run the health check."""
        test = [word.replace(":8000/", f":{self.port}/") for word in service["healthcheck"]["test"]]
        assert test[0] == "CMD"
        return await outcome(test[1:], self.env) == 0

    async def stop(self) -> int:
        """Stop it as Docker does and return its status."""
        self.process.send_signal(signal.SIGTERM)
        return await asyncio.wait_for(self.process.wait(), WAIT)


@asynccontextmanager
async def serving(service: Mapping[str, Any], **own: str) -> AsyncGenerator[Server]:
    """Run a server's command, on any free port."""
    env = environment(service, PATIENCE_HOST="127.0.0.1", PATIENCE_PORT="0", **own)
    async with running(service["command"], env) as process:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), WAIT)
        announced = _ANNOUNCED.search(line)
        assert announced is not None, line
        yield Server(process, env, int(announced[1]))


def test_it_follows_the_compose_specification() -> None:
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        "vendor.compose-spec",
        str(COMPOSE),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT, check=False)
    assert done.returncode == 0, done.stdout


def test_it_has_no_password_of_its_own() -> None:
    with pytest.raises(KeyError, match="POSTGRES_PASSWORD"):
        interpolated()
    keys: list[str] = re.findall(
        r"^\s*(\w*(?:PASSWORD|SECRET|TOKEN)\w*):(?!\s*\$\{\w+:\?)", COMPOSE.read_text(), re.MULTILINE
    )
    assert keys == []


def test_its_settings_are_settings(compose: dict[str, Any]) -> None:
    for service in ("server-1", "server-2", "migrate"):
        settings = Settings.from_env(compose["services"][service]["environment"])
        assert settings.database_url
        assert settings.redis_url
    subnet = compose["networks"]["front"]["ipam"]["config"][0]["subnet"]
    trusted = Settings.from_env(compose["services"]["server-1"]["environment"]).trusted_proxies
    assert [str(network) for network in trusted] == [subnet]


def test_a_server_is_not_killed_while_it_drains(compose: dict[str, Any]) -> None:
    service = compose["services"]["server-1"]
    drain = int(service["environment"][f"{LIMIT_PREFIX}DRAIN_MS"]) / 1000
    grace = int(service["stop_grace_period"].removesuffix("s"))
    # Parting with the clients, then what still runs, then the journal: each may take the limit once.
    assert grace >= 3 * drain + Limits().store_timeout_ms / 1000


def test_nothing_of_the_stores_is_published(compose: dict[str, Any]) -> None:
    published = {name for name, service in compose["services"].items() if "ports" in service}
    assert published == {"proxy"}
    assert compose["networks"]["stores"]["internal"] is True


async def test_its_commands_run(compose: dict[str, Any], stores: Stores, redis_url: str) -> None:
    services = compose["services"]
    async with database(stores.database_url) as database_url:
        own = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
        assert await outcome(services["migrate"]["command"], environment(services["migrate"], **own)) == 0
        async with serving(services["server-1"], **own) as one, serving(services["server-2"], **own) as two:
            assert await one.is_healthy(services["server-1"])
            async with connect(f"ws://127.0.0.1:{one.port}/ws") as player:
                await player.guest()
                session = await player.create("klondike", public=True)
                async with connect(f"ws://127.0.0.1:{two.port}/ws") as watcher:
                    assert (await watcher.open(session.id)).view.player == player.player
            assert await one.stop() == 0
            assert not await one.is_healthy(services["server-1"])
            assert await two.stop() == 0


@pytest.mark.skipif(shutil.which("caddy") is None, reason="there is no caddy here to run the proxy with")
async def test_clients_get_through_the_proxy_and_outlive_a_server(
    compose: dict[str, Any], database_url: str, redis_url: str, tmp_path: Path
) -> None:
    services = compose["services"]
    own = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
    async with AsyncExitStack() as stack:
        servers = {
            name: await stack.enter_async_context(serving(services[name], **own))
            for name in ("server-1", "server-2")
        }
        port = free_port()
        text = str(compose["configs"]["caddyfile"]["content"]).replace(":80 {", f"http://127.0.0.1:{port} {{")
        for name, server in servers.items():
            text = text.replace(f"{name}:8000", f"127.0.0.1:{server.port}")
        caddyfile = tmp_path / "Caddyfile"
        caddyfile.write_text(text)
        command = [
            word.replace("/etc/caddy/Caddyfile", str(caddyfile)) for word in services["proxy"]["command"]
        ]
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        await stack.enter_async_context(running(command, env))
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
            await answering(http)
            assert (await http.get("/metrics")).status_code == 404
            assert (await http.get("/openrpc.json")).json()["openrpc"]
        # The proxy gives each server one of the two.
        players = [await stack.enter_async_context(connect(f"ws://127.0.0.1:{port}/ws")) for _ in range(2)]
        sessions: list[Session] = []
        for player in players:
            await player.guest()
            sessions.append(await player.create("klondike"))
        assert await servers["server-1"].stop() == 0
        for session in sessions:
            await session.move(session.legal[0])
            assert session.seq == 1
        assert sorted(player.reconnects for player in players) == [0, 1]


async def answering(http: httpx.AsyncClient) -> None:
    """Wait until the proxy answers and has found that its servers are well."""
    async with asyncio.timeout(WAIT):
        while True:
            try:
                if (await http.get("/healthz")).is_success:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.05)


def free_port() -> int:
    """Return a port that is free at the moment; the proxy has no way to tell us one that it found."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
