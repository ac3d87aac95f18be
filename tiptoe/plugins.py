"""The names that a plugin is written with (docs/plugins.md)."""

from app.plugins import Plugin, Reader, Table, answers

__all__ = ["Plugin", "Reader", "Table", "answers"]
