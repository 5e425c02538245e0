"""Requests out, answers in."""

import json

import pytest

from clients.python import BadAnswer, MessageTooLong, NotFound
from clients.python.envelope import read, request


def test_request_leaves_absent_params_out() -> None:
    assert json.loads(request(3, "games.list", {"lang": None})) == {
        "jsonrpc": "2.0",
        "id": 3,
        "method": "games.list",
        "params": {},
    }


def test_request_of_a_size_the_server_refuses() -> None:
    long = "x" * 20_000
    with pytest.raises(MessageTooLong):
        request(1, "auth.guest", {"name": long})
    assert long in request(1, "record.verify", {"record": long})
    with pytest.raises(MessageTooLong):
        request(1, "record.verify", {"record": "x" * 600_000})


def test_reads_answers_and_notifications() -> None:
    answer = read(b'{"jsonrpc":"2.0","id":5,"result":{"a":1}}')
    assert (answer.id, bytes(answer.result), answer.refusal()) == (5, b'{"a":1}', None)
    event = read(b'{"jsonrpc":"2.0","method":"session.event","params":{}}')
    assert (event.method, bytes(event.params)) == ("session.event", b"{}")
    refused = read(
        b'{"jsonrpc":"2.0","id":5,"error":{"code":1003,"message":"No.","data":{"kind":"not_found"}}}'
    )
    assert isinstance(refused.refusal(), NotFound)


@pytest.mark.parametrize("frame", [b"", b"hello", b"[]", b'{"error": 3}', b'"text"', b'{"id": {}}'])
def test_refuses_what_is_no_message(frame: bytes) -> None:
    with pytest.raises(BadAnswer):
        read(frame)
