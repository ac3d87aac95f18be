"""One URL: gate ▸ attempt ▸ read."""
