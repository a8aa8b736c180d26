"""The long-term room: what is worth keeping of conversations, found again, thought about, and forgotten in time.

Nothing is imported here: most programs that open a memory write and recall, and need not wait for this room.
"""
