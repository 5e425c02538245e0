import re
from datetime import UTC, datetime
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.ids import IdSource, id_text, parse_id

_UUIDS = st.integers(0, (1 << 128) - 1).map(lambda number: UUID(int=number))


def test_an_id_is_a_version_7_uuid_of_its_time() -> None:
    moment = datetime(2026, 11, 30, 9, tzinfo=UTC)
    made = IdSource(lambda: int(moment.timestamp() * 1000))()
    assert made.version == 7
    assert made.variant == RFC_4122
    assert made.int >> 80 == int(moment.timestamp() * 1000)


@pytest.mark.parametrize("clock", [[5, 5, 5, 5], [9, 8, 7, 6], [1, 2, 3, 4]])
def test_ids_grow_whatever_the_clock_does(clock: list[int]) -> None:
    source = IdSource(iter(clock * 50).__next__)
    made = [source() for _ in range(len(clock) * 50)]
    assert made == sorted(set(made))
    assert all(one.version == 7 for one in made)


def test_the_random_bits_differ_between_sources() -> None:
    made = {IdSource(lambda: 5)() for _ in range(100)}
    assert len(made) == 100


@given(_UUIDS)
def test_text_and_back(value: UUID) -> None:
    text = id_text(value)
    assert re.fullmatch("[0-9a-hjkmnp-tv-z]{26}", text)
    assert parse_id(text) == value


@given(_UUIDS, _UUIDS)
def test_texts_sort_as_ids_do(one: UUID, other: UUID) -> None:
    assert (one < other) == (id_text(one) < id_text(other))


def test_the_spelling_is_crockfords() -> None:
    assert id_text(UUID(int=0)) == "0" * 26
    assert id_text(UUID(int=32 * 31 + 17)) == "0" * 24 + "zh"
    assert id_text(UUID(int=(1 << 128) - 1)) == "7" + "z" * 25


@given(st.text(alphabet="0123456789abcdefghijklmnopqrstuvwxyzAZ_- \n٣", max_size=30))
def test_only_the_canonical_spelling_is_an_id(text: str) -> None:
    value = parse_id(text)
    assert value is None or id_text(value) == text


_SPELLED = id_text(UUID(int=(1 << 127) + 0xABCDEF))


@pytest.mark.parametrize(
    "text",
    [
        _SPELLED.upper(),
        _SPELLED + "0",
        _SPELLED[:-1],
        _SPELLED + "\n",
        "8" + _SPELLED[1:],
        _SPELLED[:-1] + "l",
        _SPELLED[:-1] + "u",
        _SPELLED[:5] + "_" + _SPELLED[6:],
        " " + _SPELLED[1:],
        "+" + _SPELLED[1:],
        str(parse_id(_SPELLED)),
        "",
    ],
)
def test_other_spellings_are_refused(text: str) -> None:
    assert parse_id(_SPELLED) is not None
    assert parse_id(text) is None
