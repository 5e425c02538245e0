"""Somebody at the table who remembers which backs have been seen from the front."""

from collections.abc import Iterable
from random import Random

from engine.effects import Flip, Record, Shift
from engine.play import Play


class Witness:
    """For every face-down card, whether its name has been seen since the witness came.

    It is told records only, as anybody at the table is.
    """

    def __init__(self, play: Play) -> None:
        """Begin to watch: what lies face down now has not been seen."""
        self.seen: list[list[bool]] = [[False] * down for down in play.table.down]

    def watch(self, records: Iterable[Record]) -> None:
        """Keep track of the backs through a change."""
        for record in records:
            effect = record.effect
            if isinstance(effect, Shift) and not record.cards:
                packet = self._take(effect.src, effect.n)
                self.seen[effect.dst] += packet
            elif isinstance(effect, Flip):
                if record.cards:
                    self._take(effect.src, effect.n)
                else:
                    self.seen[effect.dst] += [True] * effect.n

    def _take(self, pile: int, n: int) -> list[bool]:
        backs = self.seen[pile]
        packet = backs[len(backs) - n :]
        del backs[len(backs) - n :]
        return packet

    def unseen(self) -> list[int]:
        """Return the places of the cards that nobody has seen, counted as `Backs.permute` does."""
        flat = [seen for backs in self.seen for seen in backs]
        return [place for place, seen in enumerate(flat) if not seen]

    def shuffled(self, random: Random) -> list[int]:
        """Return a permutation of the face-down cards that moves only those that nobody has seen."""
        order = list(range(sum(map(len, self.seen))))
        places = self.unseen()
        for place, other in zip(places, random.sample(places, len(places)), strict=True):
            order[place] = other
        return order
