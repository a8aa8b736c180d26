"""The Model Context Protocol: tools, resources and prompts of one memory."""
