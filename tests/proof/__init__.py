"""Programs that try to lose, damage or leak something, for as long as they are told to.

`make crash` and `make fuzz` run them in full; `tests/proof/test_proof.py` runs a short form of each.
"""
