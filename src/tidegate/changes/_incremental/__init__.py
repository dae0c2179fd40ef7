"""What the changes share that ask the table itself, by a cursor: `timestamp`, `sequence`, `hybrid` and others."""
