"""A session as somebody knows it who was sent its view once and patches ever after."""

from typing import Any, Final

import jsonpatch

from tests.bench.checks import Checks
from tests.contract import Json
from tests.durability.crowd import checksum

_PLAIN: Final = ("seq", "status", "moves", "legal")
"""The parts of a view that are followed of every session, whole or not."""


class Followed:
    """One session. With `whole` each patch is applied, by a library not ours, and held to its `check`."""

    def __init__(self, view: Json, checks: Checks, *, whole: bool) -> None:
        """Begin with a view."""
        self.session: str = view["session"]
        self.game: str = view["game"]
        self.seq: int = view["seq"]
        self.status: str = view["status"]
        self.moves: int = view["moves"]
        self.legal: list[str] = view["legal"]
        self.broken = False
        """Whether something about it did not hold, so that it is of no use any more."""
        self.asked: dict[int, float] = {}
        """When its player asked for each event, by its number."""
        self._checks = checks
        self._view: Json | None = None
        if whole:
            self._view = view
            checks.sessions += 1
            self._hold(checksum(view) == view["check"], "the check of its view is wrong")

    @property
    def whole(self) -> bool:
        """Whether its patches are applied."""
        return self._view is not None

    @property
    def over(self) -> bool:
        """Whether nothing more is to be done with it."""
        return self.broken or self.status != "playing"

    def take(self, change: Json) -> None:
        """Go on by one change, an answer or an event."""
        seq = change["seq"]
        if not self._hold(seq == self.seq + 1, f"seq {seq} follows {self.seq}"):
            return
        self.seq = seq
        for operation in change["patch"]:
            path = operation["path"]
            if path == "/legal":
                self.legal = operation["value"]
            elif path == "/moves":
                self.moves = operation["value"]
            elif path == "/status":
                self.status = operation["value"]
        if self._view is not None:
            self._apply(self._view, change)

    def _apply(self, view: Json, change: Json) -> None:
        self._checks.changes += 1
        try:
            patch = jsonpatch.JsonPatch(change["patch"])
            patch.apply(view, in_place=True)  # pyright: ignore[reportUnknownMemberType]  It has no types.
        except jsonpatch.JsonPatchException as error:
            self._hold(False, f"the patch of {self.seq} cannot be applied: {error}")
            return
        same = checksum(view) == change["check"] == view["check"]
        self._hold(same, f"the patch of {self.seq} does not lead to its check")

    def compare(self, view: Json) -> None:
        """Hold the session against a view of now, as far as it is followed."""
        mine: dict[str, Any] = {part: getattr(self, part) for part in _PLAIN}
        theirs = {part: view[part] for part in _PLAIN}
        if self._view is not None:
            mine, theirs = self._view | {"elapsed_ms": 0}, view | {"elapsed_ms": 0}
        self._hold(mine == theirs, f"the changes do not lead to the view of {view['seq']}")

    def _hold(self, promise: bool, words: str) -> bool:
        if not self._checks.hold(promise, f"{self.game} {self.session}: {words}"):
            self.broken = True
        return promise
