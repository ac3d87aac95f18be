"""The settings: read once from the environment and `.env`, validated at start.

An error names the setting, its value and the remedy (`app.errors.SettingError`).
"""

import os
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from app import owned
from app.config.constants import CONSTANT_PREFIX, variable
from app.config.settings import DOTENV, Settings
from app.errors import InputError, SettingError
from app.single import Single

__all__ = ["Settings", "current", "load", "unknown_variables", "why_unknown"]

_GONE = {  # variables that were settings: what holds now, and the remedy
    "TIPTOE_ADAPTIVE_LEVEL_MAX": ("is not a setting any more: the delay doubles eight times at most", "unset it"),
    "TIPTOE_ATTEMPTS_MAX": ("is not a setting any more: a URL is tried three times", "unset it"),
    "TIPTOE_CRAWL_DELAY_MAX_S": ("is not a setting any more: a Crawl-delay is capped at a day", "unset it"),
    "TIPTOE_CRAWL_DOMAIN": ("is not a setting any more", "write its domain into TIPTOE_CRAWL_ADDRESSES, and unset it"),
    "TIPTOE_HANDLER_DEADLINE_S": (
        "is not a setting any more: a handler has 30 s for a page",
        "write @tiptoe.handler(deadline_s=…) where one needs more, and unset it",
    ),
    "TIPTOE_LATENCY_FACTOR": ("is not a setting any more: the delay is at least twice the latency", "unset it"),
    "TIPTOE_LEASE_S": (
        "is not a setting any more: a lease runs for 60 s, and 5 s longer than TIPTOE_REQUEST_DEADLINE_S",
        "unset it",
    ),
    "TIPTOE_OFFERS_MAX": ("is not a setting any more: 128 offers may wait", "start more workers, and unset it"),
    "TIPTOE_OFFER_S": ("is not a setting any more: an offer waits for 10 s", "unset it"),
    "TIPTOE_RECRAWL_BASE_S": (
        "is not a setting any more: a page is fetched again after a week",
        "give its crawl a profile with another interval, and unset it",
    ),
    "TIPTOE_RENDER_REQUESTS": ("is not a setting any more: a rendered page may make 50 requests", "unset it"),
    "TIPTOE_RENDER_S": ("is not a setting any more: a page may take 30 s to be rendered", "unset it"),
    "TIPTOE_SIGNATURE_AGENT_FORM": (
        "is not a setting any more",
        "for the form dictionary write TIPTOE_SIGNATURE_AGENT=sig1=https://…; unset it",
    ),
    "TIPTOE_STALL_S": ("is not a setting any more: a process that hangs for 60 s ends itself", "unset it"),
}
_SECRETS = {("database_url",), ("broker_url",), ("web_users",)}  # a password may stand in them


def load(**overrides: Any) -> Settings:
    """Settings from overrides, environment and `.env`, in this order.

    Raises SettingError, and InputError for a `.env` that cannot be read, that others may write to, or that is a pipe."""
    file = Path(DOTENV)
    try:
        owned.check(file, "the file .env")
        if file.exists() and not file.is_file() and not file.is_dir():  # a folder may be a virtual environment
            raise InputError("the file .env", "is no regular file; write its settings into one, or remove it")
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


@Single
def current() -> Settings:
    """The process's settings, read once."""
    return load()


def why_unknown(name: str) -> tuple[str, str]:
    """The finding about a TIPTOE_ variable that is no setting, and the remedy."""
    return _GONE.get(name, ("is not a setting", "correct its spelling, or unset it"))


def unknown_variables() -> list[str]:
    """TIPTOE_ variables of the environment and `.env` that are no setting, misspelt or of an older Tiptoe.

    `tiptoe crawl`, `tiptoe doctor`, and the logs of workers and beat name them.
    """
    from dotenv import dotenv_values

    known = {variable(name) for name in Settings.model_fields}
    in_file = {name for name in known if not name.startswith(CONSTANT_PREFIX)}  # `.env` does not reach constants
    unknown = (os.environ.keys() - known) | (dotenv_values(DOTENV).keys() - in_file)
    return sorted(name for name in unknown if name.startswith("TIPTOE_"))
