"""Who is calling: what a client shows to an agent, and how a card proves whose it is."""
