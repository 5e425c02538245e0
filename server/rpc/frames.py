"""The size limits of a frame or body, which are looked at before anything else is.

Refusals here concern the frame as a whole and are answered with one error of id null.
"""

import re
from typing import Final

import msgspec

from server.config import Limits
from server.rpc.errors import InvalidRequest

# An opening quote without a closing one takes the rest of the text, so that the search stays linear.
_STRING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NO_BRACKET: Final = re.compile(r"[^\[\]{}]+")


class _Head(msgspec.Struct):
    method: str


_decode_head: Final = msgspec.json.Decoder(_Head).decode


def is_ordinary(text: str) -> bool:
    """Whether `text` is within all limits at first sight; False means no more than that `check` must look.

    Four bytes is the most that a character takes. Without arrays, every level down takes four characters
    (`{"":`), so what has no object beyond the 128th is at most 32 deep. Both searches run at memory speed.
    """
    return len(text) <= 4096 and "[" not in text and text.find("{", 128) < 0


def check(text: str, limits: Limits) -> None:
    """Raise `InvalidRequest` if `text` is too long or too deep. Whether it is JSON is not checked."""
    size = len(text) if text.isascii() else len(text.encode())
    if size > limits.record_bytes:
        raise InvalidRequest(f"The frame is over {limits.record_bytes} bytes; send less at once.")
    if text.count("[") + text.count("{") > limits.depth and _depth(text) > limits.depth:
        raise InvalidRequest(f"The JSON is nested over {limits.depth} deep.")
    if size > limits.frame_bytes and not _is_record_call(text):
        raise InvalidRequest(
            f"The frame is over {limits.frame_bytes} bytes; only one record.* call by itself may be longer."
        )


def _depth(text: str) -> int:
    """Return how deep `text` is nested, whatever its strings hold."""
    deepest = depth = 0
    for bracket in _NO_BRACKET.sub("", _STRING.sub("", text)):
        if bracket in "[{":
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1
    return deepest


def _is_record_call(text: str) -> bool:
    try:
        return _decode_head(text).method.startswith("record.")
    except msgspec.DecodeError:
        return False
