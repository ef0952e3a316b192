"""The authoring API: an Agent, its skills, and what they are given."""
