from server.ids import new_id
from server.store.database import Database
from server.store.players import find_player
from tests.server.store.rows import add_player


async def test_a_player_is_found_as_it_was_added(database: Database) -> None:
    player = await add_player(database)
    async with database.reading() as db:
        assert await find_player(db, player.id) == player
        assert await find_player(db, new_id()) is None
