"""The embedded vector index."""
