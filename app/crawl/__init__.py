"""Use cases, one per file: plain functions with explicit arguments."""
