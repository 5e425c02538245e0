"""The settings: what the environment may say, and how the server answers what it may not."""

import os
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, fields
from ipaddress import ip_network
from pathlib import Path

import pytest

from server.config import ConfigError, Limits, Settings, limit_variable

DATABASE = "postgresql://arena:hunter2@db.example:5433/arena?sslmode=require"
REDIS = "redis://:hunter2@cache.example:6380/3"

SETTABLE = [limit.name for limit in fields(Limits) if limit.init]
PROMISED = {
    "frame_bytes": 16_384,
    "record_bytes": 524_288,
    "hard_bytes": 1_048_576,
    "depth": 32,
    "batch": 32,
    "session_events": 5_000,
    "page_events": 1_000,
}


def refusal(environ: Mapping[str, str]) -> str:
    """Return what the error says that this environment gives."""
    with pytest.raises(ConfigError) as refused:
        Settings.from_env(environ)
    return str(refused.value)


def test_an_empty_environment_gives_a_server_with_embedded_stores_on_localhost() -> None:
    settings = Settings.from_env({})
    assert (settings.host, settings.port, settings.log_level) == ("127.0.0.1", 8000, "info")
    assert (settings.database_url, settings.redis_url) == (None, None)
    assert settings.trusted_proxies == ()
    assert settings.home.is_absolute()
    assert settings.home.name == "patience-arena"
    if os.geteuid() == 0:
        assert settings.home == Path("/var/lib/patience-arena")


def test_every_variable_is_read() -> None:
    settings = Settings.from_env(
        {
            "PATIENCE_HOST": "::",
            "PATIENCE_PORT": "0",
            "PATIENCE_HOME": "/srv/arena",
            "PATIENCE_TRUSTED_PROXIES": "10.0.0.0/8, 192.168.1.7,fd00::/8",
            "PATIENCE_LOG_LEVEL": "WARNING",
            "PATIENCE_LIMIT_CONNECTIONS": "17",
            "DATABASE_URL": DATABASE,
            "REDIS_URL": REDIS,
            "PATH": "/usr/bin",
        }
    )
    assert (settings.host, settings.port, settings.home) == ("::", 0, Path("/srv/arena"))
    assert settings.trusted_proxies == tuple(map(ip_network, ("10.0.0.0/8", "192.168.1.7", "fd00::/8")))
    assert settings.log_level == "warning"
    assert settings.limits == Limits(connections=17)
    assert (settings.database_url, settings.redis_url) == (DATABASE, REDIS)


def test_an_empty_variable_counts_as_not_set() -> None:
    names = ("PATIENCE_HOST", "PATIENCE_PORT", "PATIENCE_LIMIT_DRAIN_MS", "DATABASE_URL", "REDIS_URL")
    assert Settings.from_env(dict.fromkeys(names, "")) == Settings.from_env({})


def test_a_home_may_be_relative_or_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/someone")
    assert Settings.from_env({"PATIENCE_HOME": "arena"}).home == tmp_path / "arena"
    assert Settings.from_env({"PATIENCE_HOME": "~/arena"}).home == Path("/home/someone/arena")


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("PATIENCE_PORT", "http", "whole number"),
        ("PATIENCE_PORT", "-1", "from 0 to 65535"),
        ("PATIENCE_PORT", "65536", "from 0 to 65535"),
        ("PATIENCE_LOG_LEVEL", "loud", "debug, info, warning, error"),
        ("PATIENCE_TRUSTED_PROXIES", "10.0.0.1/8", "host bits"),
        ("PATIENCE_TRUSTED_PROXIES", "proxy.example", "10.0.0.0/8"),
        ("PATIENCE_LIMIT_CONNECTIONS", "many", "whole number"),
        ("PATIENCE_LIMIT_CONNECTIONS", "0", "from 1 to"),
        ("PATIENCE_LIMIT_DRAIN_MS", "600001", "from 0 to 600000"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_advice(name: str, value: str, advice: str) -> None:
    text = refusal({name: value})
    assert name in text
    assert advice in text


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("PATIENCE_PROT", "PATIENCE_PORT"),
        ("PATIENCE_TRUSTED_PROXY", "PATIENCE_TRUSTED_PROXIES"),
        ("PATIENCE_LIMIT_CACHED_SESSION", "PATIENCE_LIMIT_CACHED_SESSIONS"),
    ],
)
def test_a_misspelt_variable_is_refused_with_the_one_that_was_meant(name: str, meant: str) -> None:
    assert refusal({name: "1"}) == f"{name} is not a setting: did you mean {meant}?"


def test_a_variable_like_no_other_is_refused_too() -> None:
    assert refusal({"PATIENCE_XYZZY": "1"}) == "PATIENCE_XYZZY is not a setting: unset it"


@pytest.mark.parametrize(("name", "value"), [("DATABASE_URL", DATABASE), ("REDIS_URL", REDIS)])
def test_one_store_without_the_other_is_refused(name: str, value: str) -> None:
    text = refusal({name: value})
    assert text.startswith(f"only {name} is set")
    assert "hunter2" not in text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "mysql://arena:hunter2@db.example/arena"),
        ("DATABASE_URL", "postgresql+asyncpg://arena:hunter2@db.example/arena"),
        ("REDIS_URL", "http://:hunter2@cache.example"),
    ],
)
def test_an_address_of_another_kind_is_refused_without_repeating_it(name: str, value: str) -> None:
    text = refusal({"DATABASE_URL": DATABASE, "REDIS_URL": REDIS} | {name: value})
    assert text.startswith(f"{name} must begin with")
    assert "hunter2" not in text


@pytest.mark.parametrize("redis", ["redis://cache", "rediss://cache", "unix:///run/valkey.sock"])
@pytest.mark.parametrize("database", ["postgresql://db/arena", "postgres://db/arena"])
def test_the_usual_schemes_are_taken(database: str, redis: str) -> None:
    settings = Settings.from_env({"DATABASE_URL": database, "REDIS_URL": redis})
    assert (settings.database_url, settings.redis_url) == (database, redis)


def test_a_repr_keeps_the_passwords_of_the_stores() -> None:
    assert "hunter2" not in repr(Settings.from_env({"DATABASE_URL": DATABASE, "REDIS_URL": REDIS}))


def test_settings_do_not_change() -> None:
    settings = Settings.from_env({})
    with pytest.raises(FrozenInstanceError):
        settings.port = 1  # pyright: ignore[reportAttributeAccessIssue] - that is what is refused


def test_what_the_protocol_promises_is_shown_and_cannot_be_set() -> None:
    shown = Limits().as_dict()
    assert {name: shown[name] for name in PROMISED} == PROMISED
    for name in PROMISED:
        assert "the protocol promises" in refusal({limit_variable(name): "1"})


@pytest.mark.parametrize("name", SETTABLE)
def test_every_other_limit_is_set_by_its_variable(name: str) -> None:
    value = Limits().as_dict()[name] + 1
    limits = Settings.from_env({limit_variable(name): str(value)}).limits
    assert limits.as_dict() == Limits().as_dict() | {name: value}


@pytest.mark.parametrize("name", SETTABLE)
def test_no_limit_can_be_without_bounds(name: str) -> None:
    for value in ("-1", str(10**18)):
        assert limit_variable(name) in refusal({limit_variable(name): value})


def test_limits_made_in_code_are_checked_as_well() -> None:
    with pytest.raises(ConfigError, match="PATIENCE_LIMIT_PENDING_CALLS"):
        Limits(pending_calls=0)
