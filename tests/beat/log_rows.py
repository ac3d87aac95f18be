"""Rows of the logs, and the partitions that they lie in."""

from typing import Any

from app.config import Settings, load


def settings(**values: Any) -> Settings:
    return load(_env_file=None, **values)
