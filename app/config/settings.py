"""The settings that an operator turns: one frozen, typed object. A test holds that docs/settings.md documents each.

The comments between the fields are the headings of that page. Numbers that nobody turns are `Constants`.
"""

import ipaddress
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from app.config import values
from app.config.constants import CONSTANT_PREFIX, Constants
from app.config.values import Network, Words

DOTENV = ".env"
LEASE_MARGIN_S = 5.0  # that a lease has left when a request's deadline is over
PATHS = frozenset({"home", "signing_key", "credentials_file", "archive"})  # these may hold any octets


class _Only(PydanticBaseSettingsSource):
    """A source without the fields that are not wanted."""

    def __init__(self, source: PydanticBaseSettingsSource, is_wanted: Callable[[str], bool]) -> None:
        super().__init__(source.settings_cls)
        self._source = source
        self._is_wanted = is_wanted

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return self._source.get_field_value(field, field_name)

    def __call__(self) -> dict[str, Any]:
        if isinstance(self._source, EnvSettingsSource):
            return self._named(self._source)
        return {name: value for name, value in self._source().items() if self._is_wanted(name)}

    def _named(self, source: EnvSettingsSource) -> dict[str, Any]:
        """The fields that a variable names: to look for each of a hundred takes 2 ms."""
        found = {}
        for name, field in source.settings_cls.model_fields.items():
            if self._is_wanted(name) and f"{source.env_prefix}{name}".lower() in source.env_vars:
                value, key, is_complex = source.get_field_value(field, name)
                if value is not None:  # `NAME` without `=` in .env
                    found[key] = source.prepare_field_value(name, field, value, is_complex)
        return found


class FromEnvironment(BaseSettings):
    """Reads settings from the environment and `.env`, and constants from the environment alone, by a prefix of their own."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        fixed = frozenset(Constants.model_fields)
        by_tests = EnvSettingsSource(settings_cls, env_prefix=CONSTANT_PREFIX)
        return (
            init_settings,
            _Only(env_settings, lambda name: name not in fixed),
            _Only(dotenv_settings, lambda name: name not in fixed),
            _Only(by_tests, lambda name: name in fixed),
        )


class Settings(Constants, FromEnvironment):
    """All settings, environment names prefixed TIPTOE_. Seconds, bytes and counts as the suffix says."""

    model_config = SettingsConfigDict(
        env_prefix="TIPTOE_", env_file=DOTENV, extra="ignore", frozen=True, allow_inf_nan=False
    )

    # Where things are (for those who install Tiptoe)
    home: Path = Field(Path(".tiptoe"), description="Folder of the embedded services' data, logs and sockets.")
    database_url: str | None = Field(
        None, description="Postgres 15 or newer, e.g. postgresql://user@host/db. Unset: embedded."
    )
    broker_url: str | None = Field(
        None, description="Redis, Valkey or RabbitMQ, e.g. redis://host:6379/0. Unset: embedded."
    )
    plugins: Words = Field(
        (),
        description="Plugins to load: names of entry points of the group `tiptoe`, or of modules; `tiptoe plugins` lists them.",
    )
    pool_size: int = Field(16, ge=1, le=1000, description="Postgres connections a process may hold.")
    # Who we are: for everyone who crawls public sites
    product_token: str = Field(
        "Tiptoe",
        pattern=r"^[A-Za-z_-]{1,100}$",
        description="Name matched in robots.txt and sent in User-Agent (RFC 9309 2.2.1: letters, _ and -).",
    )
    contact: str | None = Field(
        None,
        description="Mail address or URL of the person who answers for this crawl. Needed for every public host.",
    )
    info_url: str | None = Field(
        None,
        description="Page that explains to site owners who crawls and how to slow or stop it; sent in User-Agent.",
    )
    purpose: Annotated[str | None, AfterValidator(values.printable)] = Field(
        None,
        description="Purpose of this crawl, in plain words; sent as X-Crawler-Purpose. At most 200 ASCII characters.",
    )
    signing_key: Path | None = Field(
        None,
        description="File with the Ed25519 private key that signs every request (Web Bot Auth); `tiptoe botauth keygen` makes one. Unset: nothing is signed.",
    )
    accept_language: Annotated[str | None, AfterValidator(values.languages)] = Field(
        None,
        description="Accept-Language of every request, e.g. de,en;q=0.8; * for any. Unset: the field is not sent, and a site answers in its own language (RFC 9110 section 12.5.4).",
    )
    signature_agent: Annotated[str | None, AfterValidator(values.origin)] = Field(
        None,
        validate_default=True,
        description="Origin whose /.well-known/http-message-signatures-directory holds the public key, e.g. https://bot.example.org; sig1=https://… is sent as a dictionary, as in the newest draft. Set with signing_key.",
    )
    crawl_addresses: Annotated[Words, AfterValidator(values.addresses)] = Field(
        (),
        description="CIDRs that we crawl from, and the domain of their reverse DNS names, e.g. 198.51.100.0/28 crawl.example.org, for the site owners' page and its addresses.json.",
    )
    # Whom we talk to: for crawls of sites of your own
    allow_networks: Annotated[Words, AfterValidator(values.networks)] = Field(
        (), description="CIDRs beyond the public addresses that may be contacted, e.g. 127.0.0.0/8."
    )
    resolve: Annotated[Words, AfterValidator(values.resolve)] = Field(
        (),
        description="Names with a fixed address, name=address, for staging sites and tests, as curl's --resolve; *.example.org=… is every name right below it. The address must be one that may be contacted.",
    )
    credentials_file: Path | None = Field(
        None,
        description="File (TOML, mode 0600) with headers, a cookie or basic auth for sites of your own, by origin.",
    )
    bad_ports: Annotated[Words, AfterValidator(values.ports)] = Field(
        ("browsers",),
        description="Ports that are never contacted: numbers, and `browsers` for the browsers' list (25, 6667 …).",
    )
    # Pace: for a slower crawl, or a faster one by leave of the site
    default_delay_s: float = Field(
        1.0,
        ge=0,
        le=86_400,
        description="Seconds between the end of a request to a host and the next, where neither the operator nor robots.txt says otherwise.",
    )
    delay_override_s: float | None = Field(
        None,
        ge=0,
        le=86_400,
        description="For emergencies: at least this delay for every host, whatever else applies.",
    )
    address_gap_s: Annotated[float, AfterValidator(values.gap)] = Field(
        0.5,
        ge=0,
        le=86_400,
        description="Seconds between the starts of two requests to one IP address, whatever its hosts; 6 is ten a minute. 0: no budget per address, and no rest of an address as a whole.",
    )
    front_gaps_s: Annotated[Words, AfterValidator(values.fronts)] = Field(
        (),
        description="Known shared fronts (CDNs): CIDR=seconds between two starts for the whole network, e.g. 203.0.113.0/24=0.02.",
    )
    domain_gap_s: Annotated[float, AfterValidator(values.gap)] = Field(
        0.0,
        ge=0,
        le=86_400,
        description="Seconds between the starts of two requests to a registrable domain, all its hosts together. 0: no such budget.",
    )
    requests_per_s_max: float = Field(
        0.0, ge=0, description="Ceiling on the whole fleet's requests per second. 0: none."
    )
    # What is read and kept (for those who design a crawl)
    request_deadline_s: float = Field(
        30.0, gt=0, le=600, description="Seconds for a whole response, DNS and connecting included."
    )
    max_body_bytes: int = Field(
        2 * 1024 * 1024,  # 5 % of real pages have over 1 MiB (WCXB sample), 2 % over 2 MiB
        ge=1024,
        description="Cap on a page's decoded bytes; the rest is not read and the page is marked truncated.",
    )
    keep_text: bool = Field(
        True,
        description="Keep title, language and main text in pages. Off is lean: links, hashes and the fetch log only.",
    )
    tracking_parameters: Words = Field(
        (),
        description="Query parameters dropped besides the built-in list; `*` at the end is a wildcard. "
        "URLs in the frontier stay as they are.",
    )
    log_keep_days: int = Field(
        0,
        ge=0,
        description="Days that requests, visits and refused links are kept in the logs; the audit judges by what is kept. 0: for ever.",
    )
    # The frontier: for crawls that find more than fits
    frontier_max_per_host: int | None = Field(
        100_000,
        ge=1,
        description="URLs of a host that may wait for their first fetch; beyond this (soft) cap the lowest scores are evicted. Empty: any number.",
    )
    frontier_max_per_crawl: int | None = Field(
        None,
        ge=1,
        description="URLs of a crawl that may wait for their first fetch, checked every second. Empty: any number.",
    )
    frontier_max: int | None = Field(
        None,
        ge=1,
        description="URLs of all active crawls together that may wait for their first fetch. Empty: any number.",
    )
    frontier_full: Literal["evict", "defer"] = Field(
        "evict",
        description="Treatment of URLs beyond a cap: evict (they leave the frontier; a link found later may admit them again) or defer (they wait for the next cycle).",
    )
    # The fleet: for workers on several cores and machines
    queues: int = Field(
        32, ge=1, le=250, description="Number of host queues, host-00 and up. Changing it re-maps hosts."
    )
    pinned_queues: Annotated[Words, AfterValidator(values.queues)] = Field(
        (), description="Further queues that hosts can be pinned to; a plain worker serves them too."
    )
    single_active_consumer: bool = Field(
        False,
        description="RabbitMQ delivers each host queue to one worker, and to the next one when that worker is gone (x-single-active-consumer). Delete the queues before changing it.",
    )
    concurrency: int = Field(64, ge=1, le=1000, description="Threads of a worker process.")
    processes: int = Field(
        0,
        ge=0,
        le=256,
        description="Worker processes started by `tiptoe crawl` or `tiptoe up`; 0: one per core, at most 4.",
    )
    # Handlers (for those who extract items)
    handlers: Annotated[Words, AfterValidator(values.one_each)] = Field(
        (),
        description="Modules and files with handlers, e.g. books.py shop.handlers; `tiptoe extract new NAME` writes a first one.",
    )
    handler_variables: Words = Field(
        (),
        description="Names of environment variables that handlers get beside PATH, HOME, LANG and the like, e.g. SHOP_KEY. A database's URL does not belong there.",
    )
    # Rendering (for those who crawl pages that need JavaScript)
    chromium: str | None = Field(
        None,
        description="Chromium that renders pages which are empty without JavaScript, e.g. /usr/lib/chromium/chromium; none: found in the usual places.",
    )
    # Logs (for those who read them)
    log_format: str = Field("console", pattern="^(console|json)$", description="console or json.")
    log_level: str = Field("INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$", description="DEBUG, INFO, WARNING or ERROR.")
    # Metrics (for those who watch a fleet)
    log_trace: int = Field(
        0,
        ge=0,
        description="One URL in so many is logged whenever it is fetched, or refused as a link (`trace.settled`, `trace.refused`); always the same ones. 1: every one; 0: none.",
    )
    metrics: Annotated[str | None, AfterValidator(values.optional_place)] = Field(
        None,
        description="Address and port at which each worker and beat serves its metrics, e.g. 127.0.0.1:0; port 0, or one that is taken, stands for any that is free. Unset: they serve none.",
    )
    # The archive (for those who keep what was fetched)
    archive: str | None = Field(
        None,
        description="Folder of the archive (WARC), or s3://bucket/prefix: closed segments go there from `archive` in TIPTOE_HOME. Unset: that folder.",
    )
    archive_keep_days: int = Field(
        0,
        ge=0,
        description="Days that closed segments are kept; the last body of each page is copied forward. 0: for ever.",
    )
    # The dashboard (for those who use it)
    web_listen: Annotated[str, AfterValidator(values.place)] = Field(
        "127.0.0.1:8800",
        description="Address and port of the dashboard. Anywhere but on loopback it wants users or a proxy; there, without them, the token of the URL that `tiptoe web` prints.",
    )
    web_users: Annotated[Words, AfterValidator(values.users)] = Field(
        (),
        description="Users of the dashboard, NAME:ROLE:HASH, where the role is read or steer; `tiptoe web --new-user NAME` makes one. anyone:read lets everybody look.",
    )
    web_proxy: Annotated[str | None, AfterValidator(values.proxy)] = Field(
        None,
        description="Header in which a proxy names the user who logged in there, and the proxy's network: X-Forwarded-User=10.0.0.7/32. Users that web_users does not name may read.",
    )
    web_hosts: Words = Field(
        (),
        description="Names under which the dashboard is reached, such as crawl.example.org; others are refused, but loopback and its own address.",
    )

    @field_validator(*values.MAY_BE_EMPTY, mode="before")
    @classmethod
    def _empty_is_unset(cls, value: Any) -> Any:
        return None if value == "" else value

    @field_validator("*", mode="before")
    @classmethod
    def _is_text(cls, value: Any, info: Any) -> Any:
        """Check that there is no NUL, which a .env may write as \\x00, and that all but paths is UTF-8."""
        if isinstance(value, str) and ("\0" in value or (info.field_name not in PATHS and not values.is_utf8(value))):
            raise ValueError("write it in UTF-8, without NUL")
        return value

    @field_validator("archive", mode="before")
    @classmethod
    def _is_folder_or_store(cls, value: Any) -> Any:
        return values.folder_or_store(value)

    @field_validator("home")
    @classmethod
    def _can_be_looked_at(cls, value: Path) -> Path:
        return values.path_of_a_folder(value)

    @field_validator("signature_agent")
    @classmethod
    def _key_and_directory_go_together(cls, value: str | None, info: Any) -> str | None:
        return values.directory_of(value, info.data.get("signing_key"), is_known="signing_key" in info.data)

    @field_validator("single_active_consumer")
    @classmethod
    def _only_rabbitmq_has_it(cls, value: bool, info: Any) -> bool:
        return values.of_rabbitmq(value, info.data.get("broker_url", "amqp:"))  # a refused URL has its own error

    @model_validator(mode="after")
    def _lease_outlasts_request(self) -> Self:
        object.__setattr__(self, "lease_s", max(self.lease_s, self.request_deadline_s + LEASE_MARGIN_S))
        return self

    @property
    def signature_origin(self) -> str | None:
        """The origin of the key directory."""
        return None if self.signature_agent is None else self.signature_agent.removeprefix(values.IN_DICTIONARY)

    @property
    def crawl_networks(self) -> tuple[Network, ...]:
        return tuple(
            ipaddress.ip_network(each, strict=False) for each in self.crawl_addresses if values.is_network(each)
        )

    @property
    def crawl_domain(self) -> str | None:
        """The domain of the reverse DNS names of our addresses."""
        return next((each for each in self.crawl_addresses if not values.is_network(each)), None)

    @property
    def visit_longest_s(self) -> float:
        """From a take-up to the start of its last request, but for a wait in line."""
        return self.visit_max_s + self.promise_longest_s

    @property
    def promise_longest_s(self) -> float:
        return min(self.promise_s, self.lease_s / 3)

    def failures_most(self, *, answered: bool) -> int:
        """Failures in a row after which a host, or the robots.txt of an origin, is given up.

        answered: the host has, once, and so has the origin
        """
        return self.host_failures_max if answered else self.new_host_failures_max

    @property
    def caps_crawls(self) -> bool:
        return self.frontier_max_per_crawl is not None or self.frontier_max is not None

    @property
    def networks(self) -> tuple[Network, ...]:
        return tuple(ipaddress.ip_network(value, strict=False) for value in self.allow_networks)

    @property
    def queue_names(self) -> tuple[str, ...]:
        """Every queue a plain worker serves visits from: the hashed ones, then the pinned ones."""
        return (*(f"host-{number:02d}" for number in range(self.queues)), *self.pinned_queues)

    @cached_property
    def fronts(self) -> tuple[tuple[Network, float], ...]:
        """front_gaps_s, parsed; the narrowest network first."""
        return values.parsed_fronts(self.front_gaps_s)
