"""The settings: one frozen, typed object, read once from the environment and `.env`, validated at start.

An error names the setting, its value and what would do (`app.errors.SettingError`). Every field is documented in
docs/settings.md (a test holds that).
"""

import ipaddress
import os
import re
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.errors import InputError, SettingError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_DOTENV = ".env"
GAP_LEAST_S = 0.01  # what a machine under load keeps between two requests


def _split(value: object) -> object:
    """Environment lists are comma- or space-separated."""
    return value.replace(",", " ").split() if isinstance(value, str) else value


def _ports(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if value != "browsers" and not (value.isascii() and value.isdigit() and int(value) < 65_536):
            raise ValueError(f"{value} is no port; write numbers from 0 to 65535, or browsers for their list")
    return values


def _networks(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        try:
            ipaddress.ip_network(value, strict=False)
        except ValueError as error:
            raise ValueError(f"{value!r} is not a network; write CIDR such as 127.0.0.0/8") from error
    return values


def _resolve(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        name, equals, address = value.partition("=")
        try:
            ipaddress.ip_address(address)
        except ValueError as error:
            raise ValueError(f"{value!r} names no address; write staging.example.org=192.0.2.7") from error
        if not name or not equals:
            raise ValueError(f"{value!r} has no name; write staging.example.org=192.0.2.7")
    return values


def _gap(seconds: float) -> float:
    """Between two starts of a fleet: what the clocks of its machines can hold."""
    if 0 < seconds < GAP_LEAST_S:
        raise ValueError(
            f"{seconds:g} s is less than clocks can hold; write at least {GAP_LEAST_S:g}, or 0 for no budget"
        )
    return seconds


def _fronts(values: tuple[str, ...]) -> tuple[str, ...]:
    gaps: dict[Network, str] = {}
    for value in values:
        cidr, equals, seconds = value.partition("=")
        _networks((cidr,))
        if not equals or not re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", seconds):
            raise ValueError(f"{value!r} has no seconds; write 203.0.113.0/24=0.02")
        _gap(float(seconds))
        network = ipaddress.ip_network(cidr, strict=False)
        if gaps.setdefault(network, seconds) != seconds:
            raise ValueError(f"{network} has two gaps, {gaps[network]} and {seconds} s; give it one")
    return values


def _printable(value: str | None) -> str | None:
    """A header's value: RFC 9110 section 5.5 without obs-text and tabs."""
    if value is not None and not re.fullmatch(r"[!-~](?:[ -~]{0,198}[!-~])?", value):
        raise ValueError("write 1 to 200 printable ASCII characters, no space at the ends")
    return value


def _origin(value: str | None) -> str | None:
    """What a key directory is found at: scheme, host and port, no more."""
    if value is None:
        return None
    origin = value.lower().removesuffix("/")
    if not re.fullmatch(r"https://[a-z0-9-]+(\.[a-z0-9-]+)*(:[0-9]{1,5})?", origin):
        raise ValueError("write https:// and a host, without a path, such as https://bot.example.org")
    return origin.removesuffix(":443")


def _domain(value: str | None) -> str | None:
    domain = value.lower().strip(".") if value else None
    if domain is not None and not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", domain):
        raise ValueError("write a domain name, such as crawl.example.org")
    return domain


def _is_utf8(value: str) -> bool:
    return not any("\ud800" <= each <= "\udfff" for each in value)


_SECRETS = {("database_url",), ("broker_url",)}  # a password may stand in them
_PATHS = frozenset({"home", "signing_key", "credentials_file"})  # which may be any octets
Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]

PROMISE_S = 20.0  # a front with a gap of 20 ms has promised a thousand hosts by then


class Settings(BaseSettings):
    """All settings, environment names prefixed TIPTOE_. Seconds, bytes and counts as the suffix says."""

    model_config = SettingsConfigDict(
        env_prefix="TIPTOE_", env_file=_DOTENV, extra="ignore", frozen=True, allow_inf_nan=False
    )

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
    purpose: Annotated[str | None, AfterValidator(_printable)] = Field(
        None,
        description="What this crawl is for, in plain words; sent as X-Crawler-Purpose. At most 200 ASCII characters.",
    )
    signing_key: Path | None = Field(
        None,
        description="File of the Ed25519 private key that signs every request (Web Bot Auth); `tiptoe botauth keygen` makes one. Unset: nothing is signed.",
    )
    signature_agent: Annotated[str | None, AfterValidator(_origin)] = Field(
        None,
        validate_default=True,
        description="Origin whose /.well-known/http-message-signatures-directory holds the public key, e.g. https://bot.example.org. Set with signing_key.",
    )
    signature_agent_form: Literal["item", "dictionary"] = Field(
        "item",
        description="How Signature-Agent is written: item (a string, which Cloudflare verifies) or dictionary (as the newest draft has it).",
    )
    crawl_addresses: Annotated[Words, AfterValidator(_networks)] = Field(
        (), description="CIDRs that we crawl from, for the site owners' page and its addresses.json."
    )
    crawl_domain: Annotated[str | None, AfterValidator(_domain)] = Field(
        None,
        description="Domain of the reverse DNS names of those addresses, e.g. crawl.example.org, for the same page.",
    )

    # Whom we talk to
    allow_networks: Annotated[Words, AfterValidator(_networks)] = Field(
        (), description="CIDRs beyond the public addresses that may be contacted, e.g. 127.0.0.0/8."
    )

    resolve: Annotated[Words, AfterValidator(_resolve)] = Field(
        (),
        description="Names with a fixed address, name=address, for staging sites and tests, as curl's --resolve; *.example.org=… is every name right below it. The address must be one that may be contacted.",
    )

    credentials_file: Path | None = Field(
        None,
        description="File (TOML, mode 0600) with headers, a cookie or basic auth for sites of your own, by origin.",
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
    jitter: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Share of the delay that is added at random, from 0 up to this, so that hosts fall out of step.",
    )
    latency_factor: float = Field(
        2.0,
        ge=0,
        description="The delay is at least so many times the moving average of the host's latency; 0: no such floor.",
    )
    latency_weight: float = Field(0.2, gt=0, le=1, description="Weight of the newest latency in that average.")
    adaptive_window: int = Field(
        20, ge=1, le=100, description="Last results of a host that the adaptive delay looks at."
    )
    adaptive_level_max: int = Field(
        8, ge=0, le=16, description="Most doublings of the delay; 0 turns the adaptive delay off."
    )
    adaptive_base_min_s: float = Field(1.0, gt=0, description="The least delay that is doubled.")
    adaptive_429_levels: int = Field(
        3, ge=0, description="Doublings for a 429, and for a page that says we are blocked."
    )
    adaptive_503_levels: int = Field(2, ge=0, description="Doublings for a 503.")
    adaptive_5xx_in_a_row: int = Field(5, ge=1, description="Other 5xx in a row that double the delay once.")
    adaptive_slow_s: float = Field(
        2.0, gt=0, description="Mean latency of the window above which the delay doubles once."
    )
    adaptive_healthy_errors: float = Field(
        0.1, gt=0, le=1, description="Share of errors in the window below which a good answer takes one doubling back."
    )
    breaker_failures: int = Field(
        10, ge=1, le=100, description="5xx and missing answers in a row that close a host. At most adaptive_window."
    )
    breaker_base_s: float = Field(
        3_600.0, gt=0, description="How long it is closed for the first time; doubles until a probe is answered."
    )
    breaker_max_s: float = Field(86_400.0, gt=0, description="Longest such rest.")
    challenge_rest_s: float = Field(
        86_400.0, gt=0, description="Rest of a host that answers with a challenge or a CAPTCHA."
    )

    # Shared budgets, over the whole fleet
    address_gap_s: Annotated[float, AfterValidator(_gap)] = Field(
        0.5,
        ge=0,
        le=86_400,
        description="Seconds between the starts of two requests to one IP address, whatever its hosts; 6 is ten a minute. 0: no budget per address, and no rest of an address as a whole.",
    )
    front_gaps_s: Annotated[Words, AfterValidator(_fronts)] = Field(
        (),
        description="Known shared fronts (CDNs): CIDR=seconds between two starts for the whole network, e.g. 203.0.113.0/24=0.02.",
    )
    domain_gap_s: Annotated[float, AfterValidator(_gap)] = Field(
        0.0,
        ge=0,
        le=86_400,
        description="The same for a registrable domain, all its hosts together. 0: no such budget.",
    )
    requests_per_s_max: float = Field(
        0.0, ge=0, description="Ceiling on the requests a second of the whole fleet. 0: none."
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
    robots_disallow_s: float = Field(
        12 * 3600.0,
        ge=0,
        description="While robots.txt is out of reach nothing is fetched from its origin for so long …",
    )
    robots_copy_s: float = Field(
        30 * 86_400.0,
        ge=0,
        description="… and up to here its last good copy decides, if there is one; after that all is allowed, if the host answers.",
    )
    robots_recheck_s: float = Field(
        3_600.0,
        ge=300,
        description="After a 403 or 429 on a page robots.txt is fetched anew before the next one, but so long after the last time at the soonest.",
    )
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
        description="A visit waits for the host's next contact in its thread when the wait is at most this; it is parked for a longer one.",
    )
    settle_urls: int = Field(50, ge=1, le=1000, description="Settle after this many URLs …")
    settle_s: float = Field(2.0, gt=0, description="… or this many seconds.")
    stall_s: float = Field(
        60.0,
        ge=0,
        description="A worker or beat that makes no progress for so long while work is due ends itself, for its supervisor to start another. 0: never.",
    )
    offers_max: int = Field(128, ge=1, description="Dispatch stops while this many offers are not taken up.")
    queues: int = Field(
        32, ge=1, le=250, description="Number of host queues, host-00 and up. Changing it re-maps hosts."
    )
    pinned_queues: Words = Field(
        (), description="Further queues that hosts can be pinned to; a plain worker serves them too."
    )
    concurrency: int = Field(64, ge=1, le=1000, description="Threads of a worker process.")
    processes: int = Field(
        0,
        ge=0,
        le=256,
        description="Worker processes started by `tiptoe crawl` or `tiptoe up`; 0: one per core, at most 4.",
    )

    # The frontier
    frontier_max_per_host: int | None = Field(
        100_000,
        ge=1,
        description="URLs of a host that may wait for their first fetch, softly: beyond, the lowest scores give way. Empty: any number.",
    )
    frontier_max_per_crawl: int | None = Field(
        None, ge=1, description="The same of a crawl, looked at every second. Empty: any number."
    )
    frontier_max: int | None = Field(None, ge=1, description="The same of all active crawls together.")
    frontier_full: Literal["evict", "defer"] = Field(
        "evict",
        description="What happens to those that give way: evict: they leave the frontier, and a link that is found later may bring them back; defer: they wait for the next cycle.",
    )

    # Reading and keeping
    keep_text: bool = Field(
        True,
        description="Title, language and main text into pages. Off is lean: links, hashes and the fetch log only.",
    )
    log_keep_days: int = Field(
        0,
        ge=0,
        description="Days that requests, visits and refused links are kept in the logs; the audit judges by what is kept. 0: for ever.",
    )
    suppressions_max: int = Field(
        1_000_000, ge=0, description="Refused links that are kept of a crawl, those met last; 0: all."
    )
    max_links: int = Field(5_000, ge=1, description="Links of one page beyond this are not looked at.")
    attempts_max: int = Field(
        3,
        ge=1,
        le=100,
        description="Tries of a URL that fails by itself (5xx, broken answers) before it is quarantined.",
    )
    parse_deadline_s: float = Field(
        10.0,
        gt=0,
        le=600,
        description="Processor seconds that reading a page may take in isolation, where a process of its own reads it; three times as much by the clock, and never more than the lease leaves.",
    )
    parse_memory_bytes: int = Field(
        512 * 1024 * 1024,
        ge=128 * 1024 * 1024,
        description="Address space of such a process. A page of max_body_bytes can take some 90 times that.",
    )
    tracking_parameters: Words = Field(
        (),
        description="Query parameters dropped besides the built-in list; `*` at the end is a wildcard. "
        "URLs that are in the frontier stay as they are.",
    )

    bad_ports: Annotated[Words, AfterValidator(_ports)] = Field(
        ("browsers",),
        description="Ports that are never contacted: numbers, and `browsers` for the list that browsers have (25, 6667 …).",
    )

    # Recrawl
    recrawl_min_s: float = Field(3_600, gt=0, description="Shortest recrawl interval.")
    recrawl_max_s: float = Field(90 * 86_400, gt=0, description="Longest recrawl interval.")
    sitemap_interval_s: float = Field(
        86_400, gt=0, description="First interval between two readings of a sitemap, in crawls that keep fresh."
    )
    recrawl_base_s: float = Field(7 * 86_400, gt=0, description="First recrawl interval of a page.")

    # Telling
    log_format: str = Field("console", pattern="^(console|json)$", description="console or json.")
    log_level: str = Field("INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$", description="DEBUG, INFO, WARNING or ERROR.")

    @field_validator(
        "contact",
        "info_url",
        "purpose",
        "signing_key",
        "credentials_file",
        "signature_agent",
        "crawl_domain",
        "database_url",
        "broker_url",
        "delay_override_s",
        "frontier_max_per_host",
        "frontier_max_per_crawl",
        "frontier_max",
        mode="before",
    )
    @classmethod
    def _empty_is_unset(cls, value: Any) -> Any:
        return None if value == "" else value

    @field_validator("*", mode="before")
    @classmethod
    def _is_text(cls, value: Any, info: Any) -> Any:
        """Without NUL, which a .env may write as \\x00, and but for paths in UTF-8."""
        if isinstance(value, str) and ("\0" in value or (info.field_name not in _PATHS and not _is_utf8(value))):
            raise ValueError("write it in UTF-8, without NUL")
        return value

    @field_validator("signature_agent")
    @classmethod
    def _key_and_directory_go_together(cls, value: str | None, info: Any) -> str | None:
        key = info.data.get("signing_key")
        if key is not None and value is None:
            needs = f"TIPTOE_SIGNING_KEY={str(key)!r} needs it"
            raise ValueError(f"{needs}: set it to the https origin that shows the public key")
        if key is None and value is not None and "signing_key" in info.data:
            raise ValueError("needs TIPTOE_SIGNING_KEY: a file from `tiptoe botauth keygen`; or unset both")
        return value

    @field_validator("lease_s")
    @classmethod
    def _lease_outlasts_request(cls, value: float, info: Any) -> float:
        deadline = info.data.get("request_deadline_s", 30.0)
        if value < deadline + 5:
            raise ValueError(f"must be at least request_deadline_s + 5 = {deadline + 5:g}")
        return value

    @field_validator("breaker_failures")
    @classmethod
    def _breaker_sees_its_failures(cls, value: int, info: Any) -> int:
        window = info.data.get("adaptive_window", 20)
        if value > window:
            raise ValueError(f"must be at most adaptive_window = {window}: no more results are kept")
        return value

    @property
    def caps_crawls(self) -> bool:
        """Whether crawls, or all of them together, have a cap."""
        return self.frontier_max_per_crawl is not None or self.frontier_max is not None

    @property
    def promise_s(self) -> float:
        """A visit keeps its lease for a start that a shared budget promised it within this."""
        return min(PROMISE_S, self.lease_s / 3)

    @property
    def visit_longest_s(self) -> float:
        """No request of a visit begins later than this after its take-up, but for a wait in line."""
        return self.visit_max_s + self.promise_s

    @property
    def networks(self) -> tuple[Network, ...]:
        """allow_networks, parsed."""
        return tuple(ipaddress.ip_network(value, strict=False) for value in self.allow_networks)

    @property
    def queue_names(self) -> tuple[str, ...]:
        """Every queue a plain worker serves visits from: the hashed ones, then the pinned ones."""
        return (*(f"host-{number:02d}" for number in range(self.queues)), *self.pinned_queues)

    @cached_property
    def fronts(self) -> tuple[tuple[Network, float], ...]:
        """front_gaps_s, parsed; the narrowest network first."""
        pairs = [value.partition("=") for value in self.front_gaps_s]
        parsed = [(ipaddress.ip_network(cidr, strict=False), float(seconds)) for cidr, _, seconds in pairs]
        return tuple(sorted(parsed, key=lambda front: -front[0].prefixlen))


def load(**overrides: Any) -> Settings:
    """Settings from overrides, environment and `.env`, in this order. Raises SettingError, and InputError for a `.env` that cannot
    be read."""
    try:
        return Settings(**overrides)
    except (OSError, UnicodeDecodeError) as error:
        why = f"cannot be read ({error.strerror})" if isinstance(error, OSError) else "is not in UTF-8"
        raise InputError("the file .env", f"{why}; mend it, or take it away") from error
    except ValidationError as error:
        first = error.errors()[0]
        name = "TIPTOE_" + "_".join(str(part) for part in first["loc"][:1]).upper()
        value = "…" if first["loc"][:1] in _SECRETS else repr(first.get("input"))
        what = f"{name} is not set" if first.get("input") is None else f"{name}={value}"
        raise SettingError(what, first["msg"].removeprefix("Value error, ")) from error


@lru_cache(maxsize=1)
def current() -> Settings:
    """The process's settings, read once."""
    return load()


def unknown_variables(settings: type[Settings] = Settings) -> list[str]:
    """TIPTOE_ variables, of the environment and of `.env`, that no setting has: most likely misspelt. `tiptoe doctor` names them."""
    from dotenv import dotenv_values

    known = {"TIPTOE_" + name.upper() for name in settings.model_fields}
    given = {*os.environ, *dotenv_values(_DOTENV)}
    return sorted(name for name in given if name.startswith("TIPTOE_") and name not in known)


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
            else ", ".join(default)
            if isinstance(default, tuple)
            else str(default)
        )
        rows.append(f"| `TIPTOE_{name.upper()}` | {shown} | {field.description} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
