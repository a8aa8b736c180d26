"""For tests of programs that use jiyi, and of backends made for it: shipped fakes and conformance suites."""
