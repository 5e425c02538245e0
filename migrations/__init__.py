"""The history of the database schema, as Alembic revisions. `server.store.migrate` runs them."""
