"""What anybody was ever told, put together: whoever is told of the same thing is told the same."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from tests.contract import Json
from tests.durability.audit import timeless
from tests.durability.crowd import Violation, hold


@dataclass(slots=True)
class Story:
    """One session, as it was told."""

    events: dict[int, Json] = field(default_factory=dict[int, Json])
    """Each event by its number."""
    views: dict[int, Json] = field(default_factory=dict[int, Json])
    """Views by their `seq`, without the time that goes by."""
    answers: dict[int, Json] = field(default_factory=dict[int, Json])
    """What was answered to who made that change, or made it again."""
    carried: set[int] = field(default_factory=set[int])
    """The changes that some connection was answered as the one that made them."""


class Chronicle:
    """The stories of all sessions. A contradiction is a violation at once."""

    def __init__(self) -> None:
        self.stories: dict[str, Story] = {}
        self.told: Counter[str] = Counter()
        """How often anybody was told something, by what it was."""
        self.violation: Violation | None = None
        """The first one that was found where nobody could be told."""
        self.broken = asyncio.Event()

    def blame(self, violation: Violation) -> None:
        """Keep a violation that was found in the middle of reading."""
        self.violation = self.violation or violation
        self.broken.set()

    def story(self, session: str) -> Story:
        """Return a session's story so far."""
        return self.stories.setdefault(session, Story())

    def event(self, event: Json) -> None:
        """Take an event that somebody was sent, or has read."""
        self.told["events"] += 1
        known = self.story(event["session"]).events.setdefault(event["seq"], event)
        hold(known == event, "an event is told in two ways:", known, event)

    def view(self, view: Json) -> None:
        """Take a view that somebody was shown."""
        self.told["views"] += 1
        seen = timeless(view)
        known = self.story(view["session"]).views.setdefault(view["seq"], seen)
        hold(known == seen, "a view is shown in two ways:", known, seen)

    def answer(self, session: str, answer: Json) -> None:
        """Take the answer to a change."""
        self.told["answers"] += 1
        known = self.story(session).answers.setdefault(answer["seq"], answer)
        hold(known == answer, "a change is answered in two ways:", session, known, answer)

    def carry(self, session: str, seq: int) -> None:
        """Take it that a connection was answered as the one that made a change."""
        carried = self.story(session).carried
        hold(seq not in carried, "a change was made by two:", session, seq)
        carried.add(seq)
