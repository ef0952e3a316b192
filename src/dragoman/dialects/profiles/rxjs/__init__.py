"""The profile of the RxJS agent: 0.3 with client tools, other errors and streams that stay open."""
