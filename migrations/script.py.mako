"""${message}.

Revision ${up_revision}, after ${down_revision or "nothing"}.
"""
<%doc>
Alembic copies the rules below into each new revision. Delete those that you have made sure of.
</%doc>
# Servers of the version before this revision go on running while it is applied, and after it. So:
#
# 1. Add, fill, then take away, in three releases. Renaming a column, or changing its type, breaks whoever runs.
# 2. A new column is nullable or has a constant default. Fill old rows in a revision of their own, in steps of some
#    thousand rows, never in one UPDATE.
# 3. A new index on a table that has rows is made CONCURRENTLY, inside `op.get_context().autocommit_block()`.
# 4. A new CHECK or foreign key is added NOT VALID, and validated in a second revision. NOT NULL comes by way of such
#    a CHECK.
# 5. No lock is waited for longer than `env.py` allows: a revision that times out has changed nothing, and is run again.
# 6. `events` only grows. No revision rewrites or removes what is in it.
# 7. `downgrade` undoes exactly this revision. Where that loses data it says so.
# 8. Spell every table and column out. Import nothing of the server: its code goes on changing, revisions do not.

import sqlalchemy as sa
from alembic import op
${imports if imports else ""}

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    ${downgrades if downgrades else "pass"}
