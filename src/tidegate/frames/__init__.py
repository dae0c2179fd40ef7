"""Rows of one database as DataFrames, and DataFrames into its tables, without a lake between."""
