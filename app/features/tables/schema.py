"""Declares the tables of this feature: which plugins write."""

from sqlalchemy import Column, Integer, Table, Text, text

from app.store.tables import Time, metadata

plugins = Table(
    "plugins",
    metadata,
    Column("name", Text, primary_key=True),
    Column("failures", Integer, nullable=False, server_default=text("0"), comment="settles in a row, lately"),
    Column("off_at", Time, comment="NULL: it is on"),
    Column("why", Text, comment="of the last failure"),
    comment="Plugins that have tables of their own here, and whether their rows are written.",
)
