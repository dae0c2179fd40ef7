"""Rows as Arrow batches: the types they rest as (`arrow`), and the hash that proves them (`hashing`)."""
