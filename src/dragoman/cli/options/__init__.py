"""Options and settings of the command line."""
