"""What happens under load, counted: everything from the beginning, and apart from it what is measured."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from tests.bench.spread import Spread


@dataclass(slots=True)
class Tally:
    """Counts of one run. What is measured counts only while `measuring`, which leaves warming up out."""

    measuring: bool = False
    sent: Counter[str] = field(default_factory=Counter[str])
    """Calls that were sent, by method, from the beginning to the end."""

    answered: Counter[str] = field(default_factory=Counter[str])
    """Those of them that were answered with a result."""

    results: dict[str, Spread] = field(default_factory=lambda: defaultdict[str, Spread](Spread))
    """How long calls took, by method, that were answered with a result."""

    errors: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """Calls that got no result, by method and kind; the method of what was no call is empty."""

    kinds: Counter[str] = field(default_factory=Counter[str])
    """The same by kind alone, and closed connections by their code, from the beginning to the end."""

    waited: float = 0.0
    """Seconds that players waited because they were told `rate_limited`."""

    reconnects: Counter[str] = field(default_factory=Counter[str])
    """Connections that were lost, by close code, and by `dropped` those that were cut on purpose."""

    events: Spread = field(default_factory=Spread)
    """From a player's call to its event at each watcher, where that can be told."""

    heard: int = 0
    """Events that watchers were told of as they happened."""

    ended: Counter[str] = field(default_factory=Counter[str])
    """Sessions that ended, by status."""

    def result(self, method: str, seconds: float) -> None:
        """Count a call that was answered with a result."""
        self.answered[method] += 1
        if self.measuring:
            self.results[method].add(seconds)

    def error(self, method: str, kind: str) -> None:
        """Count a call that got no result, or a connection that could not be had."""
        self.kinds[kind] += 1
        if self.measuring:
            self.errors[method, kind] += 1

    def wait(self, seconds: float) -> None:
        """Count a wait that the server asked for."""
        if self.measuring:
            self.waited += seconds

    def reconnect(self, code: str) -> None:
        """Count a connection that was lost."""
        self.kinds[f"closed with {code}" if code != "dropped" else code] += 1
        if self.measuring:
            self.reconnects[code] += 1

    def event(self, seconds: float | None) -> None:
        """Count an event that a watcher was told of; None where nobody knows how long that took."""
        if self.measuring:
            self.heard += 1
            if seconds is not None:
                self.events.add(seconds)

    def end(self, status: str) -> None:
        """Count a session that has ended."""
        if self.measuring:
            self.ended[status] += 1
