"""What is checked under load, and what did not hold."""

from dataclasses import dataclass, field
from typing import Final

_SHOWN: Final = 20
"""So many failures are kept in words; all are counted."""


@dataclass(slots=True)
class Checks:
    """Counts of what was looked at, from the beginning of a run to its end."""

    sessions: int = 0
    """Sessions whose patches were applied, for a player or a watcher."""

    changes: int = 0
    """Patches that were applied, each held against its `check`."""

    failed: int = 0
    failures: list[str] = field(default_factory=list[str])

    def fail(self, words: str) -> None:
        """Note a promise that does not hold."""
        self.failed += 1
        if len(self.failures) < _SHOWN:
            self.failures.append(words)

    def hold(self, promise: bool, words: str) -> bool:
        """Note a promise that does not hold, and tell whether it does."""
        if not promise:
            self.fail(words)
        return promise
