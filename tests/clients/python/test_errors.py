"""Refusals become exceptions, by their kind."""

import clients.python.errors as errors
from clients.python import (
    ApiError,
    CallTimeout,
    IllegalMove,
    InvalidParams,
    MessageTooLong,
    RateLimited,
    SessionOver,
    StaleSeq,
)
from clients.python.errors import api_error

KINDS = {
    "parse_error": "ParseError",
    "invalid_request": "InvalidRequest",
    "method_not_found": "MethodNotFound",
    "invalid_params": "InvalidParams",
    "internal_error": "InternalError",
    "unauthenticated": "Unauthenticated",
    "forbidden": "Forbidden",
    "not_found": "NotFound",
    "illegal_move": "IllegalMove",
    "stale_seq": "StaleSeq",
    "session_over": "SessionOver",
    "not_allowed": "NotAllowed",
    "name_taken": "NameTaken",
    "rate_limited": "RateLimited",
    "unavailable": "Unavailable",
    "conflict": "Conflict",
}


def test_each_kind_has_its_class() -> None:
    for kind, name in KINDS.items():
        error = api_error(1, "text", {"kind": kind})
        assert type(error) is getattr(errors, name)
        assert error.kind == kind


def test_what_the_kinds_carry() -> None:
    illegal = api_error(1004, "No.", {"kind": "illegal_move", "reason": "wrong_card", "seq": 7})
    assert isinstance(illegal, IllegalMove)
    assert (illegal.reason, illegal.seq, illegal.code, str(illegal)) == ("wrong_card", 7, 1004, "No.")
    stale = api_error(1005, "", {"kind": "stale_seq", "seq": 3})
    assert isinstance(stale, StaleSeq)
    assert stale.seq == 3
    limited = api_error(1009, "", {"kind": "rate_limited", "retry_after_ms": 250})
    assert isinstance(limited, RateLimited)
    assert limited.retry_after_ms == 250
    over = api_error(1006, "", {"kind": "session_over", "status": "won"})
    assert isinstance(over, SessionOver)
    assert over.status == "won"
    params = api_error(-32602, "", {"kind": "invalid_params", "path": "/seed"})
    assert isinstance(params, InvalidParams)
    assert params.path == "/seed"


def test_unknown_kinds_stay_plain() -> None:
    error = api_error(1999, "text", {"kind": "tired", "for": 3})
    assert type(error) is ApiError
    assert (error.kind, error.data["for"]) == ("tired", 3)
    assert type(api_error(1, "text", None)) is ApiError


def test_some_are_also_what_the_language_calls_them() -> None:
    assert issubclass(CallTimeout, TimeoutError)
    assert issubclass(MessageTooLong, ValueError)
