"""What is measured, and how a sample of it is taken."""
