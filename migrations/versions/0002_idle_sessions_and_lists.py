"""Find idle sessions, and the few among a player's many.

Revision 0002, after 0001.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

OLD = "sessions_player_id_idx"
NEWEST = sa.text("id DESC NULLS LAST")


def upgrade() -> None:
    # Whatever a run has done that did not come to its end is found done, or half done and done again.
    op.add_column(
        "sessions", sa.Column("looked_at", sa.DateTime(timezone=True), nullable=True), if_not_exists=True
    )
    drop_new()
    with op.get_context().autocommit_block():
        op.create_index(
            "sessions_looked_at_idx",
            "sessions",
            [sa.text("coalesce(looked_at, created_at)")],
            postgresql_where=sa.text("status = 'playing' AND mode = 'casual'"),
            postgresql_concurrently=True,
        )
        op.create_index("sessions_newest_idx", "sessions", ["player", NEWEST], postgresql_concurrently=True)
        op.create_index(
            "sessions_newest_of_kind_idx",
            "sessions",
            ["player", "status", "mode", NEWEST],
            postgresql_concurrently=True,
        )
        op.create_index(
            "sessions_newest_of_game_idx",
            "sessions",
            ["player", "game", "status", "mode", NEWEST],
            postgresql_concurrently=True,
        )
        # The version before finds a player's sessions by the new one too, and sorts them.
        op.drop_index(op.f(OLD), "sessions", if_exists=True, postgresql_concurrently=True)


def downgrade() -> None:
    with op.get_context().autocommit_block():
        op.drop_index(op.f(OLD), "sessions", if_exists=True, postgresql_concurrently=True)
        op.create_index(op.f(OLD), "sessions", ["player", "id"], postgresql_concurrently=True)
    drop_new()
    op.drop_column("sessions", "looked_at", if_exists=True)


def drop_new() -> None:
    with op.get_context().autocommit_block():
        for name in (
            "sessions_newest_of_game_idx",
            "sessions_newest_of_kind_idx",
            "sessions_newest_idx",
            "sessions_looked_at_idx",
        ):
            op.drop_index(name, "sessions", if_exists=True, postgresql_concurrently=True)
