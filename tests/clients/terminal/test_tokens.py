"""Where tokens are kept."""

import stat
from pathlib import Path

import pytest

from clients.terminal.tokens import keep_aside, read_token, token_path, write_token


def test_kept_for_the_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.token"
    assert read_token(path) is None
    write_token(path, "first")
    write_token(path, "second")
    assert read_token(path) == "second"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]


def test_a_file_of_each_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    urls = (
        "ws://127.0.0.1:8000/ws",
        "ws://127.0.0.1:8001/ws",
        "wss://play.example/ws",
        "wss://play.example/other/ws",
    )
    paths = {token_path(url) for url in urls}
    assert len(paths) == len(urls)
    assert all(path.is_relative_to(tmp_path) for path in paths)
    assert token_path("wss://PLAY.example/ws") == token_path("wss://play.example/ws")


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "taken"
    path.mkdir()
    with pytest.raises(OSError, match="taken"):
        write_token(path, "token")
    assert list(tmp_path.iterdir()) == [path]


def test_tokens_kept_aside_are_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "file.token"
    asides = [keep_aside(path, token) for token in ("first", "second", "third")]
    assert [aside.name for aside in asides] == ["file.token.old", "file.token.old2", "file.token.old3"]
    assert [read_token(aside) for aside in asides] == ["first", "second", "third"]
    assert {stat.S_IMODE(aside.stat().st_mode) for aside in asides} == {0o600}
