"""The chain: its RPC nodes, the tables that are read, accounts and their authorities."""
