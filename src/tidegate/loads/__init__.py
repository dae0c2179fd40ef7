"""Loads: how landed rows enter the target. A file without an underscore is a plug-in."""
