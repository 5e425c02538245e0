"""Canonical JSON and the digests of records."""

import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.record import canonical, digest, sealed
from tests.engine.records import json_values, on_file


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, False, None]}, '{"a":[true,false,null],"b":1}'),
        ({}, "{}"),
        ([], "[]"),
        ("Zoë €", '"Zoë €"'),
        ('"\\/\b\f\n\r\t', '"\\"\\\\/\\b\\f\\n\\r\\t"'),
        ("\x00\x1f\x7f", '"\\u0000\\u001f\x7f"'),
        ({"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "\u00f6": 7},
         '{"\\r":2,"1":4,"\x80":6,"\u00f6":7,"\u20ac":1,"\U0001f600":5,"\ufb33":3}'),
        (2**53 - 1, "9007199254740991"),
        (-1, "-1"),
        (0, "0"),
    ],
)  # fmt: skip
def test_canonical_json_is_that_of_rfc_8785(value: object, text: str) -> None:
    assert canonical(value) == text.encode("utf-8")


@pytest.mark.parametrize("value", [1.5, float("nan"), 2**53, -(2**53), "\ud800", b"", {1, 2}, object()])
def test_what_is_not_exact_in_every_language_is_refused(value: object) -> None:
    for inside in (value, [value], {"a": value}):
        with pytest.raises(ValueError, match=r"."):
            canonical(inside)


@given(value=json_values)
def test_canonical_json_reads_back_and_is_reproduced(value: object) -> None:
    text = canonical(value)
    assert json.loads(text) == value
    assert canonical(json.loads(text)) == text


@given(members=st.dictionaries(st.text(), st.integers(0, 9), min_size=2, max_size=6))
def test_the_order_of_members_does_not_matter(members: dict[str, int]) -> None:
    assert canonical(dict(reversed(members.items()))) == canonical(members)


def test_a_digest_covers_all_but_itself() -> None:
    record = on_file("klondike-draw1-lost-9")
    rest = {key: value for key, value in record.items() if key != "digest"}
    assert record["digest"] == digest(record) == digest(rest) == sha256(canonical(rest)).hexdigest()
    assert sealed(rest) == record
