"""The doors to a memory for other programs: MCP over stdio and HTTP, and REST. Needs the extra `jiyi[server]`."""
