"""Where a message is cut: sentences that belong together, clauses, and claims, each readable on its own."""
