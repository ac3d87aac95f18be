"""Postgres remembers: engine, tables, named SQL and the functions that run it."""
