"""The record store in SQL: one schema and one implementation for SQLite and PostgreSQL."""
