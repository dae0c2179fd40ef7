"""Loads: how extracted rows enter the target. A file without an underscore is a plug-in."""
