"""Configured tables, found in both catalogs: their columns on both sides, their change, their load and their check."""
