"""Compute the history of a table of versions (SCD type 2) from hashes. The scd2 load and its check use it."""
