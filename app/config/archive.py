"""The settings of the archive: a group of `app.config.settings.Settings`, in a file of its own."""

import re
from typing import Any

from pydantic import Field, field_validator

from app.config.constants import Constants

_STORE = re.compile(r"s3://[a-z0-9][a-z0-9.-]+(/[^?#]*)?")
_SWITCHES = frozenset({"0", "1", "true", "false", "yes", "no", "on", "off"})  # folders of these names: ./0


class ArchiveSettings(Constants):
    """Where answers are kept with their bodies, and for how long."""

    archive: str | None = Field(
        None,
        description="Folder of the archive (WARC), or s3://bucket/prefix: closed segments go there from `archive` in TIPTOE_HOME. Unset: that folder.",
    )
    archive_keep_days: int = Field(
        0,
        ge=0,
        description="Days that closed segments are kept; the last body of each page is copied forward. 0: for ever.",
    )

    @field_validator("archive", mode="before")
    @classmethod
    def _is_folder_or_store(cls, value: Any) -> Any:
        if isinstance(value, str) and "://" in value and not _STORE.fullmatch(value):
            raise ValueError("write a folder, or s3://bucket/prefix")
        if isinstance(value, str) and value.strip().lower() in _SWITCHES:
            raise ValueError("cannot be switched on or off; write a folder, or crawl with --no-archive")
        return value or None
