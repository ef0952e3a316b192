"""The dialect of the XPR network: an early form of 0.2 at ``POST /a2a``.

It has three methods, no streams and no webhooks. What it cannot carry: the ids of messages and of
artifacts, tenants, and two states (a task that was rejected has failed, one that needs credentials
needs input). The answer to a send is always a task.
"""
