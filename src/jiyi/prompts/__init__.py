"""What models are asked, in both languages: one module for each room, each prompt with the form of its reply."""
