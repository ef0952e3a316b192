"""One agent contract, three servers. Each file is a program of its own."""
