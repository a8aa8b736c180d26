"""Fakes for tests of programs that use jiyi, and conformance suites for backends."""
