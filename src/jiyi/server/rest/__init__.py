"""REST under `/v1`."""
