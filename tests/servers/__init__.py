"""Real servers for the tests and for developers, from packages alone: no Docker, no root, nothing of the system's."""
