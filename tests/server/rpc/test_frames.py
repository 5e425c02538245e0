import json
import re
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.config import Limits
from server.rpc.errors import InvalidRequest
from server.rpc.frames import check, is_ordinary

LIMITS = Limits()


def accepted(text: str) -> bool:
    if is_ordinary(text):
        return True
    try:
        check(text, LIMITS)
    except InvalidRequest:
        return False
    return True


def call(method: str, size: int, letter: str = "x") -> str:
    """A call of `size` bytes."""
    head, tail = f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":["', '"]}'
    filling, rest = divmod(size - len(head) - len(tail), len(letter.encode()))
    return head + letter * filling + tail + " " * rest


@pytest.mark.parametrize("letter", ["x", "é", "字", "🂡"])
def test_the_limit_of_a_frame_is_in_bytes(letter: str) -> None:
    assert accepted(call("server.info", LIMITS.frame_bytes, letter))
    assert not accepted(call("server.info", LIMITS.frame_bytes + 1, letter))


def test_one_record_call_may_be_longer() -> None:
    long = call("record.verify", LIMITS.record_bytes)
    assert accepted(long)
    assert not accepted(long + " ")
    assert accepted(call("record.replay", LIMITS.frame_bytes + 1))
    # Neither in a batch, nor as text of another call, nor where the method is not what it seems.
    assert not accepted(f"[{call('record.verify', LIMITS.frame_bytes)}]")
    assert not accepted(call("session.record", LIMITS.frame_bytes + 1))
    assert not accepted(call('x","a":"record.', LIMITS.frame_bytes + 1))
    assert not accepted("x" * (LIMITS.frame_bytes + 1))


@pytest.mark.parametrize(
    ("opening", "closing"), [("[", "]"), ('{"":', "}"), ('{"a":[', "]}"), (' { "a" : ', " } ")]
)
def test_the_limit_of_depth(opening: str, closing: str) -> None:
    levels = opening.count("[") + opening.count("{")
    at_limit = opening * (32 // levels) + "1" + closing * (32 // levels)
    assert accepted(at_limit)
    assert not accepted(f"[{at_limit}]")
    assert not accepted(opening + at_limit + closing)
    # What only comes one after another is not deep.
    assert accepted("[" + ",".join([opening + "1" + closing] * 40) + "]")


@pytest.mark.parametrize(
    "string", ["[" * 99, "{" * 99, '\\"' + "[" * 99, "\\\\", '\\\\\\"[' * 40, "\\u005b" * 9]
)
def test_brackets_in_strings_do_not_count(string: str) -> None:
    nested = "[" * 31 + f'{{"{string}": "{string}"}}' + "]" * 31
    json.loads(nested)
    assert accepted(nested)
    assert not accepted(f"[{nested}]")


def test_a_long_frame_is_refused_for_its_depth_too() -> None:
    assert not accepted('{"method":"record.verify","params":' + "[" * 100_000 + "]" * 100_000 + "}")


def test_an_open_string_is_searched_only_once() -> None:
    # Were the search to start anew at each quote, this would take minutes.
    assert accepted('{"method":"record.verify"} "' + '\\"[' * 150_000) is False


Nested: TypeAlias = "str | list[Nested] | dict[str, Nested] | None"


def depth(value: Nested) -> int:
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 0


NESTED = st.recursive(
    st.none() | st.text(alphabet='[]{}"\\ é'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='[{"'), inner, max_size=3),
)


@given(NESTED, st.integers(0, 36))
def test_depth_is_what_a_parser_finds(value: Nested, wraps: int) -> None:
    for level in range(wraps):
        value = {"": value} if level % 2 else [value]
    text = json.dumps(value, ensure_ascii=False)
    assert accepted(text) == (depth(value) <= LIMITS.depth)


def counted(text: str) -> int:
    """The depth of a text that need not be JSON, one bracket after another."""
    deepest = depth = 0
    for letter in re.sub(r'"(?:[^"\\]|\\.)*(?:"|\\?$)', "", text, flags=re.DOTALL):
        depth += (letter in "[{") - (letter in "]}")
        deepest = max(deepest, depth)
    return deepest


PIECE = st.sampled_from(
    ['"', "\\", '\\"', "[", "]", "{", "}", "[]", "{}", "[}", "é", "\n", "[" * 20, "]" * 20, "[{" * 9]
)


@given(st.lists(PIECE, max_size=40).map("".join))
def test_depth_of_what_is_no_json(text: str) -> None:
    assert accepted(text) == (counted(text) <= LIMITS.depth)


def test_what_is_long_and_no_object_is_refused_for_that() -> None:
    for text in ("[" * 20_000, " [" + "[]," * 10_000 + "[]]"):
        with pytest.raises(InvalidRequest, match="16384 bytes"):
            check(text, LIMITS)
