"""Lakes: one module each. A file without an underscore is a plug-in."""
