"""The settings of what trims the logs."""

from typing import Any

from app.config import Settings, load


def settings(**values: Any) -> Settings:
    return load(_env_file=None, **values)
