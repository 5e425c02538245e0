"""How long things may take that have to do with workers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things may take, in seconds."""

    notice: float
    """Until the workers have let it be known that the port will be closed."""
    stop: float
    """Until a worker that drains is killed."""
    start: float
    """Until a new worker must be ready."""
    first_pause: float = 0.1
    longest_pause: float = 10.0
    """Before a worker that keeps ending is started again; living longer makes it well."""
    checks: float = 5.0
    """Between two questions whether a worker is well."""
    answer: float = 10.0
    """Until that must be answered."""
    misses: int = 3
    """How many times in a row it may go without an answer; then it is killed."""
