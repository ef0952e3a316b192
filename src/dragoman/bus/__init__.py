"""How replicas tell each other that something happened: hints, of which any may be lost."""
