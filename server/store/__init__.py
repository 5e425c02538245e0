"""What lasts: the tables in PostgreSQL, the queries on them, and the journal that makes events durable."""
