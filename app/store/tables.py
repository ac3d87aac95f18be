"""The core's declared tables, for Alembic and for the test that `upgrade head` equals them. Queries live in .sql files.

A feature declares its own in its `schema.py`; `app.features.schema` has all of them.

Every hot key leads with `host_id`, so that Postgres can later be split by it. `urls`, `fetches`, `visits` and `pages`
carry no foreign keys: hosts and crawls are never deleted, and a key check per row would cost more than the row.
`page_search` has one, on `pages`: no words outlive their page, whoever deletes it.

`fetches` and `visits` are partitioned by time, so that old rows go by dropping a table (app.beat.rotate_logs makes and
drops the partitions; they are not declared here).
"""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import (
    REAL,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    Date,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    TextClause,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, INET, JSONB, TIMESTAMP, UUID
from sqlalchemy.types import TypeEngine

from app.model.crawl import OPTIONS, Kind

metadata = MetaData(
    naming_convention={
        "ix": "%(column_0_label)s_idx",
        "uq": "%(table_name)s_%(column_0_name)s_key",
        "ck": "%(table_name)s_%(constraint_name)s",
        "pk": "%(table_name)s_pkey",
        "fk": "%(table_name)s_%(column_0_name)s_fkey",
    }
)
Time = TIMESTAMP(timezone=True)
NOW = text("clock_timestamp()")


def identity() -> Column[int]:
    """The column of a row's number."""
    return Column("id", BigInteger, Identity(always=True), primary_key=True)


_COMMENTS = {  # of columns of a crawl's options
    "include": "regular expressions; a URL must match one, if there are any",
    "exclude": "regular expressions; a URL must match none",
    "max_seconds": "since active_since",
    "every_s": "from the beginning of a round to the next; 0: by hand",
    "keep_fresh": "due pages are fetched again by themselves and the crawl does not end",
    "sitemaps": "declared: those that robots.txt names; all: also /sitemap.xml where it names none; none",
    "honour_opt_outs": "pages whose owner reserves text and data mining are not kept",
    "profile": "what it values: the name of a shipped profile, or a TOML text",
    "render": "pages that a browser opens: auto (those that are empty without JavaScript), never, always",
    "keep_links": "links are kept, in `links`",
    "handlers": "names of the handlers that get its pages; none: every handler that is loaded and fits",
    "search": "the words of its pages are indexed for tiptoe search",
    "archive": "answers are kept in the archive, with their bodies",
    "near_duplicates": "pages are compared with each other, to find those that say nearly the same",
}
_TYPES: dict[Kind, TypeEngine[Any]] = {"flag": Boolean(), "list": ARRAY(Text), "whole": BigInteger()}
_TYPES |= {"number": Double(), "interval": Double()}


def _options() -> Iterator[Column[Any] | CheckConstraint]:
    """The columns of a crawl's options."""
    for name, option in OPTIONS.items():
        of_type = Integer() if name == "max_depth" else _TYPES.get(option.kind, Text())
        usual = None if name == "scope" else _usual(option.default)
        is_null = option.default is None
        yield Column(name, of_type, nullable=is_null, server_default=usual, comment=_COMMENTS.get(name))
        if option.kind == "choice":
            yield CheckConstraint(f"{name} IN ({', '.join(map(repr, option.choices))})", name=f"{name}_known")


def _usual(value: object) -> TextClause | None:
    match value:
        case None:
            return None
        case bool():
            return text(str(value).lower())
        case float():
            return text(f"{value:g}")
        case tuple():
            return text("'{}'")
        case _:
            return text(f"'{value}'")


crawls = Table(
    "crawls",
    metadata,
    identity(),
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False, server_default=text("'active'")),
    Column(
        "scope_hosts",
        ARRAY(Text),
        nullable=False,
        server_default=text("'{}'"),
        comment="hostnames of the seeds",
    ),
    Column(
        "scope_domains",
        ARRAY(Text),
        nullable=False,
        server_default=text("'{}'"),
        comment="registrable domains of the seeds",
    ),
    Column(
        "scope_prefixes",
        ARRAY(Text),
        nullable=False,
        server_default=text("'{}'"),
        comment="seed URLs up to their last slash",
    ),
    Column(
        "scope_redirects",
        ARRAY(Text),
        nullable=False,
        server_default=text("'{}'"),
        comment="folders of URLs that seeds redirected to: hosts, or prefixes, that came into the scope",
    ),
    Column("round_at", Time, comment="when the next round begins by itself"),
    Column(
        "round",
        Integer,
        nullable=False,
        server_default=text("1"),
        comment="how many times --again has gone round, plus one",
    ),
    Column(
        "revision",
        Integer,
        nullable=False,
        server_default=text("1"),
        comment="raised when scope or patterns change, so that workers read them anew",
    ),
    Column(
        "pages_reserved",
        BigInteger,
        nullable=False,
        server_default=text("0"),
        comment="pages done or granted to running visits, where max_pages is set",
    ),
    Column("pages_held_until", Time, comment="visits taken up later hold no page granted so far"),
    Column(
        "recrawl_price_s",
        Double,
        comment="page-seconds of freshness that a recrawl must buy, by the profile's budget; NULL: there is none",
    ),
    Column(
        "search_from",
        BigInteger,
        comment="search was switched; still to be done for the pages of hosts above this id; NULL: it is done",
    ),
    Column("ended_because", Text),
    Column("ended_detail", Text, comment="more of ended_because, for a person"),
    Column("created_at", Time, nullable=False, server_default=NOW),
    Column("active_since", Time, nullable=False, server_default=NOW),
    Column("finished_at", Time),
    Column("state_since", Time, nullable=False, server_default=NOW, comment="when its state last changed"),
    Column(
        "admits_above",
        REAL,
        comment="the frontier is full: only links with a higher score are admitted; NULL: all",
    ),
    *_options(),
    UniqueConstraint("name"),
    CheckConstraint("state IN ('active', 'paused', 'finished')", name="state_known"),
    CheckConstraint(
        "ended_because IN ('done', 'max_pages', 'max_bytes', 'max_seconds', 'operator', 'other')", name="ending_known"
    ),
    CheckConstraint("(state = 'finished') = (finished_at IS NOT NULL)", name="finished_has_time"),
    comment="A crawl: scope, budgets, state. Ends by itself when no URL of it is in an open state.",
)

hosts = Table(
    "hosts",
    metadata,
    identity(),
    Column("name", Text, nullable=False, comment="hostname, lower case, IDNA; all its origins share its pace"),
    Column("domain", Text, comment="registrable domain"),
    Column("queue", Text, nullable=False, comment="the Celery queue its visits go to"),
    Column(
        "pinned",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="queue was chosen by an operator",
    ),
    Column("state", Text, nullable=False, server_default=text("'idle'")),
    Column("pause_requested", Boolean, nullable=False, server_default=text("false")),
    Column(
        "next_fetch_at",
        Time,
        comment="due from then on; NULL: nothing queued (or paused). While a lease runs: its end plus the delay",
    ),
    Column(
        "polite_at",
        Time,
        nullable=False,
        server_default=NOW,
        comment="no contact before: end of the last request plus the delay",
    ),
    Column("blocked_until", Time, comment="no contact before: the host rests, for the reason in resting_because"),
    Column("resting_because", Text),
    Column("resting_detail", Text, comment="more of resting_because, for a person"),
    Column("lease_token", UUID(as_uuid=True)),
    Column("lease_until", Time),
    Column("taken_at", Time, comment="NULL while the lease is only offered"),
    Column(
        "offers_missed",
        Integer,
        nullable=False,
        server_default=text("0"),
        comment="offers in a row that no worker took up",
    ),
    Column("delay_s", Double, nullable=False, comment="delay in force"),
    Column("delay_override_s", Double, comment="operator's base delay, before robots.txt and the default"),
    Column("robots_delay_s", Double, comment="robots.txt Crawl-delay of our group, the largest of its origins"),
    Column(
        "failures",
        Integer,
        nullable=False,
        server_default=text("0"),
        comment="429, 503 and failures to connect in a row",
    ),
    Column(
        "adaptive_level",
        SmallInteger,
        nullable=False,
        server_default=text("0"),
        comment="doublings of the delay, 0 to 8, by how the host answers",
    ),
    Column(
        "recent_statuses",
        ARRAY(SmallInteger),
        nullable=False,
        server_default=text("'{}'"),
        comment="its last 20 results, oldest first: HTTP status, 0 for no answer",
    ),
    Column(
        "recent_ms",
        ARRAY(Integer),
        nullable=False,
        server_default=text("'{}'"),
        comment="their milliseconds to the first byte; NULL where none counts",
    ),
    Column("latency_s", Double, comment="moving average of the seconds to the first byte"),
    Column(
        "breaker_trips",
        SmallInteger,
        nullable=False,
        server_default=text("0"),
        comment="times in a row that the circuit breaker closed the host",
    ),
    Column("quiet_hours", Text, comment="an operator's: no contact within, UTC, such as 08:00-18:00"),
    Column(
        "isolate",
        Integer,
        nullable=False,
        server_default=text("0"),
        comment="URLs still to be taken one at a time, their attempt counted first: a taken lease ran out",
    ),
    Column("address", INET, comment="address of the last connection"),
    Column("last_contact_at", Time),
    Column("answered_at", Time, comment="last response of any kind"),
    Column("created_at", Time, nullable=False, server_default=NOW),
    Column(
        "unfetched",
        Integer,
        nullable=False,
        server_default=text("0"),
        comment="queued URLs of active crawls that wait for their first fetch: an estimate, for the cap per host",
    ),
    Column("unfetched_at", Time, nullable=False, server_default=NOW, comment="when they were last counted"),
    Column(
        "dropped_parameters",
        ARRAY(Text),
        nullable=False,
        server_default=text("'{}'"),
        comment="query parameters that change nothing there, and are not sent: chosen by an operator",
    ),
    UniqueConstraint("name"),
    CheckConstraint("state IN ('idle', 'offered', 'taken', 'paused')", name="state_known"),
    CheckConstraint("(state IN ('offered', 'taken')) = (lease_token IS NOT NULL)", name="lease_has_token"),
    CheckConstraint("(lease_token IS NULL) = (lease_until IS NULL)", name="token_has_deadline"),
    CheckConstraint("(state = 'taken') = (taken_at IS NOT NULL)", name="taken_has_time"),
    CheckConstraint("state NOT IN ('offered', 'taken') OR next_fetch_at IS NOT NULL", name="leased_is_due_again"),
    CheckConstraint("state <> 'paused' OR next_fetch_at IS NULL", name="paused_is_not_due"),
    Index("hosts_due", "queue", "next_fetch_at", postgresql_where=text("next_fetch_at IS NOT NULL")),
    Index("hosts_offered", "lease_until", postgresql_where=text("state = 'offered'")),
    Index("hosts_pausing", "lease_until", postgresql_where=text("pause_requested")),
    Index("hosts_quiet", "id", postgresql_where=text("state = 'idle' AND next_fetch_at IS NULL")),
    Index("hosts_domain", "domain"),
    Index("hosts_dropping", "name", postgresql_where=text("dropped_parameters <> '{}'")),
    comment="A host: pace, block, lease. The unit of politeness.",
)

urls = Table(
    "urls",
    metadata,
    Column("host_id", BigInteger, nullable=False),
    Column("crawl_id", BigInteger, nullable=False),
    Column("key", LargeBinary, nullable=False, comment="SHA-256 of the canonical URL"),
    Column("id", BigInteger, Identity(always=True), nullable=False, comment="order of admission"),
    Column("url", Text, nullable=False, comment="as sent"),
    Column("state", Text, nullable=False),
    Column("kind", Text, nullable=False, server_default=text("'page'"), comment="page or sitemap"),
    Column("lane", SmallInteger, nullable=False, comment="front queue p0 to p3"),
    Column("score", REAL, nullable=False),
    Column("depth", Integer, nullable=False, comment="links from the nearest seed"),
    Column(
        "hops",
        SmallInteger,
        nullable=False,
        server_default=text("0"),
        comment="redirects in a row that led here",
    ),
    Column(
        "attempts",
        SmallInteger,
        nullable=False,
        server_default=text("0"),
        comment="tries spent since the last good one",
    ),
    Column(
        "network_failures",
        SmallInteger,
        nullable=False,
        server_default=text("0"),
        comment="of these: answers that broke off",
    ),
    Column("server_failures", SmallInteger, nullable=False, server_default=text("0"), comment="of these: 5xx"),
    Column(
        "parse_failures",
        SmallInteger,
        nullable=False,
        server_default=text("0"),
        comment="of these: visits that died while they had it",
    ),
    Column(
        "retrying",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="resting for a retry, not for a recrawl: an open state",
    ),
    Column("due_at", Time, comment="resting, gone, and alias by a canonical: when to look again"),
    Column("interval_s", Double, comment="recrawl interval"),
    Column("score_parts", Integer, comment="components of the score as it was admitted: app.policy.focus.score"),
    Column("change_shape", REAL, comment="belief about how often it changes: shape of a Gamma distribution"),
    Column("change_s", REAL, comment="of the same, its seconds; change_s / change_shape: from one change to the next"),
    Column("etag", Text),
    Column("last_modified", Text),
    Column("body_sha256", LargeBinary),
    Column("text_sha256", LargeBinary, comment="of the main text: what changed is judged by it"),
    Column(
        "reader",
        SmallInteger,
        comment="version of the reader that text_sha256 is from, of a page that is not kept",
    ),
    Column("status", SmallInteger),
    Column("outcome", Text, comment="of the last fetch"),
    Column("cause", Text, comment="why refused, quarantined, or kept out of pages"),
    Column("detail", Text, comment="more of the cause, for a person"),
    Column("alias_of", Text, comment="canonical URL that holds the document"),
    Column("found_on", Text, comment="URL of the page that first linked here; NULL for seeds"),
    Column("directives", Text, comment="of X-Robots-Tag and meta robots, for us"),
    Column("opt_out", Text, comment="signals of the owner about text and data mining"),
    Column("sitemap_id", BigInteger, comment="sitemap that lists it with a lastmod"),
    Column("lastmod", Time, comment="as that sitemap says"),
    Column("admitted_at", Time, nullable=False, server_default=NOW),
    Column("fetched_at", Time),
    Column("changed_at", Time),
    Column("gone_at", Time, comment="since when it is gone; it stays until a fetch brings the page again"),
    Column("linked", Text, comment="path and query as linked, where tracking or session parameters are not sent"),
    PrimaryKeyConstraint("host_id", "crawl_id", "key"),
    CheckConstraint("state IN ('queued', 'resting', 'refused', 'gone', 'quarantined', 'alias')", name="state_known"),
    CheckConstraint("state <> 'resting' OR due_at IS NOT NULL", name="resting_has_time"),
    CheckConstraint("state <> 'alias' OR alias_of IS NOT NULL", name="alias_has_home"),
    CheckConstraint("NOT retrying OR state = 'resting'", name="retrying_rests"),
    CheckConstraint("kind IN ('page', 'sitemap')", name="kind_known"),
    CheckConstraint("state NOT IN ('refused', 'quarantined') OR cause IS NOT NULL", name="ended_has_cause"),
    Index(
        "urls_queue",
        "crawl_id",
        "host_id",
        "lane",
        text("score DESC"),
        "id",
        postgresql_where=text("state = 'queued'"),
    ),
    Index("urls_due", "crawl_id", "due_at", postgresql_where=text("state IN ('resting', 'gone', 'alias')")),
    Index("urls_retry", "crawl_id", "due_at", postgresql_where=text("state = 'resting' AND retrying")),
    Index("urls_refused", "host_id", "crawl_id", "key", postgresql_where=text("state = 'refused'")),
    comment="The frontier: one row per (crawl, canonical URL).",
)

robots = Table(
    "robots",
    metadata,
    Column("host_id", BigInteger, ForeignKey("hosts.id"), nullable=False),
    Column("scheme", Text, nullable=False),
    Column("port", Integer, nullable=False),
    Column(
        "availability",
        Text,
        nullable=False,
        comment="RFC 9309 2.3.1: available, unavailable (allow all), unreachable (disallow all)",
    ),
    Column("status", SmallInteger),
    Column("detail", Text),
    Column("body", LargeBinary, comment="as received, at most 500 KiB"),
    Column("body_sha256", LargeBinary, Computed("sha256(body)", persisted=True)),
    Column("etag", Text),
    Column("last_modified", Text),
    Column("fetched_at", Time, nullable=False, comment="last attempt"),
    Column("expires_at", Time, nullable=False, comment="fetched anew before the next request after that"),
    Column("unreachable_since", Time),
    Column(
        "failures", Integer, nullable=False, server_default=text("0"), comment="times in a row that it was out of reach"
    ),
    Column("crawl_delay_raw", Text),
    Column("crawl_delay_s", Double),
    Column("sitemaps", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    Column(
        "tdmrep", LargeBinary, comment="/.well-known/tdmrep.json, for crawls that honour opt-outs; empty: there is none"
    ),
    Column("tdmrep_at", Time, comment="when it was asked for"),
    PrimaryKeyConstraint("host_id", "scheme", "port"),
    CheckConstraint("availability IN ('available', 'unavailable', 'unreachable')", name="availability_known"),
    CheckConstraint("(availability = 'unreachable') = (unreachable_since IS NOT NULL)", name="unreachable_has_time"),
    comment="robots.txt of an origin: one copy for the fleet.",
)

visits = Table(
    "visits",
    metadata,
    Column("id", BigInteger, Identity(always=True), nullable=False),
    Column("host_id", BigInteger, nullable=False),
    Column("token", UUID(as_uuid=True), nullable=False),
    Column("queue", Text, nullable=False),
    Column("worker", Text, nullable=False),
    Column("taken_at", Time, nullable=False),
    Column(
        "ended_at",
        Time,
        comment="NULL: running, or ended without a word; then its last batch may have gone unlogged",
    ),
    Column("ending", Text),
    Column("detail", Text, comment="more of the ending, for a person"),
    Column("fetches", Integer, nullable=False, server_default=text("0")),
    PrimaryKeyConstraint("id", "taken_at"),
    Index("visits_host", "host_id", "taken_at"),
    Index("visits_open", "host_id", postgresql_where=text("ended_at IS NULL AND ending IS NULL")),
    postgresql_partition_by="RANGE (taken_at)",
    comment="One worker's exclusive, bounded stay at one host.",
)

fetches = Table(
    "fetches",
    metadata,
    Column("id", BigInteger, Identity(always=True), nullable=False),
    Column("host_id", BigInteger, nullable=False),
    Column("crawl_id", BigInteger, comment="NULL for robots.txt and tdmrep.json"),
    Column("visit_id", BigInteger, nullable=False),
    Column("url_key", LargeBinary, nullable=False),
    Column("url", Text, nullable=False),
    Column("kind", Text, nullable=False, comment="page, sitemap, robots, tdmrep"),
    Column("reason", Text, nullable=False, comment="new, recrawl, retry; robots"),
    Column("started_at", Time, nullable=False, comment="database time, exact within a visit"),
    Column("ended_at", Time, nullable=False),
    Column("delay_s", Double, nullable=False, comment="delay in force when it started"),
    Column("address_budget", Text, comment="address or network whose budget it drew on"),
    Column("address_gap_s", Double, comment="seconds between two starts that this budget allows"),
    Column("rest_s", Double, comment="the host was to be left alone this long after it"),
    Column("address", INET),
    Column("status", SmallInteger),
    Column("outcome", Text, nullable=False),
    Column("failure", Text),
    Column("detail", Text),
    Column("location", Text, comment="of a redirect, as sent"),
    Column("retry_after", Text, comment="as sent"),
    Column("content_type", Text),
    Column("wire_bytes", BigInteger, nullable=False),
    Column("body_bytes", BigInteger, nullable=False),
    Column("truncated", Boolean, nullable=False),
    Column("dns_ms", REAL),
    Column("connect_ms", REAL),
    Column("first_byte_ms", REAL),
    Column("total_ms", REAL, nullable=False),
    Column("conditional", Boolean, nullable=False),
    Column("etag", Text),
    Column("last_modified", Text),
    Column("body_sha256", LargeBinary),
    Column("attempt", SmallInteger, nullable=False),
    Column(
        "fenced",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="the visit had lost its lease: logged, and nothing else of it was kept",
    ),
    Column("contacted_at", Time, comment="when its connection was begun, where that was ahead of its start"),
    Column("segment_id", BigInteger, comment="segment that holds its response; NULL: it is not in the archive"),
    Column("at_offset", BigInteger, comment="where in the segment its record begins"),
    Column("length", BigInteger, comment="bytes of the record there, a gzip member"),
    PrimaryKeyConstraint("started_at", "id"),
    CheckConstraint("ended_at >= started_at", name="ends_after_start"),
    Index("fetches_host", "host_id", "started_at"),
    Index("fetches_url", "host_id", text("substr(url_key, 1, 8)"), "started_at"),
    Index("fetches_budget", text('address_budget COLLATE "C"'), postgresql_where=text("address_budget IS NOT NULL")),
    postgresql_partition_by="RANGE (started_at)",
    comment="The fetch log: every request that was settled, robots.txt included.",
)

pages = Table(
    "pages",
    metadata,
    Column("host_id", BigInteger, nullable=False),
    Column("crawl_id", BigInteger, nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("url", Text, nullable=False),
    Column("status", SmallInteger, nullable=False),
    Column("content_type", Text),
    Column("charset", Text),
    Column("language", Text, comment="BCP 47, as the page declares it"),
    Column("language_detected", Text, comment="ISO 639, of the main text, where none is declared"),
    Column("title", Text),
    Column("headline", Text, comment="what stands over the page: an h1 that its titles share, else its title"),
    Column("author", Text, comment="as JSON-LD, meta or a link name it"),
    Column("description", Text),
    Column("data", JSONB, comment="what the page says of itself: og, meta, json-ld; 16 KiB, then cut is true"),
    Column("published_at", Time, comment="as the page says"),
    Column("published_from", Text, comment="where it says so: json-ld, meta, time, text, url"),
    Column("published_on", Date, comment="the day of published_at in the page's own zone"),
    Column("modified_at", Time, comment="as the page says"),
    Column("modified_from", Text, comment="where it says so: json-ld, meta, time"),
    Column("modified_on", Date, comment="the day of modified_at in the page's own zone"),
    Column("main_text", Text),
    Column("body_sha256", LargeBinary, nullable=False),
    Column("text_sha256", LargeBinary, nullable=False),
    Column("body_bytes", BigInteger, nullable=False),
    Column("truncated", Boolean, nullable=False),
    Column("links", Integer, nullable=False),
    Column("canonical_url", Text, comment="rel=canonical, joined"),
    Column("directives", Text, comment="of X-Robots-Tag and meta robots, for us"),
    Column("opt_out", Text, comment="signals of the owner about text and data mining"),
    Column("depth", Integer, nullable=False),
    Column("first_fetched_at", Time, nullable=False),
    Column("fetched_at", Time, nullable=False),
    Column("changed_at", Time, nullable=False),
    Column(
        "rendered_at", Time, comment="when a browser made the document that this row says; NULL: it is the plain answer"
    ),
    Column("needs_script", JSONB, comment="evidence that it is empty without JavaScript; NULL: it is not"),
    Column(
        "links_cut",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="it has more links than are read of a page, or written at a settle",
    ),
    Column(
        "reader",
        SmallInteger,
        comment="version of the reader that the text is from; NULL: of a release that noted none",
    ),
    PrimaryKeyConstraint("host_id", "crawl_id", "key"),
    Index("pages_body", "crawl_id", "body_sha256"),
    Index("pages_text", "crawl_id", "text_sha256"),
    Index("pages_reader", "reader", "crawl_id"),
    Index("pages_needs_script", "crawl_id", "host_id", postgresql_where=text("needs_script IS NOT NULL")),
    comment="What the documents say: title, language, main text. Not written when keep_text is off.",
)

crawl_metrics = Table(
    "crawl_metrics",
    metadata,
    Column("crawl_id", BigInteger, nullable=False),
    Column("at", Time, nullable=False, comment="end of the time that the row is about"),
    Column("seconds", Double, nullable=False, comment="its length"),
    Column("requests", BigInteger, nullable=False, comment="for pages"),
    Column("pages", BigInteger, nullable=False, comment="of these: brought a page for the first time"),
    Column("recrawls", BigInteger, nullable=False, comment="of these: of pages that were fetched before"),
    Column("density_ratio", Double, comment="of the requests: brought a text that no other page of the crawl has"),
    Column("p1_coverage_rate", Double, comment="of the URLs in p0 and p1 that may be fetched: that were (a sample)"),
    Column("avg_staleness_days", Double, comment="since a page was last looked at (a sample)"),
    Column("discard_rate", Double, comment="of the links that were new: refused"),
    Column("change_yield", Double, comment="of the recrawls: found a change"),
    Column("fetch_success_rate", Double, comment="of the requests: a page, unchanged, or a redirect"),
    Column("avg_response_time_ms", Double),
    Column("frontier_depth", BigInteger, comment="URLs that wait (a sample)"),
    Column("duplicate_discard_rate", Double, comment="of the new pages: repeat another"),
    Column("robots_denials", BigInteger, comment="URLs that robots.txt refuses (a sample)"),
    PrimaryKeyConstraint("crawl_id", "at"),
    comment="What each crawl's minutes were like, written by beat. NULL: there was nothing to measure it by.",
)

suppressions = Table(
    "suppressions",
    metadata,
    Column("crawl_id", BigInteger, nullable=False),
    Column("key", LargeBinary, nullable=False, comment="SHA-256 of url"),
    Column("reason", Text, nullable=False, comment="closed list: app.model.Refusal"),
    Column("url", Text, nullable=False),
    Column("detail", Text),
    Column("found_on", Text),
    Column("first_at", Time, nullable=False, server_default=NOW),
    Column("last_at", Time, nullable=False, server_default=NOW),
    Column(
        "count",
        BigInteger,
        nullable=False,
        server_default=text("1"),
        comment="times met, counted once a visit at most",
    ),
    PrimaryKeyConstraint("crawl_id", "key", "reason"),
    Index("suppressions_age", "crawl_id", "last_at"),
    comment="Links that were not admitted, and why.",
)

crawl_hosts = Table(
    "crawl_hosts",
    metadata,
    Column("crawl_id", BigInteger, nullable=False),
    Column("host_id", BigInteger, nullable=False),
    Column("pages", BigInteger, nullable=False, server_default=text("0")),
    Column("fetches", BigInteger, nullable=False, server_default=text("0")),
    Column("failed", BigInteger, nullable=False, server_default=text("0")),
    Column("bytes", BigInteger, nullable=False, server_default=text("0"), comment="body bytes on the wire"),
    Column("last_fetch_at", Time),
    PrimaryKeyConstraint("crawl_id", "host_id"),
    comment="What a crawl got from a host in this round; written only under the host's lease.",
)

crawl_counts = Table(
    "crawl_counts",
    metadata,
    Column("crawl_id", BigInteger, nullable=False),
    Column("part", SmallInteger, nullable=False, comment="each session adds to one, by the number of its process"),
    Column("pages", BigInteger, nullable=False, comment="may be negative: the parts' sum is what counts"),
    Column("bytes", BigInteger, nullable=False, comment="the same"),
    PrimaryKeyConstraint("crawl_id", "part"),
    comment="Sums of crawl_hosts, by crawl, in parts; each writer of crawl_hosts keeps them in the same transaction.",
)

domains = Table(
    "domains",
    metadata,
    Column("name", Text, primary_key=True, comment="registrable domain"),
    Column("delay_override_s", Double, comment="operator's base delay for each of its hosts"),
    Column("quiet_hours", Text, comment="an operator's: no contact within, UTC, such as 08:00-18:00"),
    comment="What an operator says of all hosts of a registrable domain. A host's own word comes first.",
)

budgets = Table(
    "budgets",
    metadata,
    Column("kind", Text, nullable=False, comment="address, network (a shared front), domain, all"),
    Column("name", Text, nullable=False),
    Column("next_at", Time, nullable=False, server_default=NOW, comment="no request starts before"),
    Column("queue_at", Time, nullable=False, server_default=NOW, comment="the next in the queue is told to come then"),
    Column(
        "failures", Integer, nullable=False, server_default=text("0"), comment="refused or reset connections in a row"
    ),
    Column("host_id", BigInteger, comment="the host that was granted the last start"),
    Column("shared_until", Time, comment="several hosts draw on it: starts that are late are not sent"),
    Column("blocked_until", Time, comment="it rests as a whole, for the reason in resting_because"),
    Column("resting_because", Text),
    Column("reset_host_id", BigInteger, comment="the host whose connections were reset last"),
    Column("reset_at", Time, comment="when that was"),
    PrimaryKeyConstraint("kind", "name"),
    CheckConstraint("kind IN ('address', 'network', 'domain', 'all')", name="kind_known"),
    comment="What several hosts share, and its pace: an address, a network, a registrable domain, everything.",
)

sitemaps = Table(
    "sitemaps",
    metadata,
    Column("host_id", BigInteger, nullable=False),
    Column("crawl_id", BigInteger, nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("id", BigInteger, Identity(always=True), nullable=False),
    Column("url", Text, nullable=False),
    Column("format", Text, comment="urlset, index, text, rss, atom, json"),
    Column("entries", Integer, nullable=False, server_default=text("0")),
    Column("problem", Text, comment="what was wrong with it, when last read"),
    Column(
        "claims",
        Integer,
        nullable=False,
        server_default=text("0"),
        comment="times that its lastmod was put to the test",
    ),
    Column("true_claims", Integer, nullable=False, server_default=text("0"), comment="times that it told the truth"),
    Column("read_at", Time, nullable=False, server_default=NOW),
    PrimaryKeyConstraint("host_id", "crawl_id", "key"),
    UniqueConstraint("id"),
    comment="Sitemaps that were read, and how far their lastmod is believed.",
)

robots_copies = Table(
    "robots_copies",
    metadata,
    identity(),
    Column("host_id", BigInteger, nullable=False),
    Column("scheme", Text, nullable=False),
    Column("port", Integer, nullable=False),
    Column("since", Time, nullable=False, server_default=NOW),
    Column("availability", Text, nullable=False),
    Column("status", SmallInteger),
    Column("body_sha256", LargeBinary, comment="the last good copy: robots_bodies"),
    Column("unreachable_since", Time),
    Index("robots_copies_origin", "host_id", "scheme", "port", "since"),
    comment="What robots.txt of an origin was, since when: the log that the audit judges by.",
)

robots_bodies = Table(
    "robots_bodies",
    metadata,
    Column("sha256", LargeBinary, primary_key=True),
    Column("body", LargeBinary, nullable=False),
    comment="Every robots.txt that was ever in force, once.",
)

host_events = Table(
    "host_events",
    metadata,
    identity(),
    Column("host_id", BigInteger, nullable=False),
    Column("at", Time, nullable=False, server_default=NOW),
    Column("event", Text, nullable=False, comment="paused, resumed, released, slowed, quiet, pinned, forgotten"),
    Column("detail", Text),
    Index("host_events_host", "host_id", "at"),
    comment="What operators did to hosts: the audit reads who ended a rest.",
)

lineage = Table(
    "lineage",
    metadata,
    Column("is_only", Boolean, primary_key=True, server_default=text("true")),
    Column("seen", Text, nullable=False, comment="what tiptoe_lineage() said when it was last looked at"),
    Column("since", Time, nullable=False, server_default=NOW, comment="when that was new"),
    CheckConstraint("is_only", name="one_row"),
    comment="What the rows were last known to be in: another server, timeline or database "
    "may lack what was written last.",
)

clocks = Table(
    "clocks",
    metadata,
    Column("machine", Text, primary_key=True, comment="a machine's clock, until it boots again"),
    Column("at", Time, nullable=False, comment="the database's time when it was last compared"),
    Column("boot_s", Double, nullable=False, comment="that machine's seconds then"),
    comment="The database's clock beside those of the machines that dispatch: a step shows as a difference.",
)

operator_log = Table(
    "operator_log",
    metadata,
    identity(),
    Column("at", Time, nullable=False, server_default=NOW),
    Column("who", Text, nullable=False, comment="user, or local: somebody on the web's own machine"),
    Column("face", Text, nullable=False, comment="where the order was given: web"),
    Column("act", Text, nullable=False, comment="such as host.pause"),
    Column("subject", Text, nullable=False, comment="name of the crawl or host, or a URL"),
    Column("detail", Text, comment="what else was asked for"),
    Column("ended_at", Time, comment="NULL: it runs, or its process ended without a word"),
    Column("failed", Boolean, nullable=False, server_default=text("false")),
    Column("outcome", Text, comment="what it came to, for a person"),
    Index("operator_log_subject_idx", "subject", "id"),
    comment="Orders that people gave: who, when, what, and what became of it.",
)
