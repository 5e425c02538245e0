"""What the pages for people say, held against what the program is and does."""

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Final, cast, get_args

import httpx
import msgspec
import pytest
import websockets
from prometheus_client.parser import text_string_to_metric_families

from engine.errors import Reason
from server.app import Arena
from server.config import ConfigError, Limits, Settings
from server.rpc.errors import RpcError
from tests.arena import run

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = sorted((*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("*/*/README.md")))
WAIT: Final = 60.0

_LINK: Final = re.compile(r"\]\((?!https?:)(?P<file>[^)#\s]*)(?:#(?P<heading>[^)\s]+))?\)")
_CODE: Final = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    return (ROOT / name).read_text()


def table(name: str, *head: str) -> Iterator[list[str]]:
    """Give the rows of the page's one table whose head begins so, without the quotes of code."""
    lines = iter(page(name).splitlines())
    beginning = f"| {' | '.join(head)} |"
    assert any(line.startswith(beginning) for line in lines), f"{name} has no table {beginning}"
    next(lines)
    for line in lines:
        if not line.startswith("|"):
            return
        yield [cell.strip().strip("`") for cell in line.strip("|").split("|")]


def block(name: str, language: str) -> str:
    """Return the page's one block of code in that language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", page(name), re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    """Give a client of an application that is put together and not started: it can tell what it is."""
    arena = Arena("postgresql://127.0.0.1:1/none", "redis://127.0.0.1:1")
    transport = httpx.ASGITransport(arena.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://arena") as client:
        yield client


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for link in _LINK.finditer(_CODE.sub("", path.read_text())):
        target = (path.parent / link["file"]).resolve() if link["file"] else path
        assert target.exists(), link[0]
        if link["heading"]:
            headings = re.findall(r"^#+ (.+)$", _CODE.sub("", target.read_text()), re.MULTILINE)
            assert link["heading"] in [_anchor(heading) for heading in headings], link[0]


def _anchor(heading: str) -> str:
    """Return a heading's anchor as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_the_readme_has_one_command_to_serve_and_one_to_test() -> None:
    commands = [line for line in page("README.md").splitlines() if line.startswith("python3 -m venv")]
    assert [command.rpartition(" && ")[2] for command in commands] == [
        ".venv/bin/patience serve",
        ".venv/bin/pytest",
    ]
    assert commands[1] in page("CONTRIBUTING.md").splitlines()


async def test_the_program_in_the_readme_runs(database_url: str, redis_url: str) -> None:
    async with run(database_url, redis_url) as arena:
        program = block("README.md", "python").replace("ws://127.0.0.1:8000/ws", arena.ws)
        assert arena.ws in program
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, cwd=ROOT, stdout=subprocess.PIPE
        )
        output, _ = await asyncio.wait_for(process.communicate(), WAIT)
    assert process.returncode == 0
    assert output.decode().splitlines()[-1] in page("README.md")


async def test_the_answer_in_the_readme_is_the_servers(http: httpx.AsyncClient) -> None:
    (command,) = re.findall(r"^\$ curl .* -d '(.*)'$", page("README.md"), re.MULTILINE)
    (written,) = re.findall(r'^\{"jsonrpc".*$', page("README.md"), re.MULTILINE)
    answer = await http.post("/rpc", content=command, headers={"content-type": "application/json"})
    different = re.compile(r'"(time|version)":"[^"]*"')
    assert different.sub("", answer.text) == different.sub("", written)


async def test_the_methods_are_those_of_the_openrpc_document(http: httpx.AsyncClient) -> None:
    document = (await http.get("/openrpc.json")).json()
    methods = [
        [
            method["name"],
            ", ".join(param["name"] + ("" if param["required"] else "?") for param in method["params"]),
            method["x-scope"] or "",
            "yes" if method["x-socket-only"] else "",
        ]
        for method in document["methods"]
    ]
    assert [row[:4] for row in table("docs/protocol.md", "method", "params")] == methods


def test_the_errors_are_those_of_the_server() -> None:
    errors = {
        (str(error.code), error.kind)
        for error in RpcError.__subclasses__()
        if error.__module__ == RpcError.__module__
    }
    assert {(code, kind.strip("`")) for code, kind, *_ in table("docs/protocol.md", "code", "kind")} == errors


def test_the_reasons_come_in_the_engines_order() -> None:
    assert [row[0] for row in table("docs/protocol.md", "reason", "when")] == list(get_args(Reason))


def test_the_limits_are_those_of_the_server() -> None:
    promised = {limit.name: limit.default for limit in fields(Limits) if not limit.init}
    assert {row[0]: int(row[1]) for row in table("docs/protocol.md", "limit", "number")} == promised
    settable = {
        limit.name: (limit.default, limit.metadata["low"], limit.metadata["high"])
        for limit in fields(Limits)
        if limit.init
    }
    rows = table("docs/operations.md", "limit", "default")
    assert {row[0]: (int(row[1]), int(row[2]), int(row[3])) for row in rows} == settable
    for name in promised:
        assert f"`{name}`" in page("docs/operations.md")


def test_the_settings_are_those_of_the_server() -> None:
    rows = {row[0]: row[1].strip("`") for row in table("docs/operations.md", "variable", "default")}
    settings = {field.name for field in fields(Settings)} - {"limits"}
    assert {name.removeprefix("PATIENCE_").lower() for name in rows} == settings
    defaults = Settings.from_env({})
    assert (defaults.host, str(defaults.port), defaults.log_level) == (
        rows["PATIENCE_HOST"],
        rows["PATIENCE_PORT"],
        rows["PATIENCE_LOG_LEVEL"],
    )
    assert Settings.from_env({"PATIENCE_TRUSTED_PROXIES": "10.0.0.0/8,::1"}).trusted_proxies
    for name in rows:
        # A variable that does not exist is refused in other words than a value that cannot be used.
        with pytest.raises(ConfigError) as refused:
            Settings.from_env({name: "…", "PATIENCE_NONE": "…"})
        assert "PATIENCE_NONE" in str(refused.value)


async def test_the_metrics_are_those_of_the_server(http: httpx.AsyncClient) -> None:
    families = list(text_string_to_metric_families((await http.get("/metrics")).text))
    shown = {
        (family.name + ("_total" if family.type == "counter" else ""), family.type) for family in families
    }
    assert {(row[0], row[1]) for row in table("docs/operations.md", "metric", "kind")} == shown


async def test_the_example_of_the_protocol_happens_as_it_stands_there(
    database_url: str, redis_url: str
) -> None:
    async with (
        run(database_url, redis_url) as arena,
        websockets.connect(arena.ws) as ada,
        websockets.connect(arena.ws) as watcher,
    ):
        sockets = {"A": ada, "B": watcher}
        names: dict[str, str] = {}
        for line in block("docs/protocol.md", "text").splitlines():
            who, way, text = line.split(" ", 2)
            if way == ">":
                for written, real in names.items():
                    text = text.replace(written, real)
                await sockets[who].send(text)
            else:
                answer = await asyncio.wait_for(sockets[who].recv(), WAIT)
                assert isinstance(answer, str)
                _compare(_unabridged(text), msgspec.json.decode(answer), names)
    assert len(names) == 3


_ABRIDGED: Final = '"view":{…}'
_ANY: Final = {"at", "elapsed_ms", "started_at", "ended_at", "digest", "view"}
"""What is different each time."""


def _unabridged(text: str) -> object:
    return msgspec.json.decode(text.replace(_ABRIDGED, '"view":{}'))


def _compare(written: object, real: object, names: dict[str, str], key: str = "") -> None:
    """Compare an answer with the page's, and learn what ids and tokens are called this time."""
    if key in _ANY:
        assert type(written) is type(real)
        return
    match written, real:
        case str(), str() if key in {"token", "session", "id"}:
            assert names.setdefault(written, real) == real
        case dict(), dict():
            one, other = cast("dict[str, object]", written), cast("dict[str, object]", real)
            assert list(one) == list(other)
            for name, value in one.items():
                _compare(value, other[name], names, name)
        case list(), list():
            for pair in zip(cast("list[object]", written), cast("list[object]", real), strict=True):
                _compare(*pair, names)
        case _:
            assert written == real
