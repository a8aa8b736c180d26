"""The record store: one schema and one set of statements for SQLite and PostgreSQL."""
