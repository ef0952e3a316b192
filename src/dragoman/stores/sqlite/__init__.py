"""The task log in one SQLite file: nothing to install, one serving process."""
