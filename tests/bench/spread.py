"""How durations are spread, in memory that does not grow with their number."""

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

_STEPS: Final = 100
"""Classes for each factor of e: a quantile is wrong by half a percent at most."""

_SHORTEST: Final = 1e-7


@dataclass(slots=True)
class Spread:
    """Durations in seconds, counted in classes that are one percent wide."""

    count: int = 0
    longest: float = 0.0
    _classes: Counter[int] = field(default_factory=Counter[int])

    def add(self, seconds: float) -> None:
        """Count one duration."""
        self.count += 1
        if seconds > self.longest:
            self.longest = seconds
        self._classes[round(math.log(max(seconds, _SHORTEST)) * _STEPS)] += 1

    def quantile(self, share: float) -> float:
        """Return the duration that this share of all does not exceed; 0 if there are none."""
        left = math.ceil(share * self.count)
        for number in sorted(self._classes):
            left -= self._classes[number]
            if left <= 0:
                return min(self.longest, math.exp(number / _STEPS))
        return self.longest
