"""A2A 1.0. The model is its wire form, so this folder has no Structs of its own."""
