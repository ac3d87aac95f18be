"""The settings: read once from the environment and `.env`, validated at start.

An error names the setting, its value and the remedy (`app.errors.SettingError`).
"""

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from app import owned
from app.config.constants import CONSTANT_PREFIX, variable
from app.config.settings import DOTENV, Settings
from app.errors import InputError, SettingError

__all__ = ["Settings", "current", "load", "unknown_variables"]

_SECRETS = {("database_url",), ("broker_url",), ("web_users",)}  # a password may stand in them


def load(**overrides: Any) -> Settings:
    """Settings from overrides, environment and `.env`, in this order.

    Raises SettingError, and InputError for a `.env` that cannot be read, or that others may write to."""
    try:
        owned.check(Path(DOTENV), "the file .env")
        return Settings(**overrides)
    except (OSError, UnicodeDecodeError) as error:
        why = f"cannot be read ({error.strerror})" if isinstance(error, OSError) else "is not in UTF-8"
        raise InputError("the file .env", f"{why}; correct or remove it") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = "_".join(str(part) for part in first["loc"][:1])
        name = variable(field)
        value = "…" if first["loc"][:1] in _SECRETS else repr(first.get("input"))
        what = f"{name} is not set" if first.get("input") is None else f"{name}={value}"
        raise SettingError(what, first["msg"].removeprefix("Value error, ")) from error


@lru_cache(maxsize=1)
def current() -> Settings:
    """The process's settings, read once."""
    return load()


def unknown_variables() -> list[str]:
    """TIPTOE_ variables of the environment and `.env` that are no setting, most likely misspelt. `tiptoe doctor` names them."""
    from dotenv import dotenv_values

    known = {variable(name) for name in Settings.model_fields}
    in_file = {name for name in known if not name.startswith(CONSTANT_PREFIX)}  # `.env` does not reach constants
    unknown = (os.environ.keys() - known) | (dotenv_values(DOTENV).keys() - in_file)
    return sorted(name for name in unknown if name.startswith("TIPTOE_"))
