"""Where the bytes of a lake rest: one door, so that a lake never opens a file by itself."""
