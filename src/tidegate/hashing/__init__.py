"""The row hash, the Arrow types that it reads, and the comparison of two sides by hash."""
