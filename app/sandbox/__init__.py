"""Processes for what strangers sent and for users' code: started, bounded, judged when they end, and pooled."""
