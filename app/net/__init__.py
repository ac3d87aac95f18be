"""The network: names, addresses, and the only sender of requests."""
