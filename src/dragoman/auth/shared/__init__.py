"""Keys, tokens and secrets, for both directions."""
