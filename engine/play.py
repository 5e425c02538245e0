"""One attempt at one deal."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Self, TypeAlias

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
        "_backs", "_check", "_effects", "_records", "_takers", "_unseen",
        "done", "game", "legal", "revealed", "score", "seq", "status", "table", "undos",
    )  # fmt: skip

    game: Game
    table: Table
    legal: list[str]
    """Every legal move in ASCII order; empty unless the attempt goes on. Not to be changed."""

    status: Status
    score: int
    seq: int
    """How many events there have been."""

    revealed: bool
    """Whether an event has made the seed known."""

    undos: int
    done: list[Played]
    """The moves in effect, the last one last."""

    def __init__(self, game: Game, cards: Sequence[Card], table: Table | None = None) -> None:
        """Deal a shuffled deck, or take up a position as if it had been dealt so.

        Args:
            game: the rules.
            cards: all cards of the game's decks, the first to be dealt first; of a position the names of
                its face-down cards, pile by pile from the bottom.
            table: the position, which becomes the play's own; None to deal.

        Raises:
            ValueError: there are more or fewer names than cards that lie face down.
        """
        self.game = game
        self.seq = self.undos = 0
        self.revealed = False
        self.done = []
        self._effects: list[Effect] = []
        self._records: list[Record] = []
        self._unseen: list[Effect] = []
        self._backs = Backs(game.layout.off + 1)
        if table is None:
            self.table = Table(game.layout, game.variables())
            self.table.down[game.layout.off] = len(cards)
            self._backs.lay(game.layout.off, reversed(cards))
            game.deal(self.table, self._act)
        else:
            self.table = table
            if len(cards) != sum(table.down):
                raise ValueError(f"{sum(table.down)} cards lie face down, and {len(cards)} are named")
            names = iter(cards)
            for pile, down in enumerate(table.down):
                self._backs.lay(pile, [next(names) for _ in range(down)])
            for key, value in game.variables().items():
                table.vars.setdefault(key, value)
        self._takers = Takers(self.table, game.wants, game.sources.targets)
        self._check = Check(self.table)
        self._judge()

    @classmethod
    def at(cls, game: Game, table: Table, hidden: Sequence[Card]) -> Self:
        """Take up a position; ``hidden`` names its face-down cards, pile by pile from the bottom."""
        return cls(game, hidden, table)

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
        effects, records = self._note()
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
        undone, records = self._note()
        for effect in reversed(effects):
            self._act(effect.inverse())
        self.undos += 1
        self._follow(undone)
        return move, records

    def repeat(self, move: str | None) -> None:
        """Make a move that was made before in this very position, or with None take the last one back.

        That is several times as fast as `push` and `pop`: nothing is checked, and `legal`, `status`, `score`
        and `check` stay what they were until `look`, which must be called before anything else is done.
        """
        self._effects, self._records = [], []
        if move is None:
            for effect in reversed(self.done.pop().effects):
                self._act(effect.inverse())
            self.undos += 1
        else:
            game = self.game
            game.play(game.step(move), self.table, self._act)
            self.done.append(Played(move, self._effects))
        self._unseen += self._effects
        self.seq += 1

    def look(self) -> None:
        """Judge the position that `repeat` has led to."""
        if self._unseen:
            self._see(self._unseen)
            self._unseen = []

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
        self.revealed = True
        self.seq += 1

    def _note(self) -> tuple[list[Effect], list[Record]]:
        """Begin to note what is done, and what is seen of it."""
        self._effects, self._records = [], []
        return self._effects, self._records

    def _act(self, effect: Effect) -> None:
        """Carry one effect out and note it."""
        self._effects.append(effect)
        self._records.append(effect.apply(self.table, self._backs))

    def _follow(self, effects: list[Effect]) -> None:
        """Count an event, and judge the position that it has led to."""
        self.seq += 1
        self._see(effects)

    def _see(self, effects: list[Effect]) -> None:
        """Bring up to date what depends on the piles that were touched, and judge the position."""
        game = self.game
        touched: set[int] = set()
        for effect in effects:
            if isinstance(effect, Set):
                if effect.key in game.wants_read:
                    touched.update(range(game.layout.off))
            else:
                touched.add(effect.src)
                touched.add(effect.dst)
        touched.discard(game.layout.off)
        self._takers.update(touched)
        self._check.update(touched)
        self._judge()

    def _judge(self) -> None:
        """Find the score, the legal moves, and whether it is won or lost."""
        game, table = self.game, self.table
        self.score = score = game.score(table)
        if game.won(table, score):
            self.status, self.legal = "won", []
            return
        legal = game.extra(table)
        legal += game.sources.find(table, self._takers, game.lift(table))
        legal.sort()
        self.legal = legal
        self.status = "playing" if legal else "lost"
