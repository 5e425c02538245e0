"""`python -m server` is `patience`."""

from server.cli import main

main()
