"""Spark: the session, and splits that run as its tasks."""
