"""The programs: they parse, call `AgentMemory`, and render. Nothing else."""
