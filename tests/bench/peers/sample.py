"""What was measured of the peers, and the tables made of it."""

import statistics
from dataclasses import dataclass
from typing import Final

_MOST_FOREIGN: Final = 15
"""Percent of a core that other programs may take in a sample that counts."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One measurement of one server."""

    name: str
    sessions: int
    rate: float
    """Moves a second."""
    p50: float
    p99: float
    cpu: float
    """Microseconds of the server's CPU a move."""
    foreign: float
    """What other programs took, in percent of a core."""
    errors: int


@dataclass(frozen=True, slots=True)
class Median:
    """The medians of the samples of one server that count; of all where none does."""

    rate: float
    p50: float
    p99: float
    cpu: float
    clean: bool

    @classmethod
    def of(cls, samples: list[Sample]) -> "Median":
        """Take the medians."""
        clean = [sample for sample in samples if sample.foreign <= _MOST_FOREIGN]
        rate, p50, p99, cpu = (
            statistics.median(getattr(sample, part) for sample in clean or samples)
            for part in ("rate", "p50", "p99", "cpu")
        )
        return cls(rate, p50, p99, cpu, bool(clean))

    def __str__(self) -> str:
        return f"{self.rate:,.0f}{'' if self.clean else '*'}"


def print_tables(samples: list[Sample], ours: str) -> None:
    """Print rates with what ours is of each, then times and CPU."""
    names = list(dict.fromkeys(sample.name for sample in samples))
    sizes = list(dict.fromkeys(sample.sessions for sample in samples))
    medians = {
        (name, size): Median.of([one for one in samples if (one.name, one.sessions) == (name, size)])
        for name in names
        for size in sizes
    }
    others = [name for name in names if name != ours] if ours in names else []
    columns = [f"{name} moves/s" for name in names] + [f"{ours} / {name}" for name in others]
    print("| sessions | " + " | ".join(columns) + " |")
    print("| --- " * (len(columns) + 1) + "|")
    for size in sizes:
        cells = [str(medians[name, size]) for name in names]
        cells += [f"{medians[ours, size].rate / medians[name, size].rate:.2f}" for name in others]
        print(f"| {size} | " + " | ".join(cells) + " |")
    print()
    print("| sessions | " + " | ".join(f"{name} p50 / p99 ms, CPU us" for name in names) + " |")
    print("| --- " * (len(names) + 1) + "|")
    for size in sizes:
        row = [medians[name, size] for name in names]
        cells = [f"{one.p50:.2f} / {one.p99:.2f}, {one.cpu:.0f}" for one in row]
        print(f"| {size} | " + " | ".join(cells) + " |")
