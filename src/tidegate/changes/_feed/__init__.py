"""What the changes share that are told by a change feed: `cdc` and its relatives."""
