"""Running servers from the command line."""
