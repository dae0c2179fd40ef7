"""The benchmark: the same work for Tidegate and for the tools that its users would pick, checked cell by cell."""
