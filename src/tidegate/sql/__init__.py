"""Statements as values: text with holes that accept only names, literals and other statements."""
