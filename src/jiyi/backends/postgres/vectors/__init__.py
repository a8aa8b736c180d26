"""The vector index in PostgreSQL (pgvector)."""
