"""Wire JSON to model and back: pure functions, one folder per wire form."""
