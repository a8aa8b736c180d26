"""What models are asked, with the schema of the reply; in both languages."""
