"""The settings: one frozen, typed object, read once from the environment and `.env`, validated at start.

An error names the setting, its value and what would do (`app.errors.SettingError`). Every field is documented in
docs/settings.md (a test holds that).
"""

import ipaddress
import os
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.errors import SettingError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _split(value: object) -> object:
    """Environment lists are comma- or space-separated."""
    return value.replace(",", " ").split() if isinstance(value, str) else value


def _networks(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        try:
            ipaddress.ip_network(value, strict=False)
        except ValueError as error:
            raise ValueError(f"{value!r} is not a network; write CIDR such as 127.0.0.0/8") from error
    return values


Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]


class Settings(BaseSettings):
    """All settings, environment names prefixed TIPTOE_. Seconds, bytes and counts as the suffix says."""

    model_config = SettingsConfigDict(env_prefix="TIPTOE_", env_file=".env", extra="ignore", frozen=True)

    # Where things are
    home: Path = Field(Path(".tiptoe"), description="Folder of the embedded services' data, logs and sockets.")
    database_url: str | None = Field(
        None, description="Postgres 15 or newer, e.g. postgresql://user@host/db. Unset: embedded."
    )
    broker_url: str | None = Field(
        None, description="Redis, Valkey or RabbitMQ, e.g. redis://host:6379/0. Unset: embedded."
    )
    pool_size: int = Field(16, ge=1, le=1000, description="Postgres connections a process may hold.")

    # Who we are
    product_token: str = Field(
        "Tiptoe",
        pattern=r"^[A-Za-z_-]+$",
        description="Name matched in robots.txt and sent in User-Agent (RFC 9309 2.2.1: letters, _ and -).",
    )
    contact: str | None = Field(
        None,
        description="Mail address or URL of the person who answers for this crawl. Needed for every public host.",
    )
    info_url: str | None = Field(
        None,
        description="Page that tells site owners who crawls and how to slow or stop it; sent in User-Agent.",
    )

    # Whom we talk to
    allow_networks: Annotated[Words, AfterValidator(_networks)] = Field(
        (), description="CIDRs beyond the public addresses that may be contacted, e.g. 127.0.0.0/8."
    )

    # Pace
    default_delay_s: float = Field(
        1.0,
        ge=0,
        le=86_400,
        description="Seconds between the end of a request to a host and the next, where neither the operator nor robots.txt says otherwise.",
    )
    crawl_delay_max_s: float = Field(86_400, ge=1, description="Cap on robots.txt Crawl-delay; the raw value is kept.")
    delay_override_s: float | None = Field(
        None,
        ge=0,
        le=86_400,
        description="For emergencies: at least this delay for every host, whatever else says.",
    )
    retry_after_max_s: float = Field(86_400, ge=1, description="Cap on Retry-After; the raw value is kept.")
    backoff_base_s: float = Field(
        10.0,
        gt=0,
        description="Rest of a host after its first 429, 503 or connection failure in a row; doubles with each.",
    )
    backoff_max_s: float = Field(3_600, gt=0, description="Longest such rest.")

    host_failures_max: int = Field(
        12,
        ge=1,
        description="429, 503 and failures to connect in a row after which a host that has answered before is given up: its queued URLs end, their cause kept.",
    )
    new_host_failures_max: int = Field(4, ge=1, description="The same for a host that has never answered.")

    # HTTP
    request_deadline_s: float = Field(
        30.0, gt=0, le=600, description="Seconds for a whole response, DNS and connecting included."
    )
    robots_deadline_s: float = Field(10.0, gt=0, le=600, description="The same for robots.txt.")
    max_body_bytes: int = Field(
        1024 * 1024,
        ge=1024,
        description="Cap on a page's decoded bytes; the rest is not read and the page is marked truncated.",
    )
    idle_connection_s: float = Field(30.0, gt=0, description="Idle kept-alive connections are closed after this.")

    # Visits
    dispatch_tick_s: float = Field(0.25, gt=0, le=10, description="Beat claims due hosts this often.")
    offer_s: float = Field(
        10.0, gt=0, description="A host offered to a queue and not taken up for this long is due again."
    )
    lease_s: float = Field(
        60.0,
        gt=0,
        description="A taken lease, extended at each settle. Must outlast request_deadline_s and 5 s more.",
    )
    visit_max_s: float = Field(10.0, gt=0, description="A visit leaves its host after this long.")
    linger_s: float = Field(
        0.25,
        ge=0,
        description="A visit waits for the host's next contact itself when the wait is at most this.",
    )
    settle_urls: int = Field(50, ge=1, le=1000, description="Settle after this many URLs …")
    settle_s: float = Field(2.0, gt=0, description="… or this many seconds.")
    offers_max: int = Field(128, ge=1, description="Dispatch stops while this many offers are not taken up.")
    queues: int = Field(
        32, ge=1, le=250, description="Number of host queues, host-00 and up. Changing it re-maps hosts."
    )
    pinned_queues: Words = Field(
        (), description="Further queues that hosts can be pinned to; a plain worker serves them too."
    )
    concurrency: int = Field(
        64, ge=1, le=1000, description="Threads of a worker process started by `tiptoe crawl` or `tiptoe up`."
    )
    processes: int = Field(
        0,
        ge=0,
        le=256,
        description="Worker processes started by `tiptoe crawl` or `tiptoe up`; 0: one per core, at most 4.",
    )

    # Reading and keeping
    keep_text: bool = Field(
        True,
        description="Title, language and main text into pages. Off is lean: links, hashes and the fetch log only.",
    )
    max_links: int = Field(5_000, ge=1, description="Links of one page beyond this are not looked at.")
    attempts_max: int = Field(
        3,
        ge=1,
        le=100,
        description="Tries of a URL that fails by itself (5xx, broken answers) before it is quarantined.",
    )
    tracking_parameters: Words = Field(
        (), description="Query parameters dropped besides the built-in list; `*` at the end is a wildcard."
    )

    # Recrawl
    recrawl_min_s: float = Field(3_600, gt=0, description="Shortest recrawl interval.")
    recrawl_max_s: float = Field(90 * 86_400, gt=0, description="Longest recrawl interval.")
    recrawl_base_s: float = Field(7 * 86_400, gt=0, description="First recrawl interval of a page.")

    # Telling
    log_format: str = Field("console", pattern="^(console|json)$", description="console or json.")
    log_level: str = Field("INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$", description="DEBUG, INFO, WARNING or ERROR.")

    @field_validator("contact", "info_url", "database_url", "broker_url", "delay_override_s", mode="before")
    @classmethod
    def _empty_is_unset(cls, value: Any) -> Any:
        return None if value == "" else value

    @field_validator("lease_s")
    @classmethod
    def _lease_outlasts_request(cls, value: float, info: Any) -> float:
        deadline = info.data.get("request_deadline_s", 30.0)
        if value < deadline + 5:
            raise ValueError(f"must be at least request_deadline_s + 5 = {deadline + 5:g}")
        return value

    @property
    def networks(self) -> tuple[Network, ...]:
        """allow_networks, parsed."""
        return tuple(ipaddress.ip_network(value, strict=False) for value in self.allow_networks)

    @property
    def queue_names(self) -> tuple[str, ...]:
        """Every queue a plain worker serves visits from: the hashed ones, then the pinned ones."""
        return (*(f"host-{number:02d}" for number in range(self.queues)), *self.pinned_queues)


def load(**overrides: Any) -> Settings:
    """Settings from overrides, environment and `.env`, in this order. Raises SettingError."""
    try:
        return Settings(**overrides)
    except ValidationError as error:
        first = error.errors()[0]
        name = "TIPTOE_" + "_".join(str(part) for part in first["loc"][:1]).upper()
        raise SettingError(f"{name}={first.get('input')!r}", first["msg"].removeprefix("Value error, ")) from error


@lru_cache(maxsize=1)
def current() -> Settings:
    """The process's settings, read once."""
    return load()


def unknown_variables(settings: type[Settings] = Settings) -> list[str]:
    """TIPTOE_ variables in the environment that no setting has: most likely misspelt. `tiptoe doctor` names them."""
    known = {"TIPTOE_" + name.upper() for name in settings.model_fields}
    return sorted(name for name in os.environ if name.startswith("TIPTOE_") and name not in known)


def table() -> str:
    """Every setting as the Markdown table of docs/settings.md: `python -m app.config` prints it."""
    rows = ["| variable | default | what it is |", "| --- | --- | --- |"]
    for name, field in Settings.model_fields.items():
        default = field.get_default()
        shown = (
            "unset"
            if default is None
            else "none"
            if default == ()
            else str(default).lower()
            if isinstance(default, bool)
            else str(default)
        )
        rows.append(f"| `TIPTOE_{name.upper()}` | {shown} | {field.description} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
