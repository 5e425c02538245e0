import pytest

from server.rpc import errors
from server.rpc.errors import RpcError

# The protocol's table: code, kind, and what `data` holds besides.
TABLE: list[tuple[RpcError, int, str, dict[str, object]]] = [
    (errors.ParseError(), -32700, "parse_error", {}),
    (errors.InvalidRequest(), -32600, "invalid_request", {}),
    (errors.MethodNotFound(), -32601, "method_not_found", {}),
    (errors.InvalidParams("/game"), -32602, "invalid_params", {"path": "/game"}),
    (errors.InternalError("a1b2"), -32603, "internal_error", {"incident": "a1b2"}),
    (errors.Unauthenticated(), 1001, "unauthenticated", {}),
    (errors.Forbidden(), 1002, "forbidden", {}),
    (errors.NotFound(), 1003, "not_found", {}),
    (errors.IllegalMove("wrong_card", 4), 1004, "illegal_move", {"reason": "wrong_card", "seq": 4}),
    (errors.StaleSeq(5), 1005, "stale_seq", {"seq": 5}),
    (errors.SessionOver("won"), 1006, "session_over", {"status": "won"}),
    (errors.NotAllowed(), 1007, "not_allowed", {}),
    (errors.NameTaken(), 1008, "name_taken", {}),
    (errors.RateLimited(250), 1009, "rate_limited", {"retry_after_ms": 250}),
    (errors.Unavailable(), 1010, "unavailable", {}),
    (errors.Conflict(), 1011, "conflict", {}),
]


@pytest.mark.parametrize(("error", "code", "kind", "data"), TABLE)
def test_the_protocols_table(error: RpcError, code: int, kind: str, data: dict[str, object]) -> None:
    assert error.code == code
    assert error.data() == {"kind": kind, **data}
    assert error.message.endswith(".")
    assert str(error) == error.message


def test_the_table_is_whole() -> None:
    assert {type(error) for error, *_ in TABLE} == set(RpcError.__subclasses__())


def test_a_message_of_ones_own() -> None:
    assert errors.NotFound("There is no game chess.").message == "There is no game chess."
    assert errors.InvalidParams("/x", "It is odd.").message == "It is odd."
