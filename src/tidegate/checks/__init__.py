"""Checks: how equality is proved. A file without an underscore is a plug-in."""
