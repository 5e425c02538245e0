"""One attempt at one deal."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from engine.cards import Card
from engine.check import Check
from engine.effects import Effect, Record, Set
from engine.errors import IllegalMove, NothingToUndo, PlayOver
from engine.game import Game
from engine.refusal import refusal
from engine.sources import Takers
from engine.table import Backs, Table

Status: TypeAlias = Literal["playing", "won", "lost", "resigned", "expired"]


class Played(NamedTuple):
    """A move in effect, and what it did."""

    move: str
    effects: list[Effect]


class Play:
    """One attempt at one deal: what lies where, what may be done, and what has been done.

    Every change is an event and raises `seq` by one. `push` and `pop` return what was seen of the
    change, for `patch`. Whatever is refused raises and changes nothing.
    """

    __slots__ = (
        "_backs", "_check", "_effects", "_records", "_takers",
        "done", "game", "legal", "score", "seq", "status", "table", "undos",
    )  # fmt: skip

    game: Game
    table: Table
    legal: list[str]
    """Every legal move in ASCII order; empty unless the attempt goes on. Not to be changed."""

    status: Status
    score: int
    seq: int
    """How many events there have been."""

    undos: int
    done: list[Played]
    """The moves in effect, the last one last."""

    def __init__(self, game: Game, deck: Sequence[Card]) -> None:
        """Deal a shuffled deck.

        Args:
            game: the rules.
            deck: all cards of the game's decks, the first to be dealt first.
        """
        table = Table(game.layout, game.variables())
        off = game.layout.off
        backs = Backs(off + 1)
        backs.lay(off, reversed(deck))
        table.down[off] = len(deck)
        self._start(game, table, backs)
        game.deal(table, self._act)
        self._look()

    @classmethod
    def at(cls, game: Game, table: Table, hidden: Sequence[Card]) -> "Play":
        """Take up a position as if it had been dealt so.

        Args:
            game: the rules.
            table: the position; it becomes the play's own.
            hidden: the names of its face-down cards, pile by pile from the bottom.
        """
        play = cls.__new__(cls)
        backs = Backs(game.layout.off + 1)
        names = iter(hidden)
        for pile, down in enumerate(table.down):
            backs.lay(pile, [next(names) for _ in range(down)])
        for key, value in game.variables().items():
            table.vars.setdefault(key, value)
        play._start(game, table, backs)
        play._look()
        return play

    def _start(self, game: Game, table: Table, backs: Backs) -> None:
        self.game, self.table, self._backs = game, table, backs
        self.seq = self.undos = 0
        self.done = []
        self._effects: list[Effect] = []
        self._records: list[Record] = []

    def _look(self) -> None:
        """Look at the whole table anew."""
        self._takers = Takers(self.game, self.table)
        self._check = Check(self.table)
        self._judge()

    @property
    def moves(self) -> int:
        """How many moves are in effect."""
        return len(self.done)

    @property
    def phase(self) -> str:
        """The name of the game's phase."""
        return self.game.phase(self.table)

    @property
    def state(self) -> dict[str, object]:
        """What else a player may know and the piles don't show."""
        return self.game.state(self.table)

    def check(self) -> str:
        """Return the checksum of the table."""
        return self._check.value()

    def push(self, move: str) -> list[Record]:
        """Make a move.

        Raises:
            PlayOver: the attempt has ended.
            IllegalMove: the rules don't allow it.
        """
        if move not in self.legal:
            if self.status != "playing":
                raise PlayOver(self.status)
            raise IllegalMove(move, refusal(self.game, self.table, move))
        self._effects, self._records = effects, records = [], []
        game, table = self.game, self.table
        game.play(game.step(move), table, self._act)
        self.done.append(Played(move, effects))
        self._follow(effects)
        return records

    def pop(self) -> tuple[str, list[Record]]:
        """Take the last move in effect back and return it too. A lost attempt goes on with that.

        Raises:
            PlayOver: the attempt has ended otherwise than lost.
            NothingToUndo: no move is in effect.
        """
        if self.status not in {"playing", "lost"}:
            raise PlayOver(self.status)
        if not self.done:
            raise NothingToUndo("there is no move to take back")
        move, effects = self.done.pop()
        self._effects, self._records = undone, records = [], []
        for effect in reversed(effects):
            self._act(effect.inverse())
        self.undos += 1
        self._follow(undone)
        return move, records

    def end(self, status: Literal["resigned", "expired"]) -> None:
        """End the attempt from outside; no card changes.

        Raises:
            PlayOver: it has ended already.
        """
        if self.status != "playing":
            raise PlayOver(self.status)
        self.status = status
        self.legal = []
        self.seq += 1

    def reveal(self) -> None:
        """Count the event that makes the seed known; nothing on the table changes."""
        self.seq += 1

    def _act(self, effect: Effect) -> None:
        """Carry one effect out and note it."""
        self._effects.append(effect)
        self._records.append(effect.apply(self.table, self._backs))

    def _follow(self, effects: list[Effect]) -> None:
        """Bring up to date what depends on the piles that were touched, and judge the position."""
        touched: set[int] = set()
        for effect in effects:
            if isinstance(effect, Set):
                if effect.key in self.game.wants_read:
                    touched.update(range(self.game.layout.off))
            else:
                touched.add(effect.src)
                touched.add(effect.dst)
        touched.discard(self.game.layout.off)
        self._takers.update(touched)
        self._check.update(touched)
        self.seq += 1
        self._judge()

    def _judge(self) -> None:
        """Find the score, the legal moves, and whether it is won or lost."""
        game, table = self.game, self.table
        self.score = game.score(table)
        if game.won(table):
            self.status, self.legal = "won", []
            return
        legal = game.extra(table)
        legal += game.sources.find(table, self._takers, game.lift(table))
        legal.sort()
        self.legal = legal
        self.status = "playing" if legal else "lost"
