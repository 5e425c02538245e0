"""The size limits of a frame or body, which are looked at before anything else is.

Refusals here concern the frame as a whole and are answered with one error of id null.
"""

import re
from itertools import accumulate
from typing import Final

import msgspec

from server.config import Limits
from server.rpc.errors import InvalidRequest

# An opening quote without a closing one takes the rest of the text, so that the search stays linear.
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_OBJECT: Final = re.compile(r"[ \t\r\n]*\{")
_NO_BRACKET: Final = bytes(set(range(256)) - set(b"[]{}"))
_ONE_KIND: Final = bytes.maketrans(b"{}", b"[]")
_STEPS: Final = bytes.maketrans(b"[]", b"\x01\xff")


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
    # What is no object can be no record call, and needs no further look.
    long = size > limits.frame_bytes
    allowed = not long or _OBJECT.match(text) is not None
    if allowed and text.count("[") + text.count("{") > limits.depth and _is_deeper(text, limits.depth):
        raise InvalidRequest(f"The JSON is nested over {limits.depth} deep.")
    if not allowed or (long and not _is_record_call(text)):
        raise InvalidRequest(
            f"The frame is over {limits.frame_bytes} bytes; only one record.* call by itself may be longer."
        )


def _is_deeper(text: str, limit: int) -> bool:
    """Whether `text` is nested over `limit` deep, whatever its strings hold and whether or not it is JSON."""
    data = text.encode()
    # Without escapes, what is between quotes is each second part, which is found faster.
    bare = _STRING.sub(b"", data) if b"\\" in data else b"".join(data.split(b'"')[::2])
    brackets = bare.translate(_ONE_KIND, _NO_BRACKET)
    # Each round takes the innermost pairs away, so what is well formed is gone after as many as it is deep.
    left = brackets
    for _ in range(limit):
        shorter = left.replace(b"[]", b"")
        if not shorter:
            return False
        if len(shorter) == len(left):
            break
        left = shorter
    steps = brackets.rstrip(b"]").translate(_STEPS)
    return max(accumulate(memoryview(steps).cast("b")), default=0) > limit


def _is_record_call(text: str) -> bool:
    try:
        return _decode_head(text).method.startswith("record.")
    except msgspec.DecodeError:
        return False
