"""What of a message is worth keeping, what is not, and what somebody asks to keep, to forget, or to leave out."""
