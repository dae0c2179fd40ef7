"""How `snapshot_hash` finds what changed: the source is compared with the last snapshot of it, which the lake holds."""
