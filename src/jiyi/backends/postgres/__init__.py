"""The PostgreSQL engines."""
