"""Helpers for tests: witnesses on servers, projects, crashes and runs without a JVM."""
