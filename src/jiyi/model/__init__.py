"""Values and formulas of the memory: standard library only, no I/O."""
