"""Client tools: what a caller can do for an agent, and how the agent asks for it."""
