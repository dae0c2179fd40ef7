"""What a run did and what it proved, for people: one self-contained HTML file, text and JSON."""
