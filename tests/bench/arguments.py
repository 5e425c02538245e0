"""The arguments of the load command."""

import argparse
from pathlib import Path


def arguments(words: str) -> argparse.Namespace:
    """Read the command line; `words` describe the command."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.load",
        description=words,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("urls", metavar="URL", nargs="+", help="ws:// or wss:// address; several for processes of one arena")
    add("-n", "--players", type=count, default=10, metavar="PLAYERS", help="how many play (10)")
    add("--seconds", type=positive, default=10.0, metavar="S", help="how long is measured (10)")
    add("--warm", type=seconds, default=2.0, metavar="S", help="how long is played before that (2)")
    add("--rate", type=positive, metavar="MOVES", help="moves a second in all (as many as can be)")
    add("--watchers", type=natural, default=0, metavar="W", help="how many watch a player each (0)")
    add("--games", metavar="GAMES", help="what is played, with commas between (all that the server has)")
    add("--undo", type=share, default=0.05, metavar="SHARE", help="share of undos, 0 to 1 (0.05)")
    add("--churn", type=share, default=0.0, metavar="SHARE", help="share of moves that cut a connection (0)")
    add("--check", type=share, default=0.1, metavar="SHARE", help="share of players to be checked (0.1)")
    add("--json", type=Path, metavar="FILE", help="write the report as JSON too; - prints it instead")
    add(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="tokens to play by, one a line; those of guests that are made are added, for the next time",
    )
    return parser.parse_args()


def natural(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("give 0 or more")
    return number


def count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("give 1 or more")
    return number


def seconds(text: str) -> float:
    number = float(text)
    if not 0 <= number < 1e9:
        raise argparse.ArgumentTypeError("give 0 or more")
    return number


def positive(text: str) -> float:
    number = float(text)
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError("give a number above 0")
    return number


def share(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError("give a share from 0 to 1")
    return number
