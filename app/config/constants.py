"""Numbers that nobody needs to turn, each with its reason. Tests shorten them; `.env` and TIPTOE_ variables do not reach them.

A test gives one to a process as TIPTOE_CONSTANT_SETTLE_S=0.1. Make it a setting once an operator needs to change it.
"""

from typing import Any

from pydantic import BaseModel, Field, field_validator

CONSTANT_PREFIX = "TIPTOE_CONSTANT_"  # for processes of tests


class Constants(BaseModel):
    """Seconds, bytes and counts as the suffix says."""

    robots_deadline_s: float = Field(
        10.0,
        gt=0,
        le=600,
        description="Seconds for a whole robots.txt: a file of 500 KiB over a slow network takes less.",
    )
    robots_disallow_s: float = Field(
        12 * 3600.0,
        ge=0,
        description="While robots.txt is out of reach nothing is fetched from its origin for so long: RFC 9309 2.3.1.4 asks for a complete disallow, and a night is the usual outage.",
    )
    robots_copy_s: float = Field(
        30 * 86_400.0,
        ge=0,
        description='The last good copy decides for so long: RFC 9309 2.3.1.4 says "a reasonably long period of time (for example, 30 days)".',
    )
    robots_recheck_s: float = Field(
        3_600.0,
        ge=300,
        description="A 403 or 429 on a page makes us fetch robots.txt again, at most once an hour.",
    )
    changes_keep_days: int = Field(
        90,
        ge=1,
        description="Days that changes of pages are kept, and cursors hold: a reader that looks once a quarter misses none. Of each page that is there the last change stays.",
    )
    retry_after_max_s: float = Field(
        86_400,
        ge=1,
        description="Cap on Retry-After: a typing error must not close a host for years. The raw value is kept.",
    )
    crawl_delay_max_s: float = Field(
        86_400,
        ge=1,
        description="Cap on robots.txt Crawl-delay: a typing error must not close a host for years. The raw value is kept.",
    )
    latency_factor: float = Field(
        2.0,
        ge=0,
        description="The delay is at least so many times the moving average of the host's latency: a site that answers one request at a time gives us a third of its capacity at most. 0: no such floor.",
    )
    adaptive_level_max: int = Field(
        8,
        ge=0,
        le=16,
        description="Most doublings of the delay: 256 times is four minutes at a delay of 1 s. 0 turns the adaptive delay off.",
    )
    attempts_max: int = Field(
        3,
        ge=1,
        le=100,
        description="Tries of a URL that fails by itself (5xx, broken answers) before it is quarantined: three failures in a row are seldom chance.",
    )
    recrawl_base_s: float = Field(
        7 * 86_400,
        gt=0,
        description="First recrawl interval of a page, where its crawl has no profile that says another: a week, until its changes are known.",
    )
    jitter: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Share of the delay that is added at random, from 0 up to this, so that hosts fall out of step.",
    )
    backoff_base_s: float = Field(
        10.0,
        gt=0,
        description="Rest of a host after its first 429, 503 or connection failure in a row; doubles with each, up to an hour.",
    )
    backoff_max_s: float = Field(
        3_600, gt=0, description="Longest rest after a 429, 503 or connection failure: an hour."
    )
    host_failures_max: int = Field(
        12,
        ge=1,
        description="Give up a host that has answered before after this many 429, 503 and failures to connect in a row: twelve take over six hours.",
    )
    new_host_failures_max: int = Field(
        4, ge=1, description="Give up a host that has never answered after this many: most of these never will."
    )
    challenge_rest_s: float = Field(
        86_400.0,
        gt=0,
        description="Rest of a host that answers with a challenge or a CAPTCHA, or with 402 again and again: asking again the same day looks like an attack.",
    )
    adaptive_window: int = Field(
        20, ge=1, le=100, description="Number of a host's last results that the adaptive delay considers."
    )
    adaptive_base_min_s: float = Field(
        1.0, gt=0, description="The least delay that is doubled: doubling 0 would change nothing."
    )
    adaptive_429_levels: int = Field(
        3,
        ge=0,
        description="Doublings for a 429, and for a page that says we are blocked: the host explicitly asks for less.",
    )
    adaptive_503_levels: int = Field(
        2, ge=0, description="Doublings for a 503: it may be the load, it may be a deploy."
    )
    adaptive_5xx_in_a_row: int = Field(
        5,
        ge=1,
        description="Other 5xx in a row that double the delay once: single ones are pages that fail by themselves.",
    )
    adaptive_slow_s: float = Field(
        2.0, gt=0, description="Mean latency of the window above which the delay doubles once."
    )
    adaptive_healthy_errors: float = Field(
        0.1, gt=0, le=1, description="Share of errors in the window below which a good answer takes one doubling back."
    )
    latency_weight: float = Field(
        0.2, gt=0, le=1, description="Weight of the newest latency in the moving average: five answers turn it."
    )
    breaker_failures: int = Field(
        10, ge=1, le=100, description="5xx and missing answers in a row that close a host. At most adaptive_window."
    )
    breaker_base_s: float = Field(
        3_600.0, gt=0, description="First rest of a host that the breaker closed; doubles until a probe is answered."
    )
    breaker_max_s: float = Field(86_400.0, gt=0, description="Longest rest by the breaker: a day.")
    idle_connection_s: float = Field(
        30.0,
        gt=0,
        description="Idle kept-alive connections are closed after this: most servers close theirs after 5 to 75 s.",
    )
    offers_max: int = Field(
        128,
        ge=1,
        description="Dispatch stops while this many offers are not taken up, a queue at half of it: as many as two processes of workers take at once.",
    )
    offer_s: float = Field(
        10.0,
        gt=0,
        description="A host offered to a queue and not taken up for this long is due again: a message arrives within a second, or not at all.",
    )
    lease_s: float = Field(
        60.0,
        gt=0,
        description="A taken lease, extended at each settle; at least request_deadline_s and 5 s more. A host whose worker was killed rests for so long.",
    )
    stall_s: float = Field(
        60.0,
        ge=0,
        description="A worker or beat that makes no progress for so long while work is due ends itself, so that its supervisor starts another: a minute is twice the longest request. 0: never.",
    )
    dispatch_tick_s: float = Field(
        0.25, gt=0, le=10, description="Beat claims due hosts this often: a claim takes some 8 ms."
    )
    visit_max_s: float = Field(
        20.0, gt=0, description="A visit leaves its host after this long, so that a pause or a new rule takes effect."
    )
    promise_s: float = Field(
        20.0,
        gt=0,
        description="A visit keeps its lease for a start that a shared budget promised within this: a front with a gap of 20 ms has promised a thousand by then.",
    )
    linger_s: float = Field(
        0.25,
        ge=0,
        description="A visit waits for the host's next contact in its thread when the wait is at most this; it is parked for a longer one.",
    )
    settle_urls: int = Field(
        50, ge=1, le=1000, description="Settle after this many URLs, the most that a crash repeats, …"
    )
    settle_s: float = Field(2.0, gt=0, description="… or this many seconds.")
    max_links: int = Field(
        20_000,
        ge=1,
        description="Further links of one page are ignored, and pages.links_cut says so: each costs a row.",
    )
    suppressions_max: int = Field(
        1_000_000, ge=0, description="Refused links that are kept for a crawl, the latest ones; 0: all."
    )
    bloom_keys: int = Field(
        10_000_000,
        ge=0,
        description="Keys of a worker's Bloom filter, which stands in for crawls too large for its table of known keys: 1.2 bytes each, once it is needed; 0: none. Ten million cost 12 MB.",
    )
    parse_deadline_s: float = Field(
        10.0,
        gt=0,
        le=600,
        description="Processor seconds that reading a page may take in isolation; three times as much by the clock, and never more than the lease leaves.",
    )
    parse_memory_bytes: int = Field(
        512 * 1024 * 1024,
        ge=128 * 1024 * 1024,
        description="Address space of such a process. A page of max_body_bytes can take some 90 times that.",
    )
    handler_deadline_s: float = Field(
        30.0,
        gt=0,
        le=600,
        description="Seconds that a handler may take for one page, by the clock, where it is declared with no deadline_s; then its process ends.",
    )
    render_s: float = Field(
        30.0,
        ge=1,
        le=300,
        description="Seconds that a browser may take for one page; longer at a slow host, as far as a lease reaches.",
    )
    render_requests: int = Field(
        50,
        ge=0,
        le=1_000,
        description="Requests that one page may make while it is rendered: each takes a start of its host's pace.",
    )
    handler_memory_bytes: int = Field(
        2 * 1024**3,
        ge=256 * 1024**2,
        description="Address space of a process with handlers: a tree of a page of 50 MiB takes 500, a large library as much.",
    )
    recrawl_min_s: float = Field(3_600, gt=0, description="Shortest recrawl interval.")
    recrawl_max_s: float = Field(
        90 * 86_400, gt=0, description="Longest recrawl interval: each page is fetched once a season."
    )
    sitemap_interval_s: float = Field(
        86_400, gt=0, description="First interval between two readings of a sitemap, in crawls that keep fresh."
    )

    services_stay_s: float = Field(
        60.0,
        ge=0,
        le=86_400,
        description="The embedded Postgres and Valkey run on for so long after the last command that used them: their start takes a few seconds, of which the next command has none.",
    )

    archive_segment_bytes: int = Field(
        256 * 1024 * 1024,
        ge=1024,
        description="A segment of the archive is closed at this size: some 60,000 pages, read through in a few seconds, …",
    )
    archive_segment_s: float = Field(
        3_600.0,
        gt=0,
        description="… or after this long: what a dead node's disk takes with it, where closed segments are uploaded.",
    )
    archive_reserve_bytes: int = Field(
        256 * 1024 * 1024,
        ge=0,
        description="While the archive's disk has less free, nothing is fetched: Postgres may share it, and needs more to recover than it needs to run.",
    )
    archive_spool_bytes: int = Field(
        4 * 1024 * 1024 * 1024,
        ge=1024,
        description="Closed segments that wait on a node's disk for the object store; beyond this nothing is fetched there. Some hours of a store that is down.",
    )

    @field_validator("breaker_failures")
    @classmethod
    def _breaker_sees_its_failures(cls, value: int, info: Any) -> int:
        window = info.data.get("adaptive_window", 20)
        if value > window:
            raise ValueError(f"must be at most adaptive_window = {window}: no more results are kept")
        return value


def variable(name: str) -> str:
    """The environment variable of a setting, or of a constant."""
    return (CONSTANT_PREFIX if name in Constants.model_fields else "TIPTOE_") + name.upper()
