"""The text index in PostgreSQL."""
