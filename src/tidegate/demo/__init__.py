"""What `tidegate demo` needs and nothing else does: a PostgreSQL server out of a wheel."""
