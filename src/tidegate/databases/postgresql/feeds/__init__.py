"""Change feeds of PostgreSQL: one module each."""
