"""The checks themselves, one module per subject; ``runner`` has them in their order."""
