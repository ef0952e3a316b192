"""The demo agent: scripted scenarios to try a client on, one skill each."""
