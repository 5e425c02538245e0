"""Sessions: making them and playing them. Transport, params and scopes are not looked at here."""

import secrets
from collections.abc import Coroutine
from typing import cast

import msgspec
from msgspec import Raw

from engine import (
    EventKind,
    Game,
    IllegalMove,
    NothingToUndo,
    PlayOver,
    check_seed,
    commitment,
)
from server.auth import Caller
from server.clock import Clock
from server.ids import new_id
from server.live import LiveSessions
from server.quotas import Quotas
from server.reading import read_events
from server.rpc import errors
from server.rpc.call import Call
from server.rpc.errors import (
    Conflict,
    Forbidden,
    NotAllowed,
    RateLimited,
    SessionOver,
    StaleSeq,
    Unauthenticated,
)
from server.store.database import Database
from server.store.players import Player
from server.store.sessions import Session, find_request, insert_casual_session
from server.storing import storing
from server.timeline import Timeline, wire_player
from server.turns import Live, Place


class _Behind(Exception):
    """What is in memory may be behind the store, and the answer depends on it."""


class _Answered(Exception):
    """The call was carried out before, as the event of this number."""

    def __init__(self, seq: int) -> None:
        super().__init__(seq)
        self.seq = seq


# It leads to its call, which does not lead back.
class Act(msgspec.Struct, frozen=True, gc=False):
    """A call that changes a session."""

    call: Call
    kind: EventKind
    move: str | None
    seq: int | None
    """What the player saw; None where it does not matter."""


class Sessions:
    """Makes sessions and carries them forward."""

    def __init__(
        self, database: Database, live: LiveSessions, clock: Clock, quotas: Quotas, most_open: int
    ) -> None:
        """Keep sessions in ``database``, the busy ones in memory.

        How fast they are made is counted in ``quotas``; a player has ``most_open`` casual ones going on.
        """
        self._database = database
        self._live = live
        self._clock = clock
        self._quotas = quotas
        self._most_open = most_open

    async def create(
        self,
        player: Player,
        game: Game,
        *,
        seed: str | None,
        public: bool,
        request_id: str | None,
        address: str,
    ) -> Raw:
        """Deal a new session and return its view; the first one's again for a `request_id` that is known.

        Raises:
            SeedError: ``seed`` is none.
            RateLimited: the player, or somebody at ``address``, has made too many lately.
            NotAllowed: the player has too many going on.
            StoreUnavailable: the store is away; with a `request_id` the call may be made again.
        """
        drawn = seed is None
        seed = secrets.token_hex(16) if seed is None else check_seed(seed)
        try:
            await self._quotas.session(player.id, address)
        except RateLimited:
            async with self._database.reading() as db:
                known = await find_request(db, player.id, request_id)
            if known is None:
                raise
            return Timeline(known, wire_player(player)).view(0)
        row = Session(
            id=new_id(),
            player=player.id,
            game=game.name,
            rules=game.rules,
            variant=game.variant,
            options=dict(game.options),
            mode="casual",
            public=public,
            seed=seed,
            drawn=drawn,
            commitment=commitment(seed),
            request_id=request_id,
            created_at=self._clock.now(),
        )
        timeline = Timeline(row, wire_player(player))
        row = row._replace(score=timeline.play.score)
        async with self._database.writing() as db:
            inserted = await insert_casual_session(db, row, self._most_open)
        if inserted is None:
            raise NotAllowed(f"You have {self._most_open} sessions going on; finish or resign some first.")
        stored, new = inserted
        if not new:
            return Timeline(stored, wire_player(player)).view(0)
        self._live.add(timeline)
        return timeline.view(0)

    def act(self, text: str, act: Act) -> None:
        """Carry out a move, an undo or a resignation, and answer its call with what it changed.

        Calls for one session are judged in the order of the calls of this. The usual case, a session in
        memory that nobody is busy with, takes no task.

        Raises:
            RpcError: it is refused; the call is not answered then.
        """
        live = self._live.idle(text)
        if live is None:
            self._later(text, act)
            return
        try:
            self._judge(live, act, fresh=False)
        except (_Behind, _Answered) as need:
            self._live.spawn(self._answer(act, self._look_up(live, act, need)))

    def _later(self, text: str, act: Act) -> None:
        """Take a place in the session's queue for a call."""
        self._live.spawn(self._answer(act, self._judge_in_turn(self._live.queue(text), act)))

    async def _answer(self, act: Act, work: Coroutine[object, object, None]) -> None:
        """Do what answers a call, and answer it if that fails."""
        try:
            with storing():
                await work
        except Exception as error:  # noqa: BLE001  The outermost boundary of the task: the call is answered.
            act.call.fail(error)

    async def _judge_in_turn(self, place: Place, act: Act) -> None:
        """Judge a call when its turn has come."""
        live = await self._live.enter(place)
        try:
            self._judge(live, act, fresh=False)
        except (_Behind, _Answered) as need:
            await self._look_up(live, act, need)

    async def _look_up(self, live: Live, act: Act, need: "_Behind | _Answered") -> None:
        """Judge a call with the store's help, the session being held all the while: nothing overtakes it."""
        if isinstance(need, _Behind):
            await self._live.refresh(live)
            try:
                self._judge(live, act, fresh=True)
            except _Answered as answered:
                need = answered
            else:
                return
        try:
            timeline = live.timeline
            [happened] = await read_events(self._database, timeline.row, timeline.player, need.seq - 1, 1)
            act.call.answer_json(happened.change())
        finally:
            live.leave()

    def _judge(self, live: Live, act: Act, *, fresh: bool) -> None:
        """Judge a call on a session that is held, and let go of it unless the store's help is needed.

        Args:
            live: the session.
            act: the call.
            fresh: whether the store has just been asked what other processes have made of it.

        Raises:
            RpcError: it is refused.
            _Behind: it would be refused, but memory may be behind the store; the session is still held.
            _Answered: it was carried out before the last event, so the answer has to be read; likewise.
        """
        call, kind, move = act.call, act.kind, act.move
        timeline = live.timeline
        kept = False
        try:
            caller = cast("Caller", call.caller)
            if caller.revoked:
                raise Unauthenticated
            if caller.player.id.int != timeline.row.player.int:
                raise Forbidden("This session is somebody else's; only its player may play it.")
            if "play" not in caller.scopes:
                raise Forbidden("This token lacks the scope play; use one that has it.")
            again = self._done_before(timeline, act)
            if again is not None:
                if live.last is None or live.last.seq != again:
                    kept = True
                    raise _Answered(again)
                call.answer_json(live.last.change())
                return
            refusal = self._refuse(timeline, act)
            if refusal is not None:
                kept = not fresh
                raise refusal if fresh else _Behind
            if kind == "undo":
                move = timeline.last_move
            self._live.make(live, kind, move, call, lambda: self._later(live.text, act))
            kept = True
        except IllegalMove as error:
            kept = not fresh
            raise errors.IllegalMove(error.reason, timeline.seq) if fresh else _Behind from None
        except NothingToUndo:
            kept = not fresh
            nothing = Conflict("No move is in effect, so there is nothing to undo.")
            raise nothing if fresh else _Behind from None
        except PlayOver as error:
            raise SessionOver(error.status) from None
        finally:
            if not kept:
                live.leave()

    @staticmethod
    def _done_before(timeline: Timeline, act: Act) -> int | None:
        """Return the number of the event by which this very call was carried out before, None if by none."""
        history = timeline.history
        if act.kind == "resign":
            return timeline.resigned_at
        if act.seq is None or act.seq >= len(history):
            return None
        kind, move, _ = history[act.seq]
        if kind == act.kind and (kind == "undo" or move == act.move):
            return act.seq + 1
        return None

    @staticmethod
    def _refuse(timeline: Timeline, act: Act) -> errors.RpcError | None:
        """Return why a call is refused whatever the rules say of the move; None if it is not."""
        status = timeline.play.status
        if act.kind == "undo" and timeline.row.mode != "casual":
            return NotAllowed("There is no undo in a daily or a race.")
        if act.kind != "resign" and timeline.full:
            return NotAllowed("This session takes no more moves; it can only be resigned.")
        if status != "playing" and not (act.kind == "undo" and status == "lost"):
            return SessionOver(status)
        if act.seq is not None and act.seq != timeline.seq:
            return StaleSeq(timeline.seq)
        return None
