"""Options as they are typed and told."""

import pytest

from clients.terminal.options import read_options, tell_options


def test_values_are_json_or_text() -> None:
    assert read_options(["a=1", "b=true", "c=red", "d=x=y", "e="]) == {
        "a": 1,
        "b": True,
        "c": "red",
        "d": "x=y",
        "e": "",
    }
    for text in ("draw", "=1"):
        with pytest.raises(ValueError, match="name=value"):
            read_options([text])


def test_each_option_is_a_line() -> None:
    schema = {
        "properties": {
            "few": {"type": "integer", "title": "How few.", "enum": [1, 3], "default": 1},
            "many": {
                "type": "integer",
                "title": "How many.",
                "minimum": 0,
                "maximum": 9,
                "description": "Left out: the value of `few`.",
            },
            "flag": {"type": "boolean", "title": "Whether.", "default": False},
            "new": {"type": "string"},
        }
    }
    assert tell_options(schema).splitlines()[1:] == [
        "    few=1|3  How few. Default: 1.",
        "    many=0..9  How many. Left out: the value of few.",
        "    flag=true|false  Whether. Default: false.",
        "    new=STRING",
    ]
    assert tell_options({"type": "object", "properties": {}}) == "The game has no options."
