"""A2AService on the engine, and the ASGI application in front of it."""
