"""Why a move is illegal, found after it was refused, so that the search for moves need not know."""

from collections.abc import Sequence
from itertools import pairwise

from engine.building import Building
from engine.cards import Card
from engine.errors import Reason
from engine.game import Game
from engine.layout import PileIndex
from engine.moves import Move
from engine.table import Table


def refusal(game: Game, table: Table, text: str) -> Reason:
    """Return the reason for which a move is refused: the first that holds, in the order of `Reason`.

    That the move is illegal is not checked; of a legal one the answer means nothing.
    """
    move = _parse(game, text)
    if move is None:
        return "malformed"
    if move.form in {"draw", "redeal", "choose"}:
        if not _open(game, table, move):
            return "not_in_this_phase"
        return _no_draw(game, table) if move.form == "draw" else _no_redeal(game, table)
    by_name = game.layout.by_name
    a, b = by_name.get(move.a), by_name.get(move.b or move.a)
    if a is None or b is None:
        return "no_such_pile"
    if move.form == "pair" and a > b:
        return "malformed"
    if move.form in {"leave", "pair"}:
        return _no_leaving(game, table, move, a, b)
    return _no_way(game, table, a, b, move.n)


def _parse(game: Game, text: str) -> Move | None:
    """Read a move; None for what is no move, or of a form or a choice that the game never uses."""
    try:
        move = Move.parse(text)
    except ValueError:
        return None
    if move.form not in game.forms:
        return None
    if move.form == "choose" and (move.a, move.b) not in {(name, str(value)) for name, value in game.choices}:
        return None
    return move


def _open(game: Game, table: Table, move: Move) -> bool:
    """Tell whether this phase has moves of this form."""
    return game.phase(table) in game.forms[move.form]


def _no_draw(game: Game, table: Table) -> Reason:
    return "target_full" if table.count(game.stock) else "empty_source"


def _no_redeal(game: Game, table: Table) -> Reason:
    if not table.count(game.waste):
        return "empty_source"
    return "source_locked" if game.no_redeals_left(table) else "target_full"


def _no_leaving(game: Game, table: Table, move: Move, a: PileIndex, b: PileIndex) -> Reason:
    """Say why cards of these piles may not leave play."""
    piles = {a, b}
    if piles <= game.leavers and not _open(game, table, move):
        return "not_in_this_phase"
    if not all(table.count(pile) for pile in piles):
        return "empty_source"
    if not all(table.up[pile] for pile in piles):
        return "face_down"
    return "wrong_card" if piles <= game.leavers else "source_locked"


def _no_way(game: Game, table: Table, a: PileIndex, b: PileIndex, n: int) -> Reason:
    """Say why ``n`` cards of pile ``a`` may not go onto pile ``b``."""
    phase = game.phase(table)
    ways = game.sources.routes(a, b)
    if ways and not any(phase in way.phases for way in ways):
        return "not_in_this_phase"
    up, count = table.up[a], table.count(a)
    if not count:
        return "empty_source"
    if min(n, count) > len(up):
        return "face_down"
    if not game.sources.leads_out(a):
        return "source_locked"
    to_space = not table.count(b)
    if n > 1:
        runs = [way.run for way in ways or game.sources.leads_out(a) if way.run]
        if n > count or n > game.lift(table)[to_space] or not any(_packed(run, up[-n:]) for run in runs):
            return "not_a_run"
    ways = [way for way in ways if phase in way.phases and (way.spaces or not to_space)]
    if not ways:
        return "target_locked"
    if table.count(b) >= game.limits[b]:
        return "target_full"
    return "no_effect" if up[-n] in game.wants(table, b) else "wrong_card"


def _packed(run: Building, cards: Sequence[Card]) -> bool:
    """Tell whether cards lie packed by a rule, each on the one before."""
    return all(run.fits(under, card) for under, card in pairwise(cards))
