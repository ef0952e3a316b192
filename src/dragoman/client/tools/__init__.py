"""Tools that a client offers to an agent."""
