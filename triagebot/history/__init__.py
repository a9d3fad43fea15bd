"""A local index of the issues that people labelled before: SQLite's full-text search in a file that may get lost."""
