"""Adapters: agents and their tools in the forms that other frameworks have."""
