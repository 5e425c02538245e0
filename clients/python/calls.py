"""Calls that are not answered yet, each known by its id."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

import msgspec

from clients.python.envelope import Message
from clients.python.errors import BadAnswer, ClientError

T = TypeVar("T")

SENDINGS: Final = 6
"""How often one call is sent at most."""

_ABANDONED: Final = 1_000


class Call(Generic[T]):
    """One call that was sent."""

    __slots__ = ("answer", "read", "resend", "sent", "text")

    def __init__(self, text: str, read: Callable[[msgspec.Raw], T], *, resend: bool) -> None:
        """Keep the message as text, what makes a value of the result, and whether it may be sent again."""
        self.text = text
        self.read = read
        self.resend = resend
        self.sent = 1
        self.answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def take(self, message: Message) -> None:
        """End with an answer. It is read even if nobody waits any more: `read` may keep what it says."""
        error: ClientError | None = message.refusal()
        if error is None:
            try:
                value = self.read(message.result)
            except msgspec.DecodeError as bad:
                error = BadAnswer(f"a result is not of the protocol: {bad}")
            except ClientError as bad:
                error = bad
            else:
                if not self.answer.done():
                    self.answer.set_result(value)
                return
        self.fail(error)

    def fail(self, error: ClientError) -> None:
        """End without a result."""
        if not self.answer.done():
            self.answer.set_exception(error)


class Calls:
    """All calls that wait for an answer."""

    def __init__(self) -> None:
        """Begin with none."""
        self._waiting: dict[int, Call[Any]] = {}

    def add(self, ident: int, call: Call[Any]) -> None:
        """Expect an answer with the id `ident`."""
        self._waiting[ident] = call

    def abandon(self, ident: int) -> None:
        """Let nobody wait for an answer; it is still read when it comes, unless there are too many such."""
        if len(self._waiting) > _ABANDONED:
            self._waiting.pop(ident, None)

    def take(self, message: Message) -> bool:
        """Give an answer to its call; False if none expects it."""
        call = self._waiting.pop(message.id, None) if isinstance(message.id, int) else None
        if call is None:
            return False
        call.take(message)
        return True

    def broken(self, error: ClientError, *, keep: bool) -> None:
        """Fail the calls that cannot be sent again over another connection: with `keep` false, all."""
        for ident, call in list(self._waiting.items()):
            if not (keep and call.resend and call.sent < SENDINGS) or call.answer.done():
                del self._waiting[ident]
                call.fail(error)

    def again(self) -> list[str]:
        """Return the messages to be sent again, in the order in which they were first sent."""
        calls = [call for call in self._waiting.values() if call.resend]
        for call in calls:
            call.sent += 1
        return [call.text for call in calls]
