"""What a move costs in the engine, by game: push with all legal moves and the check, then the whole answer.

    python -m tests.bench.engine [--rounds 7]

Each game plays the same random playouts in every round; the medians over the rounds are printed, in
microseconds of CPU a move. The parts are measured by doing each once more on its own, so they add up to the
whole only roughly; "the rest" is what they leave: effects, what settles by itself, the journal.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable

from engine import Play, head, make_game, patch, shuffle

_GAMES: tuple[tuple[str, dict[str, object]], ...] = (
    ("klondike", {}),
    ("klondike", {"draw": 3, "passes": 0, "worry_back": True}),
    ("casket", {}),
    ("plot", {}),
    ("stalactites", {}),
    ("camelot", {}),
)
_PLAYOUTS = 40
_LONGEST = 200
_PARTS = ("search", "check", "head", "patch", "encode")


def playout(name: str, options: dict[str, object], seed: str) -> list[str]:
    """Return the moves of one random playout."""
    game = make_game(name, options)
    play = Play(game, shuffle(seed, game.decks))
    chance = random.Random(seed)
    moves: list[str] = []
    while play.legal and len(moves) < _LONGEST:
        moves.append(chance.choice(play.legal))
        play.push(moves[-1])
    return moves


def bare(play: Play, moves: list[str]) -> None:
    """Push, with the legal moves and the check."""
    for move in moves:
        play.push(move)
        play.check()


def answer(play: Play, operations: str, check: str) -> str:
    """Encode the answer to a move, as the server does."""
    return f'{{"seq":{play.seq},"patch":{operations},"check":"{check}","status":"{play.status}"}}'


def whole(play: Play, moves: list[str]) -> None:
    """Push, make the patch and encode the answer."""
    layout, before = play.game.layout, head(play)
    for move in moves:
        records = play.push(move)
        after = head(play)
        operations = patch(layout, records, before, after)
        answer(play, operations, after["check"])
        before = after


def parts(play: Play, moves: list[str], spent: dict[str, float]) -> None:
    """Do everything once more, part by part, and add up what each takes in seconds."""
    clock = time.perf_counter
    game, table, before = play.game, play.table, head(play)
    for move in moves:
        records = play.push(move)
        t0 = clock()
        legal = game.extra(table)
        legal += game.sources.find(table, play._takers, game.lift(table))  # pyright: ignore[reportPrivateUsage]  A part is what is measured.
        legal.sort()
        t1 = clock()
        play.check()
        t2 = clock()
        after = head(play)
        t3 = clock()
        operations = patch(game.layout, records, before, after)
        t4 = clock()
        answer(play, operations, after["check"])
        t5 = clock()
        for part, took in zip(_PARTS, (t1 - t0, t2 - t1, t3 - t2 - (t2 - t1), t4 - t3, t5 - t4), strict=True):
            spent[part] += took
        before = after


def timed(work: Callable[[Play, list[str]], None], plays: list[tuple[Play, list[str]]], moves: int) -> float:
    """Return the microseconds of CPU a move."""
    started = time.process_time()
    for play, script in plays:
        work(play, script)
    return 1e6 * (time.process_time() - started) / moves


def main() -> None:
    """Measure every game and print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=7)
    rounds = arguments.parse_args().rounds
    print("| game | moves | push + legal + check | all | the rest | " + " | ".join(_PARTS) + " |")
    print("| --- " * (5 + len(_PARTS)) + "|")
    for name, options in _GAMES:
        game = make_game(name, options)
        scripts = [(str(i), playout(name, options, str(i))) for i in range(_PLAYOUTS)]
        moves = sum(len(script) for _, script in scripts)

        def deal() -> list[tuple[Play, list[str]]]:
            return [(Play(game, shuffle(seed, game.decks)), script) for seed, script in scripts]  # noqa: B023

        first = statistics.median(timed(bare, deal(), moves) for _ in range(rounds))
        everything = statistics.median(timed(whole, deal(), moves) for _ in range(rounds))
        spent: dict[str, float] = dict.fromkeys(_PARTS, 0.0)
        for _ in range(rounds):
            for play, script in deal():
                parts(play, script, spent)
        shares = {part: 1e6 * took / moves / rounds for part, took in spent.items()}
        rest = everything - sum(shares.values())
        cells = " | ".join(f"{shares[part]:.1f}" for part in _PARTS)
        label = f"{name} {game.variant}"
        print(f"| {label} | {moves} | {first:.1f} | {everything:.1f} | {rest:.1f} | {cells} |")


if __name__ == "__main__":
    main()
