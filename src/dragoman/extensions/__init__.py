"""Protocol extensions: what is agreed on beyond the core of A2A, one package each."""
