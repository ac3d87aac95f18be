"""One request: granted a start, sent, logged."""
