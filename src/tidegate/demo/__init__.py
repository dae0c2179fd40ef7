"""`tidegate demo`: its story, its data, and the PostgreSQL server that it starts from a wheel."""
