"""The embedded text index: tantivy with a term store."""
