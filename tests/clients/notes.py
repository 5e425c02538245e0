"""What a client has seen of a session, to be held against what the server has of it."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from clients.python import Answer, ConnectionLost, Event, Session
from tests.contract import Json
from tests.durability.audit import timeless
from tests.durability.crowd import hold, patched
from tests.peer import Peer


class Notes:
    """What one `Session` has shown and told, from some moment on."""

    def __init__(self, session: Session) -> None:
        """Begin now."""
        self.session = session
        self.start = session.seq
        """The `seq` at which it began."""
        self.views: list[Json] = []
        """Every view that there was at a moment when somebody looked, as plain data."""
        self.events: list[Event] = []
        """Every event that was told."""
        self._watch = session.watch()
        session.on_event(self._hear)
        self.look()

    def look(self) -> None:
        """Note what the session shows now."""
        self.views.append(self.session.data)

    async def watched(self) -> list[Event]:
        """Read what an iterator that was begun at the same time has; the first to ask gets it all."""
        events: list[Event] = []
        with suppress(TimeoutError, ConnectionLost):
            async with asyncio.timeout(0):
                async for event in self._watch:
                    events.append(event)  # noqa: PERF401  The end comes by an exception.
        return events

    def _hear(self, event: Event) -> None:
        self.events.append(event)
        self.look()


@dataclass(slots=True)
class Doings:
    """What a player has done in a session, over all connections."""

    answers: list[tuple[str, str | None, Answer]] = field(
        default_factory=list[tuple[str, str | None, Answer]]
    )
    """Which change was asked for, with which move, and what was answered."""
    doubts: list[tuple[str, str | None]] = field(default_factory=list[tuple[str, str | None]])
    """The same for calls of which nobody knows whether they were carried out, or will be."""


@dataclass(slots=True)
class Truth:
    """What the server has of a session."""

    views: list[Json] = field(default_factory=list[Json])
    """The view at each `seq`, made from the first one by patches."""
    events: list[Json] = field(default_factory=list[Json])

    @classmethod
    async def read(cls, peer: Peer, session: str) -> "Truth":
        """Read all, by way of a connection that acts for whoever may see it.

        Raises:
            Violation: it contradicts itself.
        """
        truth = cls([await peer.call("session.get", session=session, seq=0)])
        more = True
        while more:
            page = await peer.call("session.subscribe", session=session, since=len(truth.events))
            truth.events += page["events"]
            more = page["more"]
        await peer.call("session.unsubscribe", session=session)
        for seq, event in enumerate(truth.events, 1):
            hold(event["seq"] == seq, "the server has a gap:", session, event)
            truth.views.append(patched(truth.views[-1], event["patch"]))
            hold(truth.views[-1]["check"] == event["check"], "a patch leads astray:", session, event)
        record = await peer.call("session.record", session=session)
        told = [(event["seq"], event["kind"], event["move"]) for event in truth.events]
        kept = [(event["seq"], event["kind"], event["move"]) for event in record["events"]]
        hold(told == kept, "the record tells another story:", session)
        return truth

    async def hold_notes(self, notes: Notes) -> None:
        """Check that all that a client has seen was so.

        Raises:
            Violation: it was not.
        """
        session = notes.session.id
        for view in notes.views:
            seq: int = view["seq"]
            hold(seq < len(self.views), "a view of what never was:", session, seq)
            hold(timeless(view) == timeless(self.views[seq]), "a wrong view:", session, view)
        seqs = [event.seq for event in notes.events]
        hold(seqs == list(range(notes.start + 1, notes.start + 1 + len(seqs))), "a gap:", session, seqs)
        for event in notes.events:
            self._hold_event(event)
        hold(await notes.watched() == notes.events, "events were watched otherwise:", session)

    def _hold_event(self, event: Event) -> None:
        made: dict[str, Any] = self.events[event.seq - 1]
        same = (event.kind, event.check, list(event.patch)) == (made["kind"], made["check"], made["patch"])
        hold(same, "an event that was another:", event, made)
        # The answer to one's own change tells no times, nor what an undo took back.
        own = event.at is None
        hold(event.move == made["move"] or (own and event.kind == "undo"), "another move:", event, made)
        times = (event.at, event.elapsed_ms)
        hold(own or times == (made["at"], made["elapsed_ms"]), "another time:", event, made)

    def hold_doings(self, doings: Doings) -> None:
        """Check that each answered change is there, once and as answered, and nothing that was not asked for.

        Raises:
            Violation: it is not so.
        """
        unasked = dict(enumerate(self.events, 1))
        for kind, move, answer in doings.answers:
            made = unasked.pop(answer.seq, None)
            # A resignation that is asked for again gives the same answer.
            if made is None and kind == "resign" and answer.seq <= len(self.events):
                made = self.events[answer.seq - 1]
            hold(made is not None, "answered, and lost or answered twice:", kind, move, answer)
            assert made is not None
            same = (made["kind"], made["check"], made["patch"]) == (kind, answer.check, list(answer.patch))
            hold(same and (kind == "undo" or made["move"] == move), "not as answered:", answer, made)
        doubts = [(kind, None if kind == "undo" else move) for kind, move in doings.doubts]
        for made in unasked.values():
            doubt = made["kind"], None if made["kind"] == "undo" else made["move"]
            hold(doubt in doubts, "made without being asked for:", made, doings.doubts)
            doubts.remove(doubt)
