"""Change strategies: how a kind of table finds out what is new. A file without an underscore is a plug-in."""
