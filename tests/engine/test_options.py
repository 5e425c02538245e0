"""What may be set about a game."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from engine.errors import OptionError
from engine.options import DEFAULT, Option, fill, schema

DRAW = Option("draw", "Cards a draw.", 1, choices=(1, 3))
PASSES = Option("passes", "Times through.", "draw", most=9)
BACK = Option("back", "Whether cards return.", False)
SPEC = (DRAW, PASSES, BACK)


def test_options_left_out_have_their_defaults() -> None:
    assert fill(SPEC, {}) == {"draw": 1, "passes": 1, "back": False}


def test_a_default_may_follow_another_option() -> None:
    assert fill(SPEC, {"draw": 3}) == {"draw": 3, "passes": 3, "back": False}
    assert fill(SPEC, {"draw": 3, "passes": 0}) == {"draw": 3, "passes": 0, "back": False}


def test_filled_options_are_in_the_order_of_the_game() -> None:
    assert list(fill(SPEC, {"back": True, "passes": 2, "draw": 3})) == ["draw", "passes", "back"]


def test_filling_twice_changes_nothing() -> None:
    filled = fill(SPEC, {"draw": 3, "back": True})
    assert fill(SPEC, filled) == filled


@pytest.mark.parametrize(("option", "values"), [(DRAW, [1, 3]), (PASSES, [0, 1, 9]), (BACK, [True, False])])
def test_a_value_in_range_is_taken_as_it_is(option: Option, values: list[object]) -> None:
    for value in values:
        assert option.check(value) is value


@pytest.mark.parametrize(
    ("option", "values"),
    [
        (DRAW, [0, 2, 4, -1, True, "1", 1.0, None, [1], {"draw": 1}, 10**30]),
        (PASSES, [-1, 10, True, False, "9", 2.0, None]),
        (BACK, [0, 1, "true", None, 1.0, [True]]),
    ],
)
def test_a_value_out_of_range_or_of_another_type_is_refused(option: Option, values: list[object]) -> None:
    for value in values:
        with pytest.raises(OptionError) as refused:
            option.check(value)
        assert refused.value.option == option.name
        assert refused.value.kind == "option_error"


def test_an_unknown_option_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(OptionError, match="back, draw, passes") as refused:
        fill(SPEC, {"deal": 1})
    assert refused.value.option == "deal"


def test_a_game_without_options_refuses_any() -> None:
    with pytest.raises(OptionError, match="none"):
        fill((), {"draw": 1})
    assert fill((), {}) == {}
    assert [(variant.name, variant.options) for variant in DEFAULT] == [("default", {})]


def test_an_unknown_name_without_end_is_not_said_again_in_full() -> None:
    with pytest.raises(OptionError) as refused:
        fill(SPEC, {"x" * 10_000: 1})
    assert len(str(refused.value)) < 200


def test_the_schema_takes_exactly_what_fill_takes() -> None:
    found = schema(SPEC)
    Draft202012Validator.check_schema(found)
    validator: Any = Draft202012Validator(found)
    values: list[object] = [-1, 0, 1, 2, 3, 4, 9, 10, True, False, "1", None, [1]]
    for name in ("draw", "passes", "back", "deal"):
        for value in values:
            try:
                taken = bool(fill(SPEC, {name: value}))
            except OptionError:
                taken = False
            assert validator.is_valid({name: value}) == taken, (name, value)


def test_the_schema_tells_defaults_and_describes_one_that_follows_another() -> None:
    properties = schema(SPEC)["properties"]
    assert (properties["draw"]["default"], properties["back"]["default"]) == (1, False)
    assert "default" not in properties["passes"]
    assert "draw" in properties["passes"]["description"]
