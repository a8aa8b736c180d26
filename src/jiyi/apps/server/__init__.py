"""A memory for other programs: MCP over stdio and HTTP, REST, and the console. Needs the extra `jiyi[server]`."""
