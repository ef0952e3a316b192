"""Finding an agent: addresses, cards, and which interface to use."""
