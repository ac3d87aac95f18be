"""The settings of what trims the logs, and logs that were made long ago."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Engine

from app.config import Settings, load
from app.store import partitions


def settings(**values: Any) -> Settings:
    return load(_env_file=None, **values)


def age(engine: Engine, days: int) -> None:
    """As if the logs had been made that long ago: `past` ends then."""
    ends = (datetime.now(UTC) - timedelta(days=days)).replace(hour=0, minute=0, second=0, microsecond=0)
    with engine.begin() as tx:
        for log in partitions.LOGS:
            tx.exec_driver_sql(f"ALTER TABLE {log} DETACH PARTITION {log}_past")
            tx.exec_driver_sql(
                f"ALTER TABLE {log} ATTACH PARTITION {log}_past FOR VALUES FROM (MINVALUE) TO ('{ends}')"
            )
