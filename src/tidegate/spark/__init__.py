"""Spark: the session, and slices that run as its tasks."""
