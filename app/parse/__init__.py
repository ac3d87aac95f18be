"""Parsers: bytes of documents into values. No I/O; never raises on any input."""
