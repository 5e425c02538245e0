"""Players, tokens, sessions, events.

Revision 0001, after nothing.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "players",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("players_pkey")),
        sa.CheckConstraint("kind IN ('guest', 'account', 'bot')", name=op.f("players_kind_check")),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("player", sa.Uuid(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("scopes", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("tokens_pkey")),
        sa.ForeignKeyConstraint(["player"], ["players.id"], name=op.f("tokens_player_fkey")),
        sa.UniqueConstraint("hash", name=op.f("tokens_hash_key")),
        sa.CheckConstraint("octet_length(hash) = 32", name=op.f("tokens_hash_check")),
    )
    op.create_index(op.f("tokens_player_idx"), "tokens", ["player"])
    op.create_table(
        "sessions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("player", sa.Uuid(), nullable=False),
        sa.Column("game", sa.Text(), nullable=False),
        sa.Column("rules", sa.Text(), nullable=False),
        sa.Column("variant", sa.Text(), nullable=False),
        sa.Column("options", postgresql.JSONB(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("public", sa.Boolean(), nullable=False),
        sa.Column("seed", sa.Text(), nullable=False),
        sa.Column("drawn", sa.Boolean(), nullable=False),
        sa.Column("commitment", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("score", sa.Integer(), nullable=False),
        sa.Column("moves", sa.Integer(), nullable=False),
        sa.Column("undos", sa.Integer(), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("elapsed_ms", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("sessions_pkey")),
        sa.ForeignKeyConstraint(["player"], ["players.id"], name=op.f("sessions_player_fkey")),
        sa.UniqueConstraint("player", "request_id", name=op.f("sessions_player_request_id_key")),
        sa.CheckConstraint("mode IN ('casual', 'daily', 'race')", name=op.f("sessions_mode_check")),
        sa.CheckConstraint(
            "status IN ('playing', 'won', 'lost', 'resigned', 'expired')", name=op.f("sessions_status_check")
        ),
    )
    op.create_index(op.f("sessions_player_id_idx"), "sessions", ["player", "id"])
    op.create_table(
        "events",
        sa.Column("session", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("move", sa.Text(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("score", sa.Integer(), nullable=False),
        sa.Column("moves", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("session", "seq", name=op.f("events_pkey")),
        sa.ForeignKeyConstraint(["session"], ["sessions.id"], name=op.f("events_session_fkey")),
        sa.CheckConstraint(
            "kind IN ('move', 'undo', 'resign', 'expire', 'reveal')", name=op.f("events_kind_check")
        ),
        sa.CheckConstraint("seq > 0", name=op.f("events_seq_check")),
    )


def downgrade() -> None:
    # All players, sessions and events go with their tables.
    op.drop_table("events")
    op.drop_table("sessions")
    op.drop_table("tokens")
    op.drop_table("players")
