"""The long-term room: what is worth keeping of conversations, recalled, reflected on, and forgotten over time.

Nothing is imported here: most programs that open a memory write and recall, and need not wait for this room.
"""
