"""Consistency of streams, on Spark: duplicates, late rows, gaps, completeness. DataFrames in, DataFrames out."""
