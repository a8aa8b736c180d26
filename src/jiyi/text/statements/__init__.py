"""What a message states, read without a model: claims, whom they are about, what has changed, what is no statement."""
