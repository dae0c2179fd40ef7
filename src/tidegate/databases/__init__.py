"""Databases: one module or package each. A file without an underscore is a plug-in."""
