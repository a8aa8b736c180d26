"""The embedded engines: SQLite, tantivy, vectors in SQLite."""
