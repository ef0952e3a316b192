"""Extensions of A2A: what some networks of agents agree on beyond it."""
