"""What the versions before 1.0 have in common. Not a dialect."""
