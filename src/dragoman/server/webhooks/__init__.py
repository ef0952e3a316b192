"""Push notifications: registrations, the outbox, and their setup."""
