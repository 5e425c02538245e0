"""The terminal that the server was started at, if any, which tells what a SIGHUP means."""

import os


class Terminal:
    """Remembers whether there was a terminal.

    A SIGHUP comes from somebody who wants a restart, or from the system because the terminal was closed. Who
    took the latter for the former would live on unseen.
    """

    def __init__(self) -> None:
        """Look which of the standard descriptors lead to a terminal."""
        self._had = [descriptor for descriptor in range(3) if os.isatty(descriptor)]

    @property
    def gone(self) -> bool:
        """Whether one that was there is there no more."""
        return not all(os.isatty(descriptor) for descriptor in self._had)
