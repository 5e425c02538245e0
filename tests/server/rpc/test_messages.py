import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.rpc.errors import StaleSeq
from server.rpc.messages import (
    NULL,
    Request,
    decode_message,
    error_answer,
    id_text,
    is_json,
    notification,
    result_answer,
    salvage_id,
)


def identified(ident: str) -> msgspec.Raw:
    message = decode_message(f'{{"jsonrpc":"2.0","method":"m","id": {ident} }}')
    assert isinstance(message, Request)
    return message.id


@pytest.mark.parametrize(
    "ident", ["1", "-1", "1.5", "9007199254740993", "1e400", "0.10", "null", '""', '"é\\n"']
)
def test_an_id_is_kept_as_it_came(ident: str) -> None:
    assert id_text(identified(ident)) == ident


@pytest.mark.parametrize("ident", ["true", "false", "{}", "[1]"])
def test_what_is_no_id(ident: str) -> None:
    assert id_text(identified(ident)) is None


def test_a_notification_has_no_id() -> None:
    message = decode_message('{"jsonrpc":"2.0","method":"m"}')
    assert isinstance(message, Request)
    assert id_text(message.id) == ""


@given(st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.none())
def test_any_id_comes_back(ident: object) -> None:
    text = id_text(identified(json.dumps(ident, ensure_ascii=False)))
    assert text is not None
    assert json.loads(result_answer(text, None)) == {"jsonrpc": "2.0", "id": ident, "result": None}


@pytest.mark.parametrize(
    ("text", "ident"),
    [
        ('{"id": 7, "method": 1}', "7"),
        ('{"method": 1}', NULL),
        ('{"id": {}}', NULL),
        ("1", NULL),
        ('["id"]', NULL),
    ],
)
def test_salvage(text: str, ident: str) -> None:
    assert salvage_id(text) == ident


@pytest.mark.parametrize(
    "text", ["", "{", "[1,]", '"\\q"', "01", "nul", '{"a":1}x', '"\x01"', "NaN", "\ufeff1"]
)
def test_what_is_no_json(text: str) -> None:
    assert not is_json(text)


@pytest.mark.parametrize("text", ["1", "null", ' {"a": [1.5e3, "\\u00e9"]} ', '"é"'])
def test_what_is_json(text: str) -> None:
    assert is_json(text)


def test_answers() -> None:
    assert result_answer("1", {"a": "é"}) == '{"jsonrpc":"2.0","id":1,"result":{"a":"é"}}'
    assert result_answer('"x"', msgspec.Raw(b'{"seq":4}')) == '{"jsonrpc":"2.0","id":"x","result":{"seq":4}}'
    error = StaleSeq(4)
    assert json.loads(error_answer(NULL, error)) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": 1005, "message": error.message, "data": {"kind": "stale_seq", "seq": 4}},
    }


def test_notifications() -> None:
    text = '{"jsonrpc":"2.0","method":"session.event","params":{"seq":4}}'
    assert notification("session.event", {"seq": 4}) == text
    assert notification("session.event", msgspec.Raw(b'{"seq":4}')) == text
