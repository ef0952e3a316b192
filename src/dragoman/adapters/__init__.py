"""Adapters: agents made of other things, and other things made of agents."""
