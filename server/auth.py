"""Players' tokens: how a call comes to act for somebody."""

import re
import secrets
from collections import deque
from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from uuid import UUID
from weakref import WeakValueDictionary

from server.clock import Clock
from server.ids import new_id
from server.rpc.errors import Unavailable
from server.store.database import Database
from server.store.errors import StoreUnavailable
from server.store.players import Player, insert_player
from server.store.tokens import Token, insert_token, revoke_token, use_token

SCOPES: Final = frozenset({"read", "play", "account"})
_REVOKED: Final = 10_000
_PREFIX: Final = "pa_"
_TOKEN: Final = re.compile(r"pa_[A-Za-z0-9_-]{43}", re.ASCII)
_ADJECTIVES: Final = (
    "Calm",
    "Early",
    "Fair",
    "Gentle",
    "Idle",
    "Keen",
    "Late",
    "Merry",
    "Patient",
    "Quiet",
    "Sly",
)
_NOUNS: Final = (
    "Ace",
    "Badger",
    "Dealer",
    "Fox",
    "Heron",
    "Jack",
    "King",
    "Owl",
    "Queen",
    "Sparrow",
    "Tortoise",
)


@dataclass(slots=True, eq=False, weakref_slot=True)
class Caller:
    """Whom a call acts for, and by which token. All connections that act by a token share one."""

    player: Player
    token: UUID
    scopes: frozenset[str]
    revoked: bool = False
    """Whether the token is good no longer."""

    @property
    def key(self) -> UUID:
        """What tells the player from all others."""
        return self.player.id


def _digest(text: str) -> bytes:
    """Return what is stored of a token."""
    return sha256(text.encode("ascii")).digest()


class Auth:
    """Gives tokens out, and knows them again."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """Keep tokens in ``database``, as hashes alone."""
        self._database = database
        self._clock = clock
        self._callers: WeakValueDictionary[UUID, Caller] = WeakValueDictionary()
        # A token may be revoked while it is being looked up; no look-up lasts longer than so many logouts.
        self._revoked: deque[UUID] = deque(maxlen=_REVOKED)

    async def guest(self, name: str | None) -> tuple[str, Player]:
        """Make a guest and return a token's text, which is not kept, with the player."""
        now = self._clock.now()
        player = Player(new_id(), name or _guest_name(), "guest", now)
        text = _PREFIX + secrets.token_urlsafe(32)
        token = Token(new_id(), player.id, "guest", SCOPES, now, None)
        async with self._database.writing() as db:
            await insert_player(db, player)
            await insert_token(db, token, _digest(text))
        return text, player

    async def find(self, text: str) -> Caller | None:
        """Return whom a token acts for; None if it is unknown, malformed, expired or revoked.

        Raises:
            Unavailable: the store is away.
        """
        if not _TOKEN.fullmatch(text):
            return None
        try:
            async with self._database.reading() as db:
                found = await use_token(db, _digest(text), self._clock.now())
        except StoreUnavailable:
            raise Unavailable from None
        if found is None:
            return None
        token, player = found
        # Whoever may play may also read.
        scopes = token.scopes | {"read"} if "play" in token.scopes else token.scopes
        if token.id in self._revoked:
            return None
        return self._callers.setdefault(token.id, Caller(player, token.id, scopes))

    async def revoke(self, caller: Caller) -> None:
        """Revoke the token that somebody calls with."""
        async with self._database.writing() as db:
            await revoke_token(db, caller.player.id, caller.token, self._clock.now())
        self._revoked.append(caller.token)
        caller.revoked = True


def _guest_name() -> str:
    """Find a name for somebody who gave none."""
    return f"{secrets.choice(_ADJECTIVES)} {secrets.choice(_NOUNS)} {secrets.randbelow(1000)}"
