"""The report for people: one self-contained HTML page about the project, its runs and what they proved."""
