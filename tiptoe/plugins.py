"""The names that a plugin is written with (docs/plugins.md)."""

from app.hooks import Reader, Table, answers
from app.plugins import Plugin

__all__ = ["Plugin", "Reader", "Table", "answers"]
