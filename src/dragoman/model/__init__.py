"""What A2A means, free of version and binding: frozen values in the vocabulary of 1.0."""
