-- pg_dump of a crawl half-way, as the last commit of 2026-11-22 (0.1.0) left it; ten days earlier
SET check_function_bodies = false;
SELECT pg_catalog.set_config('search_path', '', false);
CREATE FUNCTION public.tiptoe_lineage() RETURNS text
    LANGUAGE sql STABLE
    AS $$
            SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
                             substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
                             (SELECT oid FROM pg_database WHERE datname = current_database()),
                             CAST(CAST('hosts' AS regclass) AS oid))
        $$;
COMMENT ON FUNCTION public.tiptoe_lineage() IS 'Cluster, timeline, database and table: what a failover or a restore changes.';
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.budgets (
    kind text NOT NULL,
    name text NOT NULL,
    next_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    queue_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    host_id bigint,
    shared_until timestamp with time zone,
    blocked_until timestamp with time zone,
    resting_because text,
    CONSTRAINT budgets_kind_known CHECK ((kind = ANY (ARRAY['address'::text, 'network'::text, 'domain'::text, 'all'::text])))
);
COMMENT ON TABLE public.budgets IS 'What several hosts share, and its pace: an address, a network, a registrable domain, everything.';
COMMENT ON COLUMN public.budgets.kind IS 'address, network (a shared front), domain, all';
COMMENT ON COLUMN public.budgets.next_at IS 'no request starts before';
COMMENT ON COLUMN public.budgets.queue_at IS 'the next in the queue is told to come then';
COMMENT ON COLUMN public.budgets.failures IS 'refused or reset connections in a row';
COMMENT ON COLUMN public.budgets.host_id IS 'the host that was granted the last start';
COMMENT ON COLUMN public.budgets.shared_until IS 'several hosts draw on it: starts that are late are not sent';
COMMENT ON COLUMN public.budgets.blocked_until IS 'it rests as a whole, for the reason in resting_because';
CREATE TABLE public.crawl_hosts (
    crawl_id bigint NOT NULL,
    host_id bigint NOT NULL,
    pages bigint DEFAULT 0 NOT NULL,
    fetches bigint DEFAULT 0 NOT NULL,
    failed bigint DEFAULT 0 NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL,
    last_fetch_at timestamp with time zone
);
COMMENT ON TABLE public.crawl_hosts IS 'What a crawl got from a host in this round; written only under the host''s lease.';
COMMENT ON COLUMN public.crawl_hosts.bytes IS 'body bytes on the wire';
CREATE TABLE public.crawls (
    id bigint NOT NULL,
    name text NOT NULL,
    state text DEFAULT 'active'::text NOT NULL,
    scope text NOT NULL,
    scope_hosts text[] DEFAULT '{}'::text[] NOT NULL,
    scope_domains text[] DEFAULT '{}'::text[] NOT NULL,
    scope_prefixes text[] DEFAULT '{}'::text[] NOT NULL,
    include text[] DEFAULT '{}'::text[] NOT NULL,
    exclude text[] DEFAULT '{}'::text[] NOT NULL,
    max_pages bigint,
    max_bytes bigint,
    max_depth integer,
    max_seconds double precision,
    keep_fresh boolean DEFAULT false NOT NULL,
    round integer DEFAULT 1 NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    pages_reserved bigint DEFAULT 0 NOT NULL,
    ended_because text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    active_since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    finished_at timestamp with time zone,
    sitemaps text DEFAULT 'all'::text NOT NULL,
    honour_opt_outs boolean DEFAULT false NOT NULL,
    state_since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    admits_above real,
    CONSTRAINT crawls_finished_has_time CHECK (((state = 'finished'::text) = (finished_at IS NOT NULL))),
    CONSTRAINT crawls_scope_known CHECK ((scope = ANY (ARRAY['host'::text, 'domain'::text, 'prefix'::text, 'any'::text]))),
    CONSTRAINT crawls_sitemaps_known CHECK ((sitemaps = ANY (ARRAY['none'::text, 'declared'::text, 'all'::text]))),
    CONSTRAINT crawls_state_known CHECK ((state = ANY (ARRAY['active'::text, 'paused'::text, 'finished'::text])))
);
COMMENT ON TABLE public.crawls IS 'A crawl: scope, budgets, state. Ends by itself when no URL of it is in an open state.';
COMMENT ON COLUMN public.crawls.scope_hosts IS 'hostnames of the seeds';
COMMENT ON COLUMN public.crawls.scope_domains IS 'registrable domains of the seeds';
COMMENT ON COLUMN public.crawls.scope_prefixes IS 'seed URLs up to their last slash';
COMMENT ON COLUMN public.crawls.include IS 'regular expressions; a URL must match one, if there are any';
COMMENT ON COLUMN public.crawls.exclude IS 'regular expressions; a URL must match none';
COMMENT ON COLUMN public.crawls.max_seconds IS 'since active_since';
COMMENT ON COLUMN public.crawls.keep_fresh IS 'due pages are fetched again by themselves and the crawl does not end';
COMMENT ON COLUMN public.crawls.round IS 'how many times --again has gone round, plus one';
COMMENT ON COLUMN public.crawls.revision IS 'raised when scope or patterns change, so that workers read them anew';
COMMENT ON COLUMN public.crawls.pages_reserved IS 'pages done or granted to running visits, where max_pages is set';
COMMENT ON COLUMN public.crawls.sitemaps IS 'declared: those that robots.txt names; all: also /sitemap.xml where it names none; none';
COMMENT ON COLUMN public.crawls.honour_opt_outs IS 'pages whose owner reserves text and data mining are not kept';
COMMENT ON COLUMN public.crawls.state_since IS 'when its state last changed';
COMMENT ON COLUMN public.crawls.admits_above IS 'the frontier is full: only links with a higher score are admitted; NULL: all';
ALTER TABLE public.crawls ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.crawls_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.domains (
    name text NOT NULL,
    delay_override_s double precision,
    quiet_hours text
);
COMMENT ON TABLE public.domains IS 'What an operator says of all hosts of a registrable domain. A host''s own word comes first.';
COMMENT ON COLUMN public.domains.name IS 'registrable domain';
COMMENT ON COLUMN public.domains.delay_override_s IS 'operator''s base delay for each of its hosts';
COMMENT ON COLUMN public.domains.quiet_hours IS 'an operator''s: no contact within, UTC, such as 08:00-18:00';
CREATE TABLE public.duplicates (
    host_id bigint NOT NULL,
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    url text NOT NULL,
    kind text NOT NULL,
    of_url text NOT NULL,
    found_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT duplicates_kind_known CHECK ((kind = ANY (ARRAY['body'::text, 'text'::text])))
);
COMMENT ON TABLE public.duplicates IS 'Pages that say exactly what another page of the crawl says.';
COMMENT ON COLUMN public.duplicates.kind IS 'body: the same bytes, links not followed again; text: the same main text';
CREATE TABLE public.fetches (
    id bigint NOT NULL,
    host_id bigint NOT NULL,
    crawl_id bigint,
    visit_id bigint NOT NULL,
    url_key bytea NOT NULL,
    url text NOT NULL,
    kind text NOT NULL,
    reason text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    delay_s double precision NOT NULL,
    address inet,
    status smallint,
    outcome text NOT NULL,
    failure text,
    detail text,
    location text,
    retry_after text,
    content_type text,
    wire_bytes bigint NOT NULL,
    body_bytes bigint NOT NULL,
    truncated boolean NOT NULL,
    dns_ms real,
    connect_ms real,
    first_byte_ms real,
    total_ms real NOT NULL,
    conditional boolean NOT NULL,
    etag text,
    last_modified text,
    body_sha256 bytea,
    attempt smallint NOT NULL,
    fenced boolean DEFAULT false NOT NULL,
    address_budget text,
    address_gap_s double precision,
    rest_s double precision,
    CONSTRAINT fetches_ends_after_start CHECK ((ended_at >= started_at))
)
PARTITION BY RANGE (started_at);
COMMENT ON TABLE public.fetches IS 'The fetch log: every request that was settled, robots.txt included.';
COMMENT ON COLUMN public.fetches.crawl_id IS 'NULL for robots.txt and tdmrep.json';
COMMENT ON COLUMN public.fetches.kind IS 'page, sitemap, robots, tdmrep';
COMMENT ON COLUMN public.fetches.reason IS 'new, recrawl, retry; robots';
COMMENT ON COLUMN public.fetches.started_at IS 'database time, exact within a visit';
COMMENT ON COLUMN public.fetches.delay_s IS 'delay in force when it started';
COMMENT ON COLUMN public.fetches.location IS 'of a redirect, as sent';
COMMENT ON COLUMN public.fetches.retry_after IS 'as sent';
COMMENT ON COLUMN public.fetches.fenced IS 'the visit had lost its lease: logged, and nothing else of it was kept';
COMMENT ON COLUMN public.fetches.address_budget IS 'address or network whose budget it drew on';
COMMENT ON COLUMN public.fetches.address_gap_s IS 'seconds between two starts that this budget allows';
COMMENT ON COLUMN public.fetches.rest_s IS 'the host was to be left alone this long after it';
CREATE TABLE public.fetches_default (
    id bigint CONSTRAINT fetches_id_not_null NOT NULL,
    host_id bigint CONSTRAINT fetches_host_id_not_null NOT NULL,
    crawl_id bigint,
    visit_id bigint CONSTRAINT fetches_visit_id_not_null NOT NULL,
    url_key bytea CONSTRAINT fetches_url_key_not_null NOT NULL,
    url text CONSTRAINT fetches_url_not_null NOT NULL,
    kind text CONSTRAINT fetches_kind_not_null NOT NULL,
    reason text CONSTRAINT fetches_reason_not_null NOT NULL,
    started_at timestamp with time zone CONSTRAINT fetches_started_at_not_null NOT NULL,
    ended_at timestamp with time zone CONSTRAINT fetches_ended_at_not_null NOT NULL,
    delay_s double precision CONSTRAINT fetches_delay_s_not_null NOT NULL,
    address inet,
    status smallint,
    outcome text CONSTRAINT fetches_outcome_not_null NOT NULL,
    failure text,
    detail text,
    location text,
    retry_after text,
    content_type text,
    wire_bytes bigint CONSTRAINT fetches_wire_bytes_not_null NOT NULL,
    body_bytes bigint CONSTRAINT fetches_body_bytes_not_null NOT NULL,
    truncated boolean CONSTRAINT fetches_truncated_not_null NOT NULL,
    dns_ms real,
    connect_ms real,
    first_byte_ms real,
    total_ms real CONSTRAINT fetches_total_ms_not_null NOT NULL,
    conditional boolean CONSTRAINT fetches_conditional_not_null NOT NULL,
    etag text,
    last_modified text,
    body_sha256 bytea,
    attempt smallint CONSTRAINT fetches_attempt_not_null NOT NULL,
    fenced boolean DEFAULT false CONSTRAINT fetches_fenced_not_null NOT NULL,
    address_budget text,
    address_gap_s double precision,
    rest_s double precision,
    CONSTRAINT fetches_ends_after_start CHECK ((ended_at >= started_at))
);
ALTER TABLE public.fetches ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.fetches_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.fetches_past (
    id bigint CONSTRAINT fetches_id_not_null NOT NULL,
    host_id bigint CONSTRAINT fetches_host_id_not_null NOT NULL,
    crawl_id bigint,
    visit_id bigint CONSTRAINT fetches_visit_id_not_null NOT NULL,
    url_key bytea CONSTRAINT fetches_url_key_not_null NOT NULL,
    url text CONSTRAINT fetches_url_not_null NOT NULL,
    kind text CONSTRAINT fetches_kind_not_null NOT NULL,
    reason text CONSTRAINT fetches_reason_not_null NOT NULL,
    started_at timestamp with time zone CONSTRAINT fetches_started_at_not_null NOT NULL,
    ended_at timestamp with time zone CONSTRAINT fetches_ended_at_not_null NOT NULL,
    delay_s double precision CONSTRAINT fetches_delay_s_not_null NOT NULL,
    address inet,
    status smallint,
    outcome text CONSTRAINT fetches_outcome_not_null NOT NULL,
    failure text,
    detail text,
    location text,
    retry_after text,
    content_type text,
    wire_bytes bigint CONSTRAINT fetches_wire_bytes_not_null NOT NULL,
    body_bytes bigint CONSTRAINT fetches_body_bytes_not_null NOT NULL,
    truncated boolean CONSTRAINT fetches_truncated_not_null NOT NULL,
    dns_ms real,
    connect_ms real,
    first_byte_ms real,
    total_ms real CONSTRAINT fetches_total_ms_not_null NOT NULL,
    conditional boolean CONSTRAINT fetches_conditional_not_null NOT NULL,
    etag text,
    last_modified text,
    body_sha256 bytea,
    attempt smallint CONSTRAINT fetches_attempt_not_null NOT NULL,
    fenced boolean DEFAULT false CONSTRAINT fetches_fenced_not_null NOT NULL,
    address_budget text,
    address_gap_s double precision,
    rest_s double precision,
    CONSTRAINT fetches_ends_after_start CHECK ((ended_at >= started_at))
);
COMMENT ON TABLE public.fetches_past IS 'The fetch log: every request that was settled, robots.txt included.';
COMMENT ON COLUMN public.fetches_past.crawl_id IS 'NULL for robots.txt and tdmrep.json';
COMMENT ON COLUMN public.fetches_past.kind IS 'page, sitemap, robots, tdmrep';
COMMENT ON COLUMN public.fetches_past.reason IS 'new, recrawl, retry; robots';
COMMENT ON COLUMN public.fetches_past.started_at IS 'database time, exact within a visit';
COMMENT ON COLUMN public.fetches_past.delay_s IS 'delay in force when it started';
COMMENT ON COLUMN public.fetches_past.location IS 'of a redirect, as sent';
COMMENT ON COLUMN public.fetches_past.retry_after IS 'as sent';
COMMENT ON COLUMN public.fetches_past.fenced IS 'the visit had lost its lease: logged, and nothing else of it was kept';
COMMENT ON COLUMN public.fetches_past.address_budget IS 'address or network whose budget it drew on';
COMMENT ON COLUMN public.fetches_past.address_gap_s IS 'seconds between two starts that this budget allows';
COMMENT ON COLUMN public.fetches_past.rest_s IS 'the host was to be left alone this long after it';
CREATE TABLE public.host_events (
    id bigint NOT NULL,
    host_id bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    event text NOT NULL,
    detail text
);
COMMENT ON TABLE public.host_events IS 'What operators did to hosts: the audit reads who ended a rest.';
COMMENT ON COLUMN public.host_events.event IS 'paused, resumed, released, slowed, quiet, pinned, forgotten';
ALTER TABLE public.host_events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.host_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.hosts (
    id bigint NOT NULL,
    name text NOT NULL,
    domain text,
    queue text NOT NULL,
    pinned boolean DEFAULT false NOT NULL,
    state text DEFAULT 'idle'::text NOT NULL,
    pause_requested boolean DEFAULT false NOT NULL,
    next_fetch_at timestamp with time zone,
    polite_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    blocked_until timestamp with time zone,
    resting_because text,
    lease_token uuid,
    lease_until timestamp with time zone,
    taken_at timestamp with time zone,
    delay_s double precision NOT NULL,
    delay_override_s double precision,
    robots_delay_s double precision,
    failures integer DEFAULT 0 NOT NULL,
    isolate integer DEFAULT 0 NOT NULL,
    address inet,
    last_contact_at timestamp with time zone,
    answered_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    adaptive_level smallint DEFAULT 0 NOT NULL,
    recent_statuses smallint[] DEFAULT '{}'::smallint[] NOT NULL,
    recent_ms integer[] DEFAULT '{}'::integer[] NOT NULL,
    latency_s double precision,
    breaker_trips smallint DEFAULT 0 NOT NULL,
    quiet_hours text,
    offers_missed integer DEFAULT 0 NOT NULL,
    unfetched integer DEFAULT 0 NOT NULL,
    unfetched_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT hosts_lease_has_token CHECK (((state = ANY (ARRAY['offered'::text, 'taken'::text])) = (lease_token IS NOT NULL))),
    CONSTRAINT hosts_leased_is_due_again CHECK (((state <> ALL (ARRAY['offered'::text, 'taken'::text])) OR (next_fetch_at IS NOT NULL))),
    CONSTRAINT hosts_paused_is_not_due CHECK (((state <> 'paused'::text) OR (next_fetch_at IS NULL))),
    CONSTRAINT hosts_state_known CHECK ((state = ANY (ARRAY['idle'::text, 'offered'::text, 'taken'::text, 'paused'::text]))),
    CONSTRAINT hosts_taken_has_time CHECK (((state = 'taken'::text) = (taken_at IS NOT NULL))),
    CONSTRAINT hosts_token_has_deadline CHECK (((lease_token IS NULL) = (lease_until IS NULL)))
);
COMMENT ON TABLE public.hosts IS 'A host: pace, block, lease. The unit of politeness.';
COMMENT ON COLUMN public.hosts.name IS 'hostname, lower case, IDNA; all its origins share its pace';
COMMENT ON COLUMN public.hosts.domain IS 'registrable domain';
COMMENT ON COLUMN public.hosts.queue IS 'the Celery queue its visits go to';
COMMENT ON COLUMN public.hosts.pinned IS 'queue was chosen by an operator';
COMMENT ON COLUMN public.hosts.next_fetch_at IS 'due from then on; NULL: nothing queued (or paused). While a lease runs: its end plus the delay';
COMMENT ON COLUMN public.hosts.polite_at IS 'no contact before: end of the last request plus the delay';
COMMENT ON COLUMN public.hosts.blocked_until IS 'no contact before: the host rests, for the reason in resting_because';
COMMENT ON COLUMN public.hosts.taken_at IS 'NULL while the lease is only offered';
COMMENT ON COLUMN public.hosts.delay_s IS 'delay in force';
COMMENT ON COLUMN public.hosts.delay_override_s IS 'operator''s base delay, before robots.txt and the default';
COMMENT ON COLUMN public.hosts.robots_delay_s IS 'robots.txt Crawl-delay of our group, the largest of its origins';
COMMENT ON COLUMN public.hosts.failures IS '429, 503 and failures to connect in a row';
COMMENT ON COLUMN public.hosts.isolate IS 'URLs still to be taken one at a time, their attempt counted first: a taken lease ran out';
COMMENT ON COLUMN public.hosts.address IS 'address of the last connection';
COMMENT ON COLUMN public.hosts.answered_at IS 'last response of any kind';
COMMENT ON COLUMN public.hosts.adaptive_level IS 'doublings of the delay, 0 to 8, by how the host answers';
COMMENT ON COLUMN public.hosts.recent_statuses IS 'its last 20 results, oldest first: HTTP status, 0 for no answer';
COMMENT ON COLUMN public.hosts.recent_ms IS 'their milliseconds to the first byte; NULL where none counts';
COMMENT ON COLUMN public.hosts.latency_s IS 'moving average of the seconds to the first byte';
COMMENT ON COLUMN public.hosts.breaker_trips IS 'times in a row that the circuit breaker closed the host';
COMMENT ON COLUMN public.hosts.quiet_hours IS 'an operator''s: no contact within, UTC, such as 08:00-18:00';
COMMENT ON COLUMN public.hosts.offers_missed IS 'offers in a row that no worker took up';
COMMENT ON COLUMN public.hosts.unfetched IS 'queued URLs of active crawls that wait for their first fetch: an estimate, for the cap per host';
COMMENT ON COLUMN public.hosts.unfetched_at IS 'when they were last counted';
ALTER TABLE public.hosts ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.hosts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.lineage (
    is_only boolean DEFAULT true NOT NULL,
    seen text NOT NULL,
    since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT lineage_one_row CHECK (is_only)
);
COMMENT ON TABLE public.lineage IS 'What the rows were last known to be in: another server, timeline or database may lack what was written last.';
COMMENT ON COLUMN public.lineage.seen IS 'what tiptoe_lineage() said when it was last looked at';
COMMENT ON COLUMN public.lineage.since IS 'when that was new';
CREATE TABLE public.pages (
    host_id bigint NOT NULL,
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    url text NOT NULL,
    status smallint NOT NULL,
    content_type text,
    charset text,
    language text,
    title text,
    description text,
    main_text text,
    body_sha256 bytea NOT NULL,
    text_sha256 bytea NOT NULL,
    body_bytes bigint NOT NULL,
    truncated boolean NOT NULL,
    links integer NOT NULL,
    canonical_url text,
    depth integer NOT NULL,
    first_fetched_at timestamp with time zone NOT NULL,
    fetched_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    directives text,
    opt_out text
);
COMMENT ON TABLE public.pages IS 'What the documents say: title, language, main text. Not written when keep_text is off.';
COMMENT ON COLUMN public.pages.language IS 'BCP 47, as the page declares it';
COMMENT ON COLUMN public.pages.canonical_url IS 'rel=canonical, joined';
COMMENT ON COLUMN public.pages.directives IS 'of X-Robots-Tag and meta robots, for us';
COMMENT ON COLUMN public.pages.opt_out IS 'signals of the owner about text and data mining';
CREATE TABLE public.robots (
    host_id bigint NOT NULL,
    scheme text NOT NULL,
    port integer NOT NULL,
    availability text NOT NULL,
    status smallint,
    detail text,
    body bytea,
    body_sha256 bytea GENERATED ALWAYS AS (sha256(body)) STORED,
    etag text,
    last_modified text,
    fetched_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    unreachable_since timestamp with time zone,
    failures integer DEFAULT 0 NOT NULL,
    crawl_delay_raw text,
    crawl_delay_s double precision,
    sitemaps text[] DEFAULT '{}'::text[] NOT NULL,
    tdmrep bytea,
    tdmrep_at timestamp with time zone,
    CONSTRAINT robots_availability_known CHECK ((availability = ANY (ARRAY['available'::text, 'unavailable'::text, 'unreachable'::text]))),
    CONSTRAINT robots_unreachable_has_time CHECK (((availability = 'unreachable'::text) = (unreachable_since IS NOT NULL)))
);
COMMENT ON TABLE public.robots IS 'robots.txt of an origin: one copy for the fleet.';
COMMENT ON COLUMN public.robots.availability IS 'RFC 9309 2.3.1: available, unavailable (allow all), unreachable (disallow all)';
COMMENT ON COLUMN public.robots.body IS 'as received, at most 500 KiB';
COMMENT ON COLUMN public.robots.fetched_at IS 'last attempt';
COMMENT ON COLUMN public.robots.expires_at IS 'fetched anew before the next request after that';
COMMENT ON COLUMN public.robots.failures IS 'times in a row that it was out of reach';
COMMENT ON COLUMN public.robots.tdmrep IS '/.well-known/tdmrep.json, for crawls that honour opt-outs; empty: there is none';
COMMENT ON COLUMN public.robots.tdmrep_at IS 'when it was asked for';
CREATE TABLE public.robots_bodies (
    sha256 bytea NOT NULL,
    body bytea NOT NULL
);
COMMENT ON TABLE public.robots_bodies IS 'Every robots.txt that was ever in force, once.';
CREATE TABLE public.robots_copies (
    id bigint NOT NULL,
    host_id bigint NOT NULL,
    scheme text NOT NULL,
    port integer NOT NULL,
    since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    availability text NOT NULL,
    status smallint,
    body_sha256 bytea,
    unreachable_since timestamp with time zone
);
COMMENT ON TABLE public.robots_copies IS 'What robots.txt of an origin was, since when: the log that the audit judges by.';
COMMENT ON COLUMN public.robots_copies.body_sha256 IS 'the last good copy: robots_bodies';
ALTER TABLE public.robots_copies ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.robots_copies_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sitemaps (
    host_id bigint NOT NULL,
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    id bigint NOT NULL,
    url text NOT NULL,
    format text,
    entries integer DEFAULT 0 NOT NULL,
    problem text,
    claims integer DEFAULT 0 NOT NULL,
    true_claims integer DEFAULT 0 NOT NULL,
    read_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
COMMENT ON TABLE public.sitemaps IS 'Sitemaps that were read, and how far their lastmod is believed.';
COMMENT ON COLUMN public.sitemaps.format IS 'urlset, index, text, rss, atom';
COMMENT ON COLUMN public.sitemaps.problem IS 'what was wrong with it, when last read';
COMMENT ON COLUMN public.sitemaps.claims IS 'times that its lastmod was put to the test';
COMMENT ON COLUMN public.sitemaps.true_claims IS 'times that it told the truth';
ALTER TABLE public.sitemaps ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.sitemaps_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.suppressions (
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    reason text NOT NULL,
    url text NOT NULL,
    detail text,
    found_on text,
    first_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    last_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    count bigint DEFAULT 1 NOT NULL
);
COMMENT ON TABLE public.suppressions IS 'Links that were not admitted, and why.';
COMMENT ON COLUMN public.suppressions.key IS 'SHA-256 of url';
COMMENT ON COLUMN public.suppressions.reason IS 'closed list: app.model.Refusal';
COMMENT ON COLUMN public.suppressions.count IS 'times met, counted once a visit at most';
CREATE TABLE public.urls (
    host_id bigint NOT NULL,
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    id bigint NOT NULL,
    url text NOT NULL,
    state text NOT NULL,
    lane smallint NOT NULL,
    score real NOT NULL,
    depth integer NOT NULL,
    hops smallint DEFAULT 0 NOT NULL,
    attempts smallint DEFAULT 0 NOT NULL,
    retrying boolean DEFAULT false NOT NULL,
    due_at timestamp with time zone,
    interval_s double precision,
    etag text,
    last_modified text,
    body_sha256 bytea,
    text_sha256 bytea,
    status smallint,
    outcome text,
    cause text,
    alias_of text,
    found_on text,
    admitted_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    fetched_at timestamp with time zone,
    changed_at timestamp with time zone,
    kind text DEFAULT 'page'::text NOT NULL,
    network_failures smallint DEFAULT 0 NOT NULL,
    server_failures smallint DEFAULT 0 NOT NULL,
    parse_failures smallint DEFAULT 0 NOT NULL,
    directives text,
    opt_out text,
    sitemap_id bigint,
    lastmod timestamp with time zone,
    CONSTRAINT urls_alias_has_home CHECK (((state <> 'alias'::text) OR (alias_of IS NOT NULL))),
    CONSTRAINT urls_ended_has_cause CHECK (((state <> ALL (ARRAY['refused'::text, 'quarantined'::text])) OR (cause IS NOT NULL))),
    CONSTRAINT urls_kind_known CHECK ((kind = ANY (ARRAY['page'::text, 'sitemap'::text]))),
    CONSTRAINT urls_resting_has_time CHECK (((state <> 'resting'::text) OR (due_at IS NOT NULL))),
    CONSTRAINT urls_retrying_rests CHECK (((NOT retrying) OR (state = 'resting'::text))),
    CONSTRAINT urls_state_known CHECK ((state = ANY (ARRAY['queued'::text, 'resting'::text, 'refused'::text, 'gone'::text, 'quarantined'::text, 'alias'::text])))
);
COMMENT ON TABLE public.urls IS 'The frontier: one row per (crawl, canonical URL).';
COMMENT ON COLUMN public.urls.key IS 'SHA-256 of the canonical URL';
COMMENT ON COLUMN public.urls.id IS 'order of admission';
COMMENT ON COLUMN public.urls.url IS 'canonical';
COMMENT ON COLUMN public.urls.lane IS 'front queue p0 to p3';
COMMENT ON COLUMN public.urls.depth IS 'links from the nearest seed';
COMMENT ON COLUMN public.urls.hops IS 'redirects in a row that led here';
COMMENT ON COLUMN public.urls.attempts IS 'tries spent since the last good one';
COMMENT ON COLUMN public.urls.retrying IS 'resting for a retry, not for a recrawl: an open state';
COMMENT ON COLUMN public.urls.due_at IS 'resting and gone: when to look again';
COMMENT ON COLUMN public.urls.interval_s IS 'recrawl interval';
COMMENT ON COLUMN public.urls.text_sha256 IS 'of the main text: what changed is judged by it';
COMMENT ON COLUMN public.urls.outcome IS 'of the last fetch';
COMMENT ON COLUMN public.urls.cause IS 'why refused, quarantined, or kept out of pages';
COMMENT ON COLUMN public.urls.alias_of IS 'canonical URL that holds the document';
COMMENT ON COLUMN public.urls.found_on IS 'URL of the page that first linked here; NULL for seeds';
COMMENT ON COLUMN public.urls.kind IS 'page or sitemap';
COMMENT ON COLUMN public.urls.network_failures IS 'of these: answers that broke off';
COMMENT ON COLUMN public.urls.server_failures IS 'of these: 5xx';
COMMENT ON COLUMN public.urls.parse_failures IS 'of these: visits that died while they had it';
COMMENT ON COLUMN public.urls.directives IS 'of X-Robots-Tag and meta robots, for us';
COMMENT ON COLUMN public.urls.opt_out IS 'signals of the owner about text and data mining';
COMMENT ON COLUMN public.urls.sitemap_id IS 'sitemap that lists it with a lastmod';
COMMENT ON COLUMN public.urls.lastmod IS 'as that sitemap says';
ALTER TABLE public.urls ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.urls_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE VIEW public.v_address_audit AS
 WITH moments AS (
         SELECT (f.address_budget COLLATE "C") AS budget,
            f.host_id,
            f.id,
            f.address_gap_s,
            e.step,
            e.rank,
            e.at
           FROM (public.fetches f
             CROSS JOIN LATERAL ( VALUES (1,1,f.started_at), ('-1'::integer,
                        CASE
                            WHEN (f.ended_at > (f.started_at + '00:00:00.001'::interval)) THEN 0
                            ELSE 2
                        END,GREATEST(f.started_at, (f.ended_at - '00:00:00.001'::interval)))) e(step, rank, at))
          WHERE (f.address_budget IS NOT NULL)
        ), ordered AS (
         SELECT moments.budget,
            moments.host_id,
            moments.step,
            moments.address_gap_s,
            (EXTRACT(epoch FROM (moments.at - max(moments.at) FILTER (WHERE (moments.step = 1)) OVER earlier)))::double precision AS gap_s,
            sum(moments.step) OVER (PARTITION BY moments.budget ORDER BY moments.at, moments.rank, moments.id ROWS UNBOUNDED PRECEDING) AS running
           FROM moments
          WINDOW earlier AS (PARTITION BY moments.budget ORDER BY moments.at, moments.rank, moments.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        )
 SELECT budget,
    count(*) FILTER (WHERE (step = 1)) AS fetches,
    count(DISTINCT host_id) AS hosts,
    min(gap_s) FILTER (WHERE (step = 1)) AS smallest_gap_s,
    min(address_gap_s) AS smallest_allowed_s,
    min((gap_s - address_gap_s)) FILTER (WHERE (step = 1)) AS smallest_margin_s,
    count(*) FILTER (WHERE ((step = 1) AND (gap_s < (address_gap_s - (0.001)::double precision)))) AS gap_violations,
    max(running) AS largest_concurrency
   FROM ordered
  GROUP BY budget;
COMMENT ON VIEW public.v_address_audit IS 'Per address, or network of a shared front, whose budget requests drew on: gaps between the starts of two requests, whatever their hosts, against the gap that the budget allows. Violations are zero; several requests at once are not one.';
CREATE VIEW public.v_budgets AS
 SELECT kind,
    name,
    next_at,
    queue_at,
    GREATEST((EXTRACT(epoch FROM (queue_at - clock_timestamp())))::double precision, (0)::double precision) AS queue_s,
    failures,
    blocked_until,
    resting_because,
    COALESCE((blocked_until > clock_timestamp()), false) AS rests
   FROM public.budgets;
COMMENT ON VIEW public.v_budgets IS 'What hosts share, and its pace: addresses, networks, domains, the fleet. queue_s: how far ahead its starts are promised; rests: it is left alone as a whole.';
CREATE VIEW public.v_crawl_progress AS
 SELECT c.id AS crawl_id,
    c.name AS crawl,
    c.state,
    c.ended_because,
    c.round,
    COALESCE(got.pages, (0)::numeric) AS pages,
    COALESCE(got.fetches, (0)::numeric) AS fetches,
    COALESCE(got.failed, (0)::numeric) AS failed,
    COALESCE(got.bytes, (0)::numeric) AS bytes,
    COALESCE(got.hosts, (0)::bigint) AS hosts,
    COALESCE(u.queued, (0)::bigint) AS queued,
    COALESCE(u.retrying, (0)::bigint) AS retrying,
    COALESCE(u.resting, (0)::bigint) AS resting,
    COALESCE(u.refused, (0)::bigint) AS refused,
    COALESCE(u.gone, (0)::bigint) AS gone,
    COALESCE(u.quarantined, (0)::bigint) AS quarantined,
    COALESCE(u.alias, (0)::bigint) AS alias,
    ( SELECT count(*) AS count
           FROM public.suppressions s
          WHERE (s.crawl_id = c.id)) AS suppressed,
    c.active_since,
    c.finished_at,
    (EXTRACT(epoch FROM (COALESCE(c.finished_at, clock_timestamp()) - c.active_since)))::double precision AS seconds
   FROM ((public.crawls c
     LEFT JOIN LATERAL ( SELECT sum(crawl_hosts.pages) AS pages,
            sum(crawl_hosts.fetches) AS fetches,
            sum(crawl_hosts.failed) AS failed,
            sum(crawl_hosts.bytes) AS bytes,
            count(*) AS hosts
           FROM public.crawl_hosts
          WHERE (crawl_hosts.crawl_id = c.id)) got ON (true))
     LEFT JOIN LATERAL ( SELECT count(*) FILTER (WHERE (urls.state = 'queued'::text)) AS queued,
            count(*) FILTER (WHERE ((urls.state = 'resting'::text) AND urls.retrying)) AS retrying,
            count(*) FILTER (WHERE ((urls.state = 'resting'::text) AND (NOT urls.retrying))) AS resting,
            count(*) FILTER (WHERE (urls.state = 'refused'::text)) AS refused,
            count(*) FILTER (WHERE (urls.state = 'gone'::text)) AS gone,
            count(*) FILTER (WHERE (urls.state = 'quarantined'::text)) AS quarantined,
            count(*) FILTER (WHERE (urls.state = 'alias'::text)) AS alias
           FROM public.urls
          WHERE (urls.crawl_id = c.id)) u ON (true));
COMMENT ON VIEW public.v_crawl_progress IS 'A row per crawl: what it brought in this round (pages, fetches, failed, bytes) and its URLs by state. Counts every URL: seconds at millions.';
CREATE VIEW public.v_due AS
 SELECT c.name AS crawl,
    h.name AS host,
    u.url,
    u.lane,
    u.score,
    u.depth,
    u.attempts,
        CASE
            WHEN (u.state = 'queued'::text) THEN h.next_fetch_at
            ELSE u.due_at
        END AS due_at,
    u.state,
        CASE
            WHEN (u.state = 'queued'::text) THEN 'host'::text
            WHEN u.retrying THEN 'retry'::text
            ELSE 'recrawl'::text
        END AS waits_for
   FROM ((public.urls u
     JOIN public.crawls c ON (((c.id = u.crawl_id) AND (c.state = 'active'::text))))
     JOIN public.hosts h ON ((h.id = u.host_id)))
  WHERE ((u.state = 'queued'::text) OR ((u.state = 'resting'::text) AND (u.retrying OR c.keep_fresh)));
COMMENT ON VIEW public.v_due IS 'URLs of active crawls that will be fetched, and when they may be at the earliest. Filter by crawl or host.';
CREATE VIEW public.v_host_status AS
 SELECT h.name AS host,
    h.state,
    h.queue,
        CASE
            WHEN (h.state = 'paused'::text) THEN 'paused'::text
            WHEN ((h.state = 'taken'::text) AND (h.lease_until > clock_timestamp())) THEN 'being visited'::text
            WHEN ((h.state = 'offered'::text) AND (h.lease_until > clock_timestamp())) THEN ('offered to '::text || h.queue)
            WHEN (h.next_fetch_at IS NULL) THEN 'nothing queued'::text
            WHEN (h.blocked_until > clock_timestamp()) THEN ('resting: '::text || COALESCE(h.resting_because, 'blocked'::text))
            WHEN (h.next_fetch_at > clock_timestamp()) THEN 'delay'::text
            ELSE 'due'::text
        END AS waits_for,
    h.next_fetch_at,
    h.delay_s,
    h.delay_override_s,
    h.robots_delay_s,
    h.adaptive_level,
    h.latency_s,
    h.quiet_hours,
    h.blocked_until,
    h.resting_because,
    h.failures,
    h.breaker_trips,
    h.isolate,
    h.address,
    h.last_contact_at,
    h.lease_until,
    h.unfetched,
    r.robots
   FROM (public.hosts h
     LEFT JOIN LATERAL ( SELECT string_agg(((((robots.scheme || ':'::text) || robots.port) || ' '::text) || robots.availability), ', '::text ORDER BY robots.scheme, robots.port) AS robots
           FROM public.robots
          WHERE (robots.host_id = h.id)) r ON (true));
COMMENT ON VIEW public.v_host_status IS 'A row per host: its state, what it waits for, until when, and its pace.';
CREATE TABLE public.visits (
    id bigint NOT NULL,
    host_id bigint NOT NULL,
    token uuid NOT NULL,
    queue text NOT NULL,
    worker text NOT NULL,
    taken_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    ending text,
    fetches integer DEFAULT 0 NOT NULL
)
PARTITION BY RANGE (taken_at);
COMMENT ON TABLE public.visits IS 'One worker''s exclusive, bounded stay at one host.';
COMMENT ON COLUMN public.visits.ended_at IS 'NULL: running, or ended without a word; then its last batch may have gone unlogged';
CREATE VIEW public.v_politeness_audit AS
 WITH asked_before AS (
         SELECT c_1.host_id,
            min(c_1.since) AS since,
            (((c_1.scheme || ':'::text) || h_1.name) || (
                CASE
                    WHEN (((c_1.scheme = 'http'::text) AND (c_1.port = 80)) OR ((c_1.scheme = 'https'::text) AND (c_1.port = 443))) THEN ''::text
                    ELSE (':'::text || c_1.port)
                END COLLATE "C")) AS origin
           FROM (public.robots_copies c_1
             JOIN public.hosts h_1 ON ((h_1.id = c_1.host_id)))
          WHERE (c_1.since < (( SELECT min(fetches.started_at) AS min
                   FROM public.fetches) + '00:10:00'::interval))
          GROUP BY c_1.host_id, h_1.name, c_1.scheme, c_1.port
        ), moments AS (
         SELECT f.host_id,
            'request'::text AS moment,
            f.started_at AS at,
            f.id,
            f.visit_id,
            f.ended_at,
            f.delay_s,
            f.fenced,
            NULL::timestamp with time zone AS rests_until,
            (split_part(f.url, '/'::text, 1) || (split_part(f.url, '/'::text, 3) COLLATE "C")) AS origin,
            (f.kind = 'robots'::text) AS is_robots,
                CASE
                    WHEN ((f.kind = 'robots'::text) AND (f.url ~ '^[^/]+//[^/]+/robots\.txt$'::text)) THEN f.ended_at
                    ELSE NULL::timestamp with time zone
                END AS robots_at,
            ((f.ended_at < f.started_at) OR (f.started_at < v.taken_at)) AS out_of_order
           FROM (public.fetches f
             LEFT JOIN public.visits v ON ((v.id = f.visit_id)))
        UNION ALL
         SELECT fetches.host_id,
            'rest'::text,
            fetches.ended_at,
            fetches.id,
            fetches.visit_id,
            NULL::timestamp with time zone,
            NULL::double precision,
            NULL::boolean,
            (fetches.ended_at + make_interval(secs => fetches.rest_s)),
            NULL::text,
            NULL::boolean,
            NULL::timestamp with time zone,
            NULL::boolean
           FROM public.fetches
          WHERE (fetches.rest_s > (0)::double precision)
        UNION ALL
         SELECT host_events.host_id,
            'release'::text,
            host_events.at,
            NULL::bigint,
            NULL::bigint,
            NULL::timestamp with time zone,
            NULL::double precision,
            NULL::boolean,
            NULL::timestamp with time zone,
            NULL::text,
            NULL::boolean,
            NULL::timestamp with time zone,
            NULL::boolean
           FROM public.host_events
          WHERE (host_events.event = 'released'::text)
        ), ordered AS (
         SELECT moments.host_id,
            moments.moment,
            moments.at,
            moments.id,
            moments.visit_id,
            moments.ended_at,
            moments.delay_s,
            moments.fenced,
            moments.rests_until,
            moments.origin,
            moments.is_robots,
            moments.robots_at,
            moments.out_of_order,
            max(moments.ended_at) OVER earlier AS previous_end,
            count(*) FILTER (WHERE (moments.moment = 'release'::text)) OVER earlier AS releases,
            ((lag(moments.visit_id) OVER earlier = moments.visit_id) AND (lag(moments.id) OVER earlier > moments.id)) AS overtaken
           FROM moments
          WINDOW earlier AS (PARTITION BY moments.host_id ORDER BY moments.at, moments.id, moments.moment ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        ), requests AS (
         SELECT ordered.host_id,
            ordered.moment,
            ordered.at,
            ordered.id,
            ordered.visit_id,
            ordered.ended_at,
            ordered.delay_s,
            ordered.fenced,
            ordered.rests_until,
            ordered.origin,
            ordered.is_robots,
            ordered.robots_at,
            ordered.out_of_order,
            ordered.previous_end,
            ordered.releases,
            ordered.overtaken,
            (EXTRACT(epoch FROM (ordered.at - ordered.previous_end)))::double precision AS gap_s,
            (ordered.at < (max(ordered.rests_until) OVER (PARTITION BY ordered.host_id, ordered.releases ORDER BY ordered.at, ordered.id, ordered.moment ROWS UNBOUNDED PRECEDING) - '00:00:00.001'::interval)) AS in_rest,
            min(ordered.robots_at) OVER (PARTITION BY ordered.host_id, ordered.origin) AS asked_at
           FROM ordered
        ), counted AS (
         SELECT requests.host_id,
            count(*) AS fetches,
            min(requests.gap_s) AS smallest_gap_s,
            min(requests.delay_s) AS smallest_delay_s,
            min((requests.gap_s - requests.delay_s)) AS smallest_margin_s,
            count(*) FILTER (WHERE ((requests.gap_s >= ('-0.001'::numeric)::double precision) AND (requests.gap_s < (requests.delay_s - (0.001)::double precision)))) AS gap_violations,
            count(*) FILTER (WHERE (requests.gap_s < ('-0.001'::numeric)::double precision)) AS concurrent,
            count(*) FILTER (WHERE ((NOT requests.is_robots) AND COALESCE((requests.at < LEAST(requests.asked_at, asked_before.since)), true))) AS before_robots,
            count(*) FILTER (WHERE requests.in_rest) AS during_block,
            count(*) FILTER (WHERE requests.fenced) AS fenced,
            count(*) FILTER (WHERE (requests.out_of_order OR requests.overtaken)) AS disorder
           FROM (requests
             LEFT JOIN asked_before USING (host_id, origin))
          WHERE (requests.moment = 'request'::text)
          GROUP BY requests.host_id
        )
 SELECT c.host_id,
    h.name AS host,
    c.fetches,
    c.smallest_gap_s,
    c.smallest_delay_s,
    c.smallest_margin_s,
    c.gap_violations,
    c.concurrent,
        CASE
            WHEN (c.concurrent = 0) THEN (1)::bigint
            ELSE ( SELECT max(swept.running) AS max
               FROM ( SELECT sum(e.step) OVER (ORDER BY e.at, e.rank ROWS UNBOUNDED PRECEDING) AS running
                       FROM (public.fetches f
                         CROSS JOIN LATERAL ( VALUES (1,1,f.started_at), ('-1'::integer,
                                    CASE
WHEN (f.ended_at > (f.started_at + '00:00:00.001'::interval)) THEN 0
ELSE 2
                                    END,GREATEST(f.started_at, (f.ended_at - '00:00:00.001'::interval)))) e(step, rank, at))
                      WHERE (f.host_id = c.host_id)) swept)
        END AS largest_concurrency,
    c.before_robots,
    c.during_block,
    c.fenced,
    c.disorder
   FROM (counted c
     JOIN public.hosts h ON ((h.id = c.host_id)));
COMMENT ON VIEW public.v_politeness_audit IS 'Per host, from the fetch log alone: gaps (end of a request to start of the next) against the delay in force, requests at once, requests before robots.txt of their origin, contacts during a rest. All of these are zero. fenced: of visits that had lost their lease; disorder: lines that cannot be. Reads the whole log, or by host_id.';
CREATE VIEW public.v_recent_errors AS
 SELECT f.started_at,
    c.name AS crawl,
    h.name AS host,
    f.url,
    f.kind,
    f.status,
    f.outcome,
    f.failure,
    f.detail,
    f.attempt,
    f.retry_after
   FROM ((public.fetches f
     JOIN public.hosts h ON ((h.id = f.host_id)))
     LEFT JOIN public.crawls c ON ((c.id = f.crawl_id)))
  WHERE ((f.started_at > (statement_timestamp() - '1 day'::interval)) AND (f.outcome <> ALL (ARRAY['page'::text, 'unchanged'::text, 'redirect'::text, 'unwanted'::text])))
  ORDER BY f.started_at DESC, f.id DESC;
COMMENT ON VIEW public.v_recent_errors IS 'Requests of the last day that brought no page, newest first.';
CREATE VIEW public.v_sitemaps AS
 SELECT c.name AS crawl,
    h.name AS host,
    s.url,
    s.format,
    s.entries,
    s.problem,
    s.claims,
    s.true_claims,
    ((s.true_claims > 0) AND ((s.true_claims)::numeric >= (0.8 * (s.claims)::numeric))) AS believed,
    s.read_at
   FROM ((public.sitemaps s
     JOIN public.crawls c ON ((c.id = s.crawl_id)))
     JOIN public.hosts h ON ((h.id = s.host_id)));
COMMENT ON VIEW public.v_sitemaps IS 'Sitemaps that were read, what was wrong with them, and how far their lastmod is believed: claims put to the test, and true ones.';
CREATE TABLE public.visits_default (
    id bigint CONSTRAINT visits_id_not_null NOT NULL,
    host_id bigint CONSTRAINT visits_host_id_not_null NOT NULL,
    token uuid CONSTRAINT visits_token_not_null NOT NULL,
    queue text CONSTRAINT visits_queue_not_null NOT NULL,
    worker text CONSTRAINT visits_worker_not_null NOT NULL,
    taken_at timestamp with time zone CONSTRAINT visits_taken_at_not_null NOT NULL,
    ended_at timestamp with time zone,
    ending text,
    fetches integer DEFAULT 0 CONSTRAINT visits_fetches_not_null NOT NULL
);
ALTER TABLE public.visits ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.visits_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.visits_past (
    id bigint CONSTRAINT visits_id_not_null NOT NULL,
    host_id bigint CONSTRAINT visits_host_id_not_null NOT NULL,
    token uuid CONSTRAINT visits_token_not_null NOT NULL,
    queue text CONSTRAINT visits_queue_not_null NOT NULL,
    worker text CONSTRAINT visits_worker_not_null NOT NULL,
    taken_at timestamp with time zone CONSTRAINT visits_taken_at_not_null NOT NULL,
    ended_at timestamp with time zone,
    ending text,
    fetches integer DEFAULT 0 CONSTRAINT visits_fetches_not_null NOT NULL
);
COMMENT ON TABLE public.visits_past IS 'One worker''s exclusive, bounded stay at one host.';
COMMENT ON COLUMN public.visits_past.ended_at IS 'NULL: running, or ended without a word; then its last batch may have gone unlogged';
ALTER TABLE ONLY public.fetches ATTACH PARTITION public.fetches_default DEFAULT;
ALTER TABLE ONLY public.fetches ATTACH PARTITION public.fetches_past FOR VALUES FROM (MINVALUE) TO ('2026-12-01 00:00:00+00');
ALTER TABLE ONLY public.visits ATTACH PARTITION public.visits_default DEFAULT;
ALTER TABLE ONLY public.visits ATTACH PARTITION public.visits_past FOR VALUES FROM (MINVALUE) TO ('2026-12-01 00:00:00+00');
INSERT INTO public.alembic_version VALUES
	('0006');
INSERT INTO public.crawl_hosts VALUES
	(1, 1, 8, 11, 2, 2635, '2026-11-16 01:53:39.834203+00'),
	(1, 2, 11, 11, 0, 2681, '2026-11-16 01:53:39.85629+00');
INSERT INTO public.crawls OVERRIDING SYSTEM VALUE VALUES
	(1, 'half-way', 'active', 'host', '{127.77.15.1,127.77.15.2,127.77.15.3}', '{}', '{}', '{}', '{}', NULL, NULL, NULL, NULL, false, 1, 2, 0, NULL, '2026-11-16 01:53:30.242735+00', '2026-11-16 01:53:30.242735+00', NULL, 'none', false, '2026-11-16 01:53:30.242735+00', NULL);
INSERT INTO public.fetches_past OVERRIDING SYSTEM VALUE VALUES
	(1, 1, NULL, 1, '\xea5cb516cc8fb6ea85b0368305a5dff48e1673e25c235359e30d05a82343904a', 'http://127.77.15.1:8615/robots.txt', 'robots', 'robots', '2026-11-16 01:53:37.486787+00', '2026-11-16 01:53:37.503826+00', 0.2, '127.77.15.1', 200, 'page', NULL, NULL, NULL, NULL, 'text/plain', 34, 34, false, 0.043043002, 9.47458, 16.541315, 17.038532, false, NULL, NULL, '\xefc4db5408347a17597d7618522f084512d5d8d9ff46135129e293e4dee3355a', 1, false, NULL, NULL, NULL),
	(2, 1, 1, 1, '\x0a4e7f0ea5a3f158122145c623cd28a96ef7cc9c77807fb6b03705978fe75a8e', 'http://127.77.15.1:8615/', 'page', 'new', '2026-11-16 01:53:37.704142+00', '2026-11-16 01:53:37.705364+00', 0.2, '127.77.15.1', 200, 'page', NULL, NULL, NULL, NULL, 'text/html; charset=utf-8', 1402, 1402, false, NULL, NULL, 0.871591, 1.2221, false, NULL, NULL, '\x6874b71c61409eb7bbdf9979beb88010f234fc7d9637d275adeca8bf5eaf9a5c', 1, false, NULL, NULL, NULL),
	(3, 2, NULL, 2, '\xa3309b7ecc782c9cc7a0c206be48583144bd6727e43638b8e0dcb7dc43b54608', 'http://127.77.15.2:8615/robots.txt', 'robots', 'robots', '2026-11-16 01:53:37.531789+00', '2026-11-16 01:53:37.536277+00', 0.2, '127.77.15.2', 200, 'page', NULL, NULL, NULL, NULL, 'text/plain', 34, 34, false, 0.087208994, 3.206118, 4.225738, 4.487225, false, NULL, NULL, '\xefc4db5408347a17597d7618522f084512d5d8d9ff46135129e293e4dee3355a', 1, false, NULL, NULL, NULL),
	(4, 2, 1, 2, '\x6206eb34b45490db75c8d7ddbd6ee50ca216e6a1bebd7ee62de5c87e6b8c95de', 'http://127.77.15.2:8615/', 'page', 'new', '2026-11-16 01:53:37.743271+00', '2026-11-16 01:53:37.749327+00', 0.2, '127.77.15.2', 200, 'page', NULL, NULL, NULL, NULL, 'text/html; charset=utf-8', 943, 943, false, NULL, NULL, 5.658309, 6.056679, false, NULL, NULL, '\x24412b6114078d97c8fc1b71a8fade1cb9cb610c8d5e163d775b17d118f7aa3f', 1, false, NULL, NULL, NULL),
	(5, 1, 1, 1, '\x03fa3becc6e7d51327b6ba47f87ff31f9d95061d36b026de7a9b8c55a52b216e', 'http://127.77.15.1:8615/page/17', 'page', 'new', '2026-11-16 01:53:37.908915+00', '2026-11-16 01:53:37.910381+00', 0.2, '127.77.15.1', 200, 'page', NULL, NULL, NULL, NULL, 'text/html; charset=utf-8', 178, 178, false, NULL, NULL, 1.162031, 1.4653, false, '"127.77.15.1-17"', NULL, '\xb951fa71881157b21da4adde63e92daef296cc9180172aa4136cd5af259f2fcb', 1, false, NULL, NULL, NULL),
	(6, 1, 1, 1, '\x1fc5ff1e6729b15b015398cc37f65f2ca5c6220954a3cb022893d30a31396e73', 'http://127.77.15.1:8615/moved/2', 'page', 'new', '2026-11-16 01:53:38.114152+00', '2026-11-16 01:53:38.115321+00', 0.2, '127.77.15.1', 301, 'redirect', NULL, NULL, '/page/1', NULL, NULL, 0, 0, false, NULL, NULL, 0.845573, 1.169362, false, NULL, NULL, NULL, 1, false, NULL, NULL, NULL),
	(7, 1, 1, 1, '\x2cd7ff3233604818f380835868a54e8527428eef9bd7442053c580852218f71a', 'http://127.77.15.1:8615/missing/2', 'page', 'new', '2026-11-16 01:53:38.315609+00', '2026-11-16 01:53:38.316743+00', 0.2, '127.77.15.1', 404, 'not_found', NULL, NULL, NULL, NULL, 'text/plain', 12, 12, false, NULL, NULL, 0.900954, 1.13413, false, NULL, NULL, '\x60d92d8d58dd0124decaf6e52dae8519367076060fd211d7d87de91de956fad8', 1, false, NULL, NULL, NULL),
	(8, 1, 1, 1, '\x316e8a05b277486f85ebe194ee7b2fc7ef199ee0b294508d9ba7f226e562dcf2', 'http://127.77.15.1:8615/page/8', 'page', 'new', '2026-11-16 01:53:38.519421+00', '2026-11-16 01:53:38.52036+00', 0.2, '127.77.15.1', 200, 'page', NULL, NULL, NULL, NULL, 'text/html; charset=utf-8', 174, 174, false, NULL, NULL, 0.739525, 0.938921, false, '"127.77.15.1-8"', NULL, '\xb780c40e614930a2a23749ea82184207c83eb67b78629e2faa74287969ea572e', 1, false, NULL, NULL, NULL),
	(9, 1, 1, 1, '\x3364da6975e2b3779d0f174578b7fb023248f6672f040f7b3f1c5aceb9a7df94', 'http://127.77.15.1:8615/page/5', 'page', 'new', '2026-11-16 01:53:38.720628+00', '2026-11-16 01:53:38.722379+00', 0.2, '127.77.15.1', 200, 'page', NULL, NULL, NULL, NULL, 'text/html; charset=utf-8', 174, 174, false, NULL, NULL, 0.739405, 1.750162, false, '"127.77.15.1-5"', NULL, '\x62eaff649466d048472c43b86926c8a3637cd381c564756094b254fd34d6b122', 1, false, NULL, NULL, NULL),
	(10, 1, 1, 1, '\x369bb6fbf1cc9f752435c3a7b163949182941f69e40f258f4ed6c8b495cbf303', 'http://127.77.15.1:8615/broken', 'page', 'new', '2026-11-16 01:53:38.923476+00', '2026-11-16 01:53:38.924357+00', 0.2, '127.77.15.1', 500, 'server_error', NULL, NULL, NULL, NULL, 'text/plain', 7, 7, false, NULL, NULL, 0.674979, 0.881255, false, NULL, NULL, '\x9564398481b0d5bb9329f482c65ed05df1ca048ab763684169c64e4a74ce68ad', 1, false, NULL, NULL, NULL),
	(11, 1, 1, 1, '\x4523f0e44e959ce2f190db8db76585ac83ce9b936cff9e27be60327ea26c2096', 'http://127.77.15.1:8615/page/16', 'page', 'new', '2026-11-16 01:53:39.126126+00', '2026-11-16 01:53:39.127146+00', 0.2, '127.77.15.1', 200, 'page', NULL, NULL, NULL, NULL, 'text/html; charset=utf-8', 178, 178, false, NULL, NULL, 0.798984, 1.0195, false, '"127.77.15.1-16"', NULL, '\xbc85782c4bad3180050af245e9f7efee2ec750242eea2735df798ea1376ed90c', 1, false, NULL, NULL, NULL),
	(12, 1, 1, 1, '\x4b9b9be11c5f44b83cac12d7dc75b755f5523be978a7c81a4da51b3c42dce536', 'http://127.77.15.1:8615/page/18', 'page', 'new', '2026-11-16 01:53:39.328608+00', '2026-11-16 01:53:39.32979+00', 0.2, '127.77.15.1', 200, 'page', NULL, NULL, NULL, NULL, 'text/html; charset=utf-8', 178, 178, false, NULL, NULL, 0.809479, 1.182401, false, '"127.77.15.1-18"', NULL, '\x9aa07f13bde5c4c58289521d4106572f32edb8a59b8bb288ecf592cefc9f64b0', 1, false, NULL, NULL, NULL),
	(13, 1, 1, 1, '\x4c6193215987a08ab819d6effdd6dbde53a6c43a8add97f5cd2689cd4b1e67e5', 'http://127.77.15.1:8615/page/1', 'page', 'new', '2026-11-16 01:53:39.534184+00', '2026-11-16 01:53:39.534983+00', 0.2, '127.77.15.1', 200, 'page', NULL, NULL, NULL, NULL, 'text/html; charset=utf-8', 174, 174, false, NULL, NULL, 0.635491, 0.798823, false, '"127.77.15.1-1"', NULL, '\x7ea27cf77609be8e160897c8c480a4728fc171da0bf1aa656019f94045c2c605', 1, false, NULL, NULL, NULL),
	(14, 1, 1, 1, '\x56fda568b710b408645f8722452516820621f5653fd8f2a05709dc8f6ee2d47a', 'http://127.77.15.1:8615/list?a=1&b=2', 'page', 'new', '2026-11-16 01:53:39.736482+00', '2026-11-16 01:53:39.737456+00', 0.2, '127.77.15.1', 200, 'page', NULL, NULL, NULL, NULL, 'text/html; charset=utf-8', 158, 158, false, NULL, NULL, 0.687879, 0.973902, false, NULL, NULL, '\xea7cb24cb8d521db4c5d8ba919c3490a79fcab9e2ac3c8edc87854c215f31fcb', 1, false, NULL, NULL, NULL),
	(15, 2, 1, 2, '\x1dccfc9e33011536b2d92c03ad1acd1c1ba5ac85f035de6bb3c5c86af0ba248e', 'http://127.77.15.2:8615/page/5', 'page', 'new', '2026-11-16 01:53:37.953453+00', '2026-11-16 01:53:37.954597+00', 0.2, '127.77.15.2', 200, 'page', NULL, NULL, NULL, NULL, 'text/html; charset=utf-8', 174, 174, false, NULL, NULL, 0.89149, 1.144805, false, '"127.77.15.2-5"', NULL, '\x3068662013a50cf480d1486996948db13b9edaeafc489d29c61a4b16842d0195', 1, false, NULL, NULL, NULL),
	(16, 2, 1, 2, '\x268866a22dc4aaaafa3b8a8f3fa3c81a449787e86dfb942ea85bfbf07145efcb', 'http://127.77.15.2:8615/page/4', 'page', 'new', '2026-11-16 01:53:38.154913+00', '2026-11-16 01:53:38.15621+00', 0.2, '127.77.15.2', 200, 'page', NULL, NULL, NULL, NULL, 'text/html; charset=utf-8', 174, 174, false, NULL, NULL, 1.003296, 1.297031, false, '"127.77.15.2-4"', NULL, '\xa471a6426a15e5dcafa6f144a5d03ecbc6bd1edb89beadeecfa561e03d69aa25', 1, false, NULL, NULL, NULL),
	(17, 2, 1, 2, '\x407c1f8b1cf3eabea351ed0359e5936a6273d41d8982e9362876513e84dc4653', 'http://127.77.15.2:8615/page/13', 'page', 'new', '2026-11-16 01:53:38.356503+00', '2026-11-16 01:53:38.35771+00', 0.2, '127.77.15.2', 200, 'page', NULL, NULL, NULL, NULL, 'text/html; charset=utf-8', 178, 178, false, NULL, NULL, 0.815387, 1.207147, false, '"127.77.15.2-13"', NULL, '\x4187db775c53da21f69903353768f420123be89fd5eccb2f13268a5e4d675335', 1, false, NULL, NULL, NULL),
	(18, 2, 1, 2, '\x480bb78f551f7f2c51fea253054f8171f1eea5e56131d74e11eeb795116ae633', 'http://127.77.15.2:8615/page/11', 'page', 'new', '2026-11-16 01:53:38.558431+00', '2026-11-16 01:53:38.559452+00', 0.2, '127.77.15.2', 200, 'page', NULL, NULL, NULL, NULL, 'text/html; charset=utf-8', 178, 178, false, NULL, NULL, 0.80365, 1.020661, false, '"127.77.15.2-11"', NULL, '\xaad74f658a2bf187542371589aad2363f5e9beb3e776772cf27b8299f506a841', 1, false, NULL, NULL, NULL),
	(19, 2, 1, 2, '\x57f626dab9847ff4b3c1d51f90109f1ec816756f65a6a86bf8578d1192c721bd', 'http://127.77.15.2:8615/list?a=1&b=2', 'page', 'new', '2026-11-16 01:53:38.765718+00', '2026-11-16 01:53:38.766631+00', 0.2, '127.77.15.2', 200, 'page', NULL, NULL, NULL, NULL, 'text/html; charset=utf-8', 158, 158, false, NULL, NULL, 0.709581, 0.912732, false, NULL, NULL, '\xd7dfbe5113288fbd8ef82dbe1e5ac224696e11b96962b9a96592a814f7d76df9', 1, false, NULL, NULL, NULL),
	(20, 2, 1, 2, '\x590849bc77b5003ed4334774ac8243b813229abcc69233078b91b3dac7f56859', 'http://127.77.15.2:8615/page/19', 'page', 'new', '2026-11-16 01:53:38.966901+00', '2026-11-16 01:53:38.968646+00', 0.2, '127.77.15.2', 200, 'page', NULL, NULL, NULL, NULL, 'text/html; charset=utf-8', 176, 176, false, NULL, NULL, 0.967433, 1.745095, false, '"127.77.15.2-19"', NULL, '\x7c94b1142c0e154d90588a12fe0a528d8b90f68ab8b1b0c046c6b1c2237b3fd0', 1, false, NULL, NULL, NULL),
	(21, 2, 1, 2, '\x6854f08de257032bcab0b35a0548cb36a761ef916b42e1bb27815396ea7df83f', 'http://127.77.15.2:8615/page/1', 'page', 'new', '2026-11-16 01:53:39.171368+00', '2026-11-16 01:53:39.172371+00', 0.2, '127.77.15.2', 200, 'page', NULL, NULL, NULL, NULL, 'text/html; charset=utf-8', 174, 174, false, NULL, NULL, 0.761227, 1.002274, false, '"127.77.15.2-1"', NULL, '\xa5af5c7babc9720f540be3f580eae673644fd0b77118ed125bab2652b0a14cc5', 1, false, NULL, NULL, NULL),
	(22, 2, 1, 2, '\x695c9a1335e4718146c124b8d98983a720ee25f99c306994d9c284b044e49bc9', 'http://127.77.15.2:8615/page/18', 'page', 'new', '2026-11-16 01:53:39.372636+00', '2026-11-16 01:53:39.373701+00', 0.2, '127.77.15.2', 200, 'page', NULL, NULL, NULL, NULL, 'text/html; charset=utf-8', 178, 178, false, NULL, NULL, 0.732294, 1.064706, false, '"127.77.15.2-18"', NULL, '\x0be21ebec23b40a94b7e5c27ce560a0ec45204912cd01a45582dbd3e1f41c9cf', 1, false, NULL, NULL, NULL),
	(23, 2, 1, 2, '\x6d8ef667d723b53e99afbbf3ead96ae52f4495a8e705723ed0e1c4faf77b3672', 'http://127.77.15.2:8615/page/6', 'page', 'new', '2026-11-16 01:53:39.573973+00', '2026-11-16 01:53:39.575012+00', 0.2, '127.77.15.2', 200, 'page', NULL, NULL, NULL, NULL, 'text/html; charset=utf-8', 174, 174, false, NULL, NULL, 0.74921, 1.038578, false, '"127.77.15.2-6"', NULL, '\xc6bf73256d798b1f672f4daae118ea0d2a4e173c8a70cfc0dd639283955e3b48', 1, false, NULL, NULL, NULL),
	(24, 2, 1, 2, '\x92bda62217bc06a825353ce81627bc6b5a165d31555de130b06c06d2073299b4', 'http://127.77.15.2:8615/page/3', 'page', 'new', '2026-11-16 01:53:39.792553+00', '2026-11-16 01:53:39.794793+00', 0.2, '127.77.15.2', 200, 'page', NULL, NULL, NULL, NULL, 'text/html; charset=utf-8', 174, 174, false, NULL, NULL, 1.968135, 2.240077, false, '"127.77.15.2-3"', NULL, '\x533afc7d9fa84e6b5f7b6c028ec1307b6ce50efd3d0a7436f75fd75210aaa1ab', 1, false, NULL, NULL, NULL);
INSERT INTO public.hosts OVERRIDING SYSTEM VALUE VALUES
	(3, '127.77.15.3', NULL, 'host-03', false, 'offered', false, '2026-11-16 01:53:47.530876+00', '2026-11-16 01:53:30.699733+00', NULL, NULL, '2674290d-c2a1-494d-92de-ee0f4c84230e', '2026-11-16 01:53:47.330894+00', NULL, 0.2, NULL, NULL, 0, 0, NULL, NULL, NULL, '2026-11-16 01:53:30.629337+00', 0, '{}', '{}', NULL, 0, NULL, 0, 0, '2026-11-16 01:53:30.629337+00'),
	(1, '127.77.15.1', NULL, 'host-03', false, 'taken', false, '2026-11-16 01:54:40.037199+00', '2026-11-16 01:53:39.953674+00', NULL, NULL, '1a94e04c-4469-497a-b576-1fd7006637a0', '2026-11-16 01:54:39.8372+00', '2026-11-16 01:53:37.375015+00', 0.2, NULL, NULL, 0, 0, '127.77.15.1', '2026-11-16 01:53:39.753674+00', '2026-11-16 01:53:39.837201+00', '2026-11-16 01:53:30.628996+00', 0, '{200,200,200,301,404,200,200,500,200,200,200,200}', '{16,1,1,1,1,1,1,1,1,1,1,1}', 0.0022884901888000006, 0, NULL, 0, 20, '2026-11-16 01:53:30.628996+00'),
	(2, '127.77.15.2', NULL, 'host-01', false, 'taken', false, '2026-11-16 01:54:40.063479+00', '2026-11-16 01:53:40.005933+00', NULL, NULL, '1f6ff925-1a13-4d89-8552-9bcbfc8f1470', '2026-11-16 01:54:39.86348+00', '2026-11-16 01:53:37.493242+00', 0.2, NULL, NULL, 0, 0, '127.77.15.2', '2026-11-16 01:53:39.805934+00', '2026-11-16 01:53:39.863481+00', '2026-11-16 01:53:30.629322+00', 0, '{200,200,200,200,200,200,200,200,200,200,200,200}', '{4,6,1,1,1,1,1,1,1,1,1,2}', 0.0015650722201599999, 0, NULL, 0, 10, '2026-11-16 01:53:30.629322+00');
INSERT INTO public.lineage VALUES
	(true, '7712291850128987597/00000001/17491/17599', '2026-11-16 01:53:37.30174+00');
INSERT INTO public.pages VALUES
	(1, 1, '\x0a4e7f0ea5a3f158122145c623cd28a96ef7cc9c77807fb6b03705978fe75a8e', 'http://127.77.15.1:8615/', 200, 'text/html; charset=utf-8', 'utf-8', 'en', 'Home of 127.77.15.1', NULL, 'This is Home of 127.77.15.1.
to /moved/1
to /moved/2
to /moved/3
to /missing/1
to /missing/2
to /missing/3
to /gone/1
to /gone/2
to /gone/3
to /broken
to /private/1
to /list?b=2&a=1
to /page/1
to /page/2
to /page/3
to /page/4
to /page/5
to /page/6
to /page/7
to /page/8
to /page/9
to /page/10
to /page/11
to /page/12
to /page/13
to /page/14
to /page/15
to /page/16
to /page/17
to /page/18
to /page/19', '\x6874b71c61409eb7bbdf9979beb88010f234fc7d9637d275adeca8bf5eaf9a5c', '\xc0c0984558c26d0b807ae5e262a00843d648e4af6ff0581b7867406a1a13d8a7', 1402, false, 31, NULL, 0, '2026-11-16 01:53:37.812648+00', '2026-11-16 01:53:37.812648+00', '2026-11-16 01:53:37.812648+00', NULL, NULL),
	(2, 1, '\x6206eb34b45490db75c8d7ddbd6ee50ca216e6a1bebd7ee62de5c87e6b8c95de', 'http://127.77.15.2:8615/', 200, 'text/html; charset=utf-8', 'utf-8', 'en', 'Home of 127.77.15.2', NULL, 'This is Home of 127.77.15.2.
to /list?b=2&a=1
to /page/1
to /page/2
to /page/3
to /page/4
to /page/5
to /page/6
to /page/7
to /page/8
to /page/9
to /page/10
to /page/11
to /page/12
to /page/13
to /page/14
to /page/15
to /page/16
to /page/17
to /page/18
to /page/19', '\x24412b6114078d97c8fc1b71a8fade1cb9cb610c8d5e163d775b17d118f7aa3f', '\x417dfa861c379451aabb93bc114348e0c4057f6db65422afd9b06eb896996462', 943, false, 20, NULL, 0, '2026-11-16 01:53:37.862538+00', '2026-11-16 01:53:37.862538+00', '2026-11-16 01:53:37.862538+00', NULL, NULL),
	(1, 1, '\x03fa3becc6e7d51327b6ba47f87ff31f9d95061d36b026de7a9b8c55a52b216e', 'http://127.77.15.1:8615/page/17', 200, 'text/html; charset=utf-8', 'utf-8', 'en', 'Page 17 of 127.77.15.1', NULL, 'This is Page 17 of 127.77.15.1.
to /page/18', '\xb951fa71881157b21da4adde63e92daef296cc9180172aa4136cd5af259f2fcb', '\xa7c77e39eeff2f0ccdc63228b81b1fe6c835230bd600847ed58e41ff3942b16c', 178, false, 1, NULL, 1, '2026-11-16 01:53:39.834893+00', '2026-11-16 01:53:39.834893+00', '2026-11-16 01:53:39.834893+00', NULL, NULL),
	(1, 1, '\x316e8a05b277486f85ebe194ee7b2fc7ef199ee0b294508d9ba7f226e562dcf2', 'http://127.77.15.1:8615/page/8', 200, 'text/html; charset=utf-8', 'utf-8', 'en', 'Page 8 of 127.77.15.1', NULL, 'This is Page 8 of 127.77.15.1.
to /page/9', '\xb780c40e614930a2a23749ea82184207c83eb67b78629e2faa74287969ea572e', '\x06cb178bb394c86880336775d33e95297943fe98bb0175a58d19bf72fec913bf', 174, false, 1, NULL, 1, '2026-11-16 01:53:39.834927+00', '2026-11-16 01:53:39.834927+00', '2026-11-16 01:53:39.834927+00', NULL, NULL),
	(1, 1, '\x3364da6975e2b3779d0f174578b7fb023248f6672f040f7b3f1c5aceb9a7df94', 'http://127.77.15.1:8615/page/5', 200, 'text/html; charset=utf-8', 'utf-8', 'en', 'Page 5 of 127.77.15.1', NULL, 'This is Page 5 of 127.77.15.1.
to /page/6', '\x62eaff649466d048472c43b86926c8a3637cd381c564756094b254fd34d6b122', '\x0f8cc23c561f4b8125e7ba1b37a5456127356f6114a5f8a096d33e143306a318', 174, false, 1, NULL, 1, '2026-11-16 01:53:39.834934+00', '2026-11-16 01:53:39.834934+00', '2026-11-16 01:53:39.834934+00', NULL, NULL),
	(1, 1, '\x4523f0e44e959ce2f190db8db76585ac83ce9b936cff9e27be60327ea26c2096', 'http://127.77.15.1:8615/page/16', 200, 'text/html; charset=utf-8', 'utf-8', 'en', 'Page 16 of 127.77.15.1', NULL, 'This is Page 16 of 127.77.15.1.
to /page/17', '\xbc85782c4bad3180050af245e9f7efee2ec750242eea2735df798ea1376ed90c', '\x70d842a293f2429acfd7b83ec572688810601a9b1e4d3102714bc2ba56f61b47', 178, false, 1, NULL, 1, '2026-11-16 01:53:39.83494+00', '2026-11-16 01:53:39.83494+00', '2026-11-16 01:53:39.83494+00', NULL, NULL),
	(1, 1, '\x4b9b9be11c5f44b83cac12d7dc75b755f5523be978a7c81a4da51b3c42dce536', 'http://127.77.15.1:8615/page/18', 200, 'text/html; charset=utf-8', 'utf-8', 'en', 'Page 18 of 127.77.15.1', NULL, 'This is Page 18 of 127.77.15.1.
to /page/19', '\x9aa07f13bde5c4c58289521d4106572f32edb8a59b8bb288ecf592cefc9f64b0', '\xefc9b997f3be76039e26870a5178b49086084d22ba032091075688ffaba725b3', 178, false, 1, NULL, 1, '2026-11-16 01:53:39.834945+00', '2026-11-16 01:53:39.834945+00', '2026-11-16 01:53:39.834945+00', NULL, NULL),
	(1, 1, '\x4c6193215987a08ab819d6effdd6dbde53a6c43a8add97f5cd2689cd4b1e67e5', 'http://127.77.15.1:8615/page/1', 200, 'text/html; charset=utf-8', 'utf-8', 'en', 'Page 1 of 127.77.15.1', NULL, 'This is Page 1 of 127.77.15.1.
to /page/2', '\x7ea27cf77609be8e160897c8c480a4728fc171da0bf1aa656019f94045c2c605', '\x91d6562b2b15493493a40d54e82dfd5c1b5f6542b09f07c6e6d3904782c2f8e2', 174, false, 1, NULL, 1, '2026-11-16 01:53:39.83495+00', '2026-11-16 01:53:39.83495+00', '2026-11-16 01:53:39.83495+00', NULL, NULL),
	(1, 1, '\x56fda568b710b408645f8722452516820621f5653fd8f2a05709dc8f6ee2d47a', 'http://127.77.15.1:8615/list?a=1&b=2', 200, 'text/html; charset=utf-8', 'utf-8', 'en', 'List of 127.77.15.1', NULL, 'This is List of 127.77.15.1.
to /', '\xea7cb24cb8d521db4c5d8ba919c3490a79fcab9e2ac3c8edc87854c215f31fcb', '\xbbfca99e5aa0a562bded3bf375123e81cdfac9047ad8febbd10871d69d3b1320', 158, false, 1, NULL, 1, '2026-11-16 01:53:39.834954+00', '2026-11-16 01:53:39.834954+00', '2026-11-16 01:53:39.834954+00', NULL, NULL),
	(2, 1, '\x1dccfc9e33011536b2d92c03ad1acd1c1ba5ac85f035de6bb3c5c86af0ba248e', 'http://127.77.15.2:8615/page/5', 200, 'text/html; charset=utf-8', 'utf-8', 'en', 'Page 5 of 127.77.15.2', NULL, 'This is Page 5 of 127.77.15.2.
to /page/6', '\x3068662013a50cf480d1486996948db13b9edaeafc489d29c61a4b16842d0195', '\xa959edff6f957657b28fd9e0550eace0d0df20d4ca8fbe45450fbc1bb41d3f03', 174, false, 1, NULL, 1, '2026-11-16 01:53:39.858576+00', '2026-11-16 01:53:39.858576+00', '2026-11-16 01:53:39.858576+00', NULL, NULL),
	(2, 1, '\x268866a22dc4aaaafa3b8a8f3fa3c81a449787e86dfb942ea85bfbf07145efcb', 'http://127.77.15.2:8615/page/4', 200, 'text/html; charset=utf-8', 'utf-8', 'en', 'Page 4 of 127.77.15.2', NULL, 'This is Page 4 of 127.77.15.2.
to /page/5', '\xa471a6426a15e5dcafa6f144a5d03ecbc6bd1edb89beadeecfa561e03d69aa25', '\xbcab1bd6a95411797c7a0aad67c1db5ae75f3d19f0b4f615ad2b05caa0c159f1', 174, false, 1, NULL, 1, '2026-11-16 01:53:39.858628+00', '2026-11-16 01:53:39.858628+00', '2026-11-16 01:53:39.858628+00', NULL, NULL),
	(2, 1, '\x407c1f8b1cf3eabea351ed0359e5936a6273d41d8982e9362876513e84dc4653', 'http://127.77.15.2:8615/page/13', 200, 'text/html; charset=utf-8', 'utf-8', 'en', 'Page 13 of 127.77.15.2', NULL, 'This is Page 13 of 127.77.15.2.
to /page/14', '\x4187db775c53da21f69903353768f420123be89fd5eccb2f13268a5e4d675335', '\xa4d03eee2ab611422d46dceb1957dbec67310dded2b4d823e842555058a51143', 178, false, 1, NULL, 1, '2026-11-16 01:53:39.858639+00', '2026-11-16 01:53:39.858639+00', '2026-11-16 01:53:39.858639+00', NULL, NULL),
	(2, 1, '\x480bb78f551f7f2c51fea253054f8171f1eea5e56131d74e11eeb795116ae633', 'http://127.77.15.2:8615/page/11', 200, 'text/html; charset=utf-8', 'utf-8', 'en', 'Page 11 of 127.77.15.2', NULL, 'This is Page 11 of 127.77.15.2.
to /page/12', '\xaad74f658a2bf187542371589aad2363f5e9beb3e776772cf27b8299f506a841', '\x5525562b946c70113a17fca71d3c4c18c092ddf7831e302c0267b9a4f99ee703', 178, false, 1, NULL, 1, '2026-11-16 01:53:39.858647+00', '2026-11-16 01:53:39.858647+00', '2026-11-16 01:53:39.858647+00', NULL, NULL),
	(2, 1, '\x57f626dab9847ff4b3c1d51f90109f1ec816756f65a6a86bf8578d1192c721bd', 'http://127.77.15.2:8615/list?a=1&b=2', 200, 'text/html; charset=utf-8', 'utf-8', 'en', 'List of 127.77.15.2', NULL, 'This is List of 127.77.15.2.
to /', '\xd7dfbe5113288fbd8ef82dbe1e5ac224696e11b96962b9a96592a814f7d76df9', '\x847f098146debc00cadc2bf1ec6cdba26566dd6c589ed3e50f2cf270bb9f8a39', 158, false, 1, NULL, 1, '2026-11-16 01:53:39.858672+00', '2026-11-16 01:53:39.858672+00', '2026-11-16 01:53:39.858672+00', NULL, NULL),
	(2, 1, '\x590849bc77b5003ed4334774ac8243b813229abcc69233078b91b3dac7f56859', 'http://127.77.15.2:8615/page/19', 200, 'text/html; charset=utf-8', 'utf-8', 'en', 'Page 19 of 127.77.15.2', NULL, 'This is Page 19 of 127.77.15.2.
to /page/1', '\x7c94b1142c0e154d90588a12fe0a528d8b90f68ab8b1b0c046c6b1c2237b3fd0', '\x144131db610ccc967dc5823c9a82e3a3fa191b0632ded8b2c390e28474c39952', 176, false, 1, NULL, 1, '2026-11-16 01:53:39.85868+00', '2026-11-16 01:53:39.85868+00', '2026-11-16 01:53:39.85868+00', NULL, NULL),
	(2, 1, '\x6854f08de257032bcab0b35a0548cb36a761ef916b42e1bb27815396ea7df83f', 'http://127.77.15.2:8615/page/1', 200, 'text/html; charset=utf-8', 'utf-8', 'en', 'Page 1 of 127.77.15.2', NULL, 'This is Page 1 of 127.77.15.2.
to /page/2', '\xa5af5c7babc9720f540be3f580eae673644fd0b77118ed125bab2652b0a14cc5', '\x7f207b22bc50b05afd2fe458e062e4e104e4388fe0a89d8021ab3d2c9b76a5a3', 174, false, 1, NULL, 1, '2026-11-16 01:53:39.858687+00', '2026-11-16 01:53:39.858687+00', '2026-11-16 01:53:39.858687+00', NULL, NULL),
	(2, 1, '\x695c9a1335e4718146c124b8d98983a720ee25f99c306994d9c284b044e49bc9', 'http://127.77.15.2:8615/page/18', 200, 'text/html; charset=utf-8', 'utf-8', 'en', 'Page 18 of 127.77.15.2', NULL, 'This is Page 18 of 127.77.15.2.
to /page/19', '\x0be21ebec23b40a94b7e5c27ce560a0ec45204912cd01a45582dbd3e1f41c9cf', '\xf93baa963c35b18705c5386324ac4a4082f5d2006e0ffb0900144e7768eaa418', 178, false, 1, NULL, 1, '2026-11-16 01:53:39.858694+00', '2026-11-16 01:53:39.858694+00', '2026-11-16 01:53:39.858694+00', NULL, NULL),
	(2, 1, '\x6d8ef667d723b53e99afbbf3ead96ae52f4495a8e705723ed0e1c4faf77b3672', 'http://127.77.15.2:8615/page/6', 200, 'text/html; charset=utf-8', 'utf-8', 'en', 'Page 6 of 127.77.15.2', NULL, 'This is Page 6 of 127.77.15.2.
to /page/7', '\xc6bf73256d798b1f672f4daae118ea0d2a4e173c8a70cfc0dd639283955e3b48', '\xd1b915779d926b2cb0e4a942d70ce195b051f6eeccf61392dbaec16b55921456', 174, false, 1, NULL, 1, '2026-11-16 01:53:39.858702+00', '2026-11-16 01:53:39.858702+00', '2026-11-16 01:53:39.858702+00', NULL, NULL),
	(2, 1, '\x92bda62217bc06a825353ce81627bc6b5a165d31555de130b06c06d2073299b4', 'http://127.77.15.2:8615/page/3', 200, 'text/html; charset=utf-8', 'utf-8', 'en', 'Page 3 of 127.77.15.2', NULL, 'This is Page 3 of 127.77.15.2.
to /page/4', '\x533afc7d9fa84e6b5f7b6c028ec1307b6ce50efd3d0a7436f75fd75210aaa1ab', '\xdca6ec49c18c6e365debb0c591cca65e345458ab04b9f3aaaaacdda3def2c75f', 174, false, 1, NULL, 1, '2026-11-16 01:53:39.85871+00', '2026-11-16 01:53:39.85871+00', '2026-11-16 01:53:39.85871+00', NULL, NULL);
INSERT INTO public.robots VALUES
	(1, 'http', 8615, 'available', 200, '', '\x557365722d6167656e743a202a0a446973616c6c6f773a202f707269766174652f0a', DEFAULT, NULL, NULL, '2026-11-16 01:53:37.503826+00', '2026-11-16 13:53:37.503826+00', NULL, 0, NULL, NULL, '{}', NULL, NULL),
	(2, 'http', 8615, 'available', 200, '', '\x557365722d6167656e743a202a0a446973616c6c6f773a202f707269766174652f0a', DEFAULT, NULL, NULL, '2026-11-16 01:53:37.536277+00', '2026-11-16 13:53:37.536277+00', NULL, 0, NULL, NULL, '{}', NULL, NULL);
INSERT INTO public.robots_bodies VALUES
	('\xefc4db5408347a17597d7618522f084512d5d8d9ff46135129e293e4dee3355a', '\x557365722d6167656e743a202a0a446973616c6c6f773a202f707269766174652f0a');
INSERT INTO public.robots_copies OVERRIDING SYSTEM VALUE VALUES
	(1, 1, 'http', 8615, '2026-11-16 01:53:37.503826+00', 'available', 200, '\xefc4db5408347a17597d7618522f084512d5d8d9ff46135129e293e4dee3355a', NULL),
	(2, 2, 'http', 8615, '2026-11-16 01:53:37.536277+00', 'available', 200, '\xefc4db5408347a17597d7618522f084512d5d8d9ff46135129e293e4dee3355a', NULL);
INSERT INTO public.urls OVERRIDING SYSTEM VALUE VALUES
	(3, 1, '\x8e0f85c0ac2daf01d24cef563f66aa7763498581d07d7f15a3b58aab53d6cc74', 3, 'http://127.77.15.3:8615/', 'queued', 0, 1, 0, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-16 01:53:30.658605+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x32e2bcf4551c5321f4490cf85a868314aaa5be96e0d6c0c7497ab20f1fd5e550', 8, 'http://127.77.15.1:8615/private/1', 'refused', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'robots.txt', NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.772895+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x5b9c63f02f3442d4fda4fae9b8b8bca02b6783c646afe5327dca79766e1ace88', 15, 'http://127.77.15.1:8615/page/14', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773103+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x5d3fbe6fef29a3c52bff495b8e32681993d21600fea275d0d095676ef3c6ee95', 16, 'http://127.77.15.1:8615/page/13', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773128+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x655a77c9dbf2582ff874f39d5b84a0a9e63a5c2d08d1a83cf806fcd1c804d482', 17, 'http://127.77.15.1:8615/gone/1', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773137+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x66e71e29f40e74431341ecbb18812331c8673082561749228a5ec87d6afe3c6b', 18, 'http://127.77.15.1:8615/missing/3', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773144+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x67c0a12a46ed7774c4c71af77e45448bd1e8e1671c2d2a0b42f0dbdf184fe118', 19, 'http://127.77.15.1:8615/page/10', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773151+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x6d7e1a7657610d779fea772e7a4b9a28d4553db0214b60fd2130e56d7b5b5c6d', 20, 'http://127.77.15.1:8615/page/15', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773158+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x71820a5a72e02b02246974972939feffd2cda8dc25fc1dd426a12794d680ce38', 21, 'http://127.77.15.1:8615/page/7', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773165+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x73e02d4d3b81485485ded302eb41fd71fdbc9cc43b8d7dbedea620c953e2df2c', 22, 'http://127.77.15.1:8615/page/11', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773173+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x97750d569043f64bc44234b6ac5243bd36047a48a83fb75a7b4d5c4ccea9a86e', 23, 'http://127.77.15.1:8615/moved/1', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773185+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\xa1e9bc27c162aa2902cfccca57234887c25ec035e2fa58c8fcf15563261215c4', 24, 'http://127.77.15.1:8615/page/19', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773192+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\xa51b31f3a58d2ce4465a2bd39a27c0e288694f90c6b8686023c93cd4deee933e', 25, 'http://127.77.15.1:8615/page/9', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773199+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\xa6f1e288527b4b27eb17d4bcf53805d074a4d5d84f69c79829620aa7fe325eac', 26, 'http://127.77.15.1:8615/moved/3', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773206+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\xba018ea52ee1351b6fba885bffeda0f9594ad81f1439a7a52290304076c6f864', 27, 'http://127.77.15.1:8615/gone/3', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773224+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\xc3d5be504329373c88bb1c0bdcf84034bcf0d4d7b8746b6131846559a1af3591', 28, 'http://127.77.15.1:8615/page/6', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773241+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\xc7d7d1abf1d128944c2da5bd04dc822203ddc153e125283c5a3da6a83db2eb50', 29, 'http://127.77.15.1:8615/page/3', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773248+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\xd08ee62cede209513915ee01edafeee7157e81d6a7d9a66b59a9700b19616c89', 30, 'http://127.77.15.1:8615/page/2', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773256+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\xda08cc8502a06ab974e4344e9d96fac0c2dcfd70f30d8f5babc4a91c30d6dbfe', 31, 'http://127.77.15.1:8615/page/12', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773276+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\xdd6671d52b544b66cd3efcbb960437af7948b4503699a17e02f59f894bf60cc3', 32, 'http://127.77.15.1:8615/page/4', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773285+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\xe790726a2763ff7ca46f449bcfacb2ac3672480cd5819ae3e0513c9df97b71d6', 33, 'http://127.77.15.1:8615/gone/2', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773293+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\xecd26963498a3e9d36f1adede2d41061cc3cd152a2d31a1d4880d888ac1a74f0', 34, 'http://127.77.15.1:8615/missing/1', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773316+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x0a4e7f0ea5a3f158122145c623cd28a96ef7cc9c77807fb6b03705978fe75a8e', 1, 'http://127.77.15.1:8615/', 'resting', 0, 1, 0, 0, 0, false, '2026-11-23 01:53:37.781357+00', 604800, NULL, NULL, '\x6874b71c61409eb7bbdf9979beb88010f234fc7d9637d275adeca8bf5eaf9a5c', '\xc0c0984558c26d0b807ae5e262a00843d648e4af6ff0581b7867406a1a13d8a7', 200, 'page', NULL, NULL, NULL, '2026-11-16 01:53:30.650134+00', '2026-11-16 01:53:37.781358+00', '2026-11-16 01:53:37.781358+00', 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x03fa3becc6e7d51327b6ba47f87ff31f9d95061d36b026de7a9b8c55a52b216e', 4, 'http://127.77.15.1:8615/page/17', 'resting', 1, 0.5, 1, 0, 0, false, '2026-11-23 01:53:39.816433+00', 604800, '"127.77.15.1-17"', NULL, '\xb951fa71881157b21da4adde63e92daef296cc9180172aa4136cd5af259f2fcb', '\xa7c77e39eeff2f0ccdc63228b81b1fe6c835230bd600847ed58e41ff3942b16c', 200, 'page', NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.770912+00', '2026-11-16 01:53:39.816435+00', '2026-11-16 01:53:39.816435+00', 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\x9efd1e461bc1de3489f4debceed8da124f60b5723f9abdd97ac99c5f90669cfb', 45, 'http://127.77.15.2:8615/page/7', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.816985+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\xafee01977faf6ae74163f7900f0bee667389abc3fbf2e227585c35c46e02f0cf', 46, 'http://127.77.15.2:8615/page/15', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.816993+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\xb3a9d016545f2b126a9d6da3e1df160bc47dbd9cd33100de20931f24c534c611', 47, 'http://127.77.15.2:8615/page/2', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.817001+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\xb76b7bae4bb896d8be5ff466219809d5764254dd4ef034727dafe9f0e85b80fa', 48, 'http://127.77.15.2:8615/page/10', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.817014+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\xb9fdd0d099de5e8b81cc99eca2f68e78a64c0509be8ce8f468f81c7807ada698', 49, 'http://127.77.15.2:8615/page/14', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.817023+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\xc4cc7614870f0044bca29f403136ead7e18ef6ff1cf27a689516972787208af3', 50, 'http://127.77.15.2:8615/page/17', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.817029+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\xcbf3f960db01c0a313a58f57b013a1b52d3317f51f1a61812654adf2cbc91709', 51, 'http://127.77.15.2:8615/page/9', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.817037+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\xe3414b6d9eb794e870c39e8b7b8391cde109ab91e20bebc684b74af17cd4f1d9', 52, 'http://127.77.15.2:8615/page/12', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.817045+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\xfc2817d493d974370133a5ac33ef660d7bbbd5b2c9317c5f4e46d751a91695ec', 53, 'http://127.77.15.2:8615/page/8', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.817054+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\xfcb8e850e0247ef9f1d7111bb2c78e9cc6c3d61593a7d2988a11b4f70b136844', 54, 'http://127.77.15.2:8615/page/16', 'queued', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.817062+00', NULL, NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\x6206eb34b45490db75c8d7ddbd6ee50ca216e6a1bebd7ee62de5c87e6b8c95de', 2, 'http://127.77.15.2:8615/', 'resting', 0, 1, 0, 0, 0, false, '2026-11-23 01:53:37.839266+00', 604800, NULL, NULL, '\x24412b6114078d97c8fc1b71a8fade1cb9cb610c8d5e163d775b17d118f7aa3f', '\x417dfa861c379451aabb93bc114348e0c4057f6db65422afd9b06eb896996462', 200, 'page', NULL, NULL, NULL, '2026-11-16 01:53:30.658561+00', '2026-11-16 01:53:37.839267+00', '2026-11-16 01:53:37.839267+00', 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x1fc5ff1e6729b15b015398cc37f65f2ca5c6220954a3cb022893d30a31396e73', 5, 'http://127.77.15.1:8615/moved/2', 'alias', 1, 0.5, 1, 0, 0, false, NULL, NULL, NULL, NULL, NULL, NULL, 301, 'redirect', NULL, 'http://127.77.15.1:8615/page/1', 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.77107+00', '2026-11-16 01:53:39.81654+00', NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x2cd7ff3233604818f380835868a54e8527428eef9bd7442053c580852218f71a', 6, 'http://127.77.15.1:8615/missing/2', 'resting', 1, 0.5, 1, 0, 0, false, '2026-11-23 01:53:39.816553+00', NULL, NULL, NULL, NULL, NULL, 404, 'not_found', NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.772842+00', '2026-11-16 01:53:39.816553+00', NULL, 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x316e8a05b277486f85ebe194ee7b2fc7ef199ee0b294508d9ba7f226e562dcf2', 7, 'http://127.77.15.1:8615/page/8', 'resting', 1, 0.5, 1, 0, 0, false, '2026-11-23 01:53:39.816562+00', 604800, '"127.77.15.1-8"', NULL, '\xb780c40e614930a2a23749ea82184207c83eb67b78629e2faa74287969ea572e', '\x06cb178bb394c86880336775d33e95297943fe98bb0175a58d19bf72fec913bf', 200, 'page', NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.772885+00', '2026-11-16 01:53:39.816563+00', '2026-11-16 01:53:39.816563+00', 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x3364da6975e2b3779d0f174578b7fb023248f6672f040f7b3f1c5aceb9a7df94', 9, 'http://127.77.15.1:8615/page/5', 'resting', 1, 0.5, 1, 0, 0, false, '2026-11-23 01:53:39.816571+00', 604800, '"127.77.15.1-5"', NULL, '\x62eaff649466d048472c43b86926c8a3637cd381c564756094b254fd34d6b122', '\x0f8cc23c561f4b8125e7ba1b37a5456127356f6114a5f8a096d33e143306a318', 200, 'page', NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773014+00', '2026-11-16 01:53:39.816571+00', '2026-11-16 01:53:39.816571+00', 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x369bb6fbf1cc9f752435c3a7b163949182941f69e40f258f4ed6c8b495cbf303', 10, 'http://127.77.15.1:8615/broken', 'resting', 1, 0.5, 1, 0, 1, true, '2026-11-16 01:53:40.61108+00', NULL, NULL, NULL, NULL, NULL, 500, 'server_error', NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.77304+00', '2026-11-16 01:53:39.816579+00', NULL, 'page', 0, 1, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x4523f0e44e959ce2f190db8db76585ac83ce9b936cff9e27be60327ea26c2096', 11, 'http://127.77.15.1:8615/page/16', 'resting', 1, 0.5, 1, 0, 0, false, '2026-11-23 01:53:39.816712+00', 604800, '"127.77.15.1-16"', NULL, '\xbc85782c4bad3180050af245e9f7efee2ec750242eea2735df798ea1376ed90c', '\x70d842a293f2429acfd7b83ec572688810601a9b1e4d3102714bc2ba56f61b47', 200, 'page', NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773058+00', '2026-11-16 01:53:39.816713+00', '2026-11-16 01:53:39.816713+00', 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x4b9b9be11c5f44b83cac12d7dc75b755f5523be978a7c81a4da51b3c42dce536', 12, 'http://127.77.15.1:8615/page/18', 'resting', 1, 0.5, 1, 0, 0, false, '2026-11-23 01:53:39.816727+00', 604800, '"127.77.15.1-18"', NULL, '\x9aa07f13bde5c4c58289521d4106572f32edb8a59b8bb288ecf592cefc9f64b0', '\xefc9b997f3be76039e26870a5178b49086084d22ba032091075688ffaba725b3', 200, 'page', NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773066+00', '2026-11-16 01:53:39.816727+00', '2026-11-16 01:53:39.816727+00', 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x4c6193215987a08ab819d6effdd6dbde53a6c43a8add97f5cd2689cd4b1e67e5', 13, 'http://127.77.15.1:8615/page/1', 'resting', 1, 0.5, 1, 0, 0, false, '2026-11-23 01:53:39.816735+00', 604800, '"127.77.15.1-1"', NULL, '\x7ea27cf77609be8e160897c8c480a4728fc171da0bf1aa656019f94045c2c605', '\x91d6562b2b15493493a40d54e82dfd5c1b5f6542b09f07c6e6d3904782c2f8e2', 200, 'page', NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773074+00', '2026-11-16 01:53:39.816736+00', '2026-11-16 01:53:39.816736+00', 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(1, 1, '\x56fda568b710b408645f8722452516820621f5653fd8f2a05709dc8f6ee2d47a', 14, 'http://127.77.15.1:8615/list?a=1&b=2', 'resting', 1, 0.5, 1, 0, 0, false, '2026-11-23 01:53:39.816743+00', 604800, NULL, NULL, '\xea7cb24cb8d521db4c5d8ba919c3490a79fcab9e2ac3c8edc87854c215f31fcb', '\xbbfca99e5aa0a562bded3bf375123e81cdfac9047ad8febbd10871d69d3b1320', 200, 'page', NULL, NULL, 'http://127.77.15.1:8615/', '2026-11-16 01:53:37.773082+00', '2026-11-16 01:53:39.816744+00', '2026-11-16 01:53:39.816744+00', 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\x57f626dab9847ff4b3c1d51f90109f1ec816756f65a6a86bf8578d1192c721bd', 39, 'http://127.77.15.2:8615/list?a=1&b=2', 'resting', 1, 0.5, 1, 0, 0, false, '2026-11-23 01:53:39.843262+00', 604800, NULL, NULL, '\xd7dfbe5113288fbd8ef82dbe1e5ac224696e11b96962b9a96592a814f7d76df9', '\x847f098146debc00cadc2bf1ec6cdba26566dd6c589ed3e50f2cf270bb9f8a39', 200, 'page', NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.816456+00', '2026-11-16 01:53:39.843263+00', '2026-11-16 01:53:39.843263+00', 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\x590849bc77b5003ed4334774ac8243b813229abcc69233078b91b3dac7f56859', 40, 'http://127.77.15.2:8615/page/19', 'resting', 1, 0.5, 1, 0, 0, false, '2026-11-23 01:53:39.843272+00', 604800, '"127.77.15.2-19"', NULL, '\x7c94b1142c0e154d90588a12fe0a528d8b90f68ab8b1b0c046c6b1c2237b3fd0', '\x144131db610ccc967dc5823c9a82e3a3fa191b0632ded8b2c390e28474c39952', 200, 'page', NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.81691+00', '2026-11-16 01:53:39.843272+00', '2026-11-16 01:53:39.843272+00', 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\x6854f08de257032bcab0b35a0548cb36a761ef916b42e1bb27815396ea7df83f', 41, 'http://127.77.15.2:8615/page/1', 'resting', 1, 0.5, 1, 0, 0, false, '2026-11-23 01:53:39.843283+00', 604800, '"127.77.15.2-1"', NULL, '\xa5af5c7babc9720f540be3f580eae673644fd0b77118ed125bab2652b0a14cc5', '\x7f207b22bc50b05afd2fe458e062e4e104e4388fe0a89d8021ab3d2c9b76a5a3', 200, 'page', NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.816934+00', '2026-11-16 01:53:39.843283+00', '2026-11-16 01:53:39.843283+00', 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\x695c9a1335e4718146c124b8d98983a720ee25f99c306994d9c284b044e49bc9', 42, 'http://127.77.15.2:8615/page/18', 'resting', 1, 0.5, 1, 0, 0, false, '2026-11-23 01:53:39.843292+00', 604800, '"127.77.15.2-18"', NULL, '\x0be21ebec23b40a94b7e5c27ce560a0ec45204912cd01a45582dbd3e1f41c9cf', '\xf93baa963c35b18705c5386324ac4a4082f5d2006e0ffb0900144e7768eaa418', 200, 'page', NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.816943+00', '2026-11-16 01:53:39.843292+00', '2026-11-16 01:53:39.843292+00', 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\x6d8ef667d723b53e99afbbf3ead96ae52f4495a8e705723ed0e1c4faf77b3672', 43, 'http://127.77.15.2:8615/page/6', 'resting', 1, 0.5, 1, 0, 0, false, '2026-11-23 01:53:39.8433+00', 604800, '"127.77.15.2-6"', NULL, '\xc6bf73256d798b1f672f4daae118ea0d2a4e173c8a70cfc0dd639283955e3b48', '\xd1b915779d926b2cb0e4a942d70ce195b051f6eeccf61392dbaec16b55921456', 200, 'page', NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.816969+00', '2026-11-16 01:53:39.843301+00', '2026-11-16 01:53:39.843301+00', 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\x1dccfc9e33011536b2d92c03ad1acd1c1ba5ac85f035de6bb3c5c86af0ba248e', 35, 'http://127.77.15.2:8615/page/5', 'resting', 1, 0.5, 1, 0, 0, false, '2026-11-23 01:53:39.842953+00', 604800, '"127.77.15.2-5"', NULL, '\x3068662013a50cf480d1486996948db13b9edaeafc489d29c61a4b16842d0195', '\xa959edff6f957657b28fd9e0550eace0d0df20d4ca8fbe45450fbc1bb41d3f03', 200, 'page', NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.816214+00', '2026-11-16 01:53:39.842954+00', '2026-11-16 01:53:39.842954+00', 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\x268866a22dc4aaaafa3b8a8f3fa3c81a449787e86dfb942ea85bfbf07145efcb', 36, 'http://127.77.15.2:8615/page/4', 'resting', 1, 0.5, 1, 0, 0, false, '2026-11-23 01:53:39.843226+00', 604800, '"127.77.15.2-4"', NULL, '\xa471a6426a15e5dcafa6f144a5d03ecbc6bd1edb89beadeecfa561e03d69aa25', '\xbcab1bd6a95411797c7a0aad67c1db5ae75f3d19f0b4f615ad2b05caa0c159f1', 200, 'page', NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.816408+00', '2026-11-16 01:53:39.843228+00', '2026-11-16 01:53:39.843228+00', 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\x407c1f8b1cf3eabea351ed0359e5936a6273d41d8982e9362876513e84dc4653', 37, 'http://127.77.15.2:8615/page/13', 'resting', 1, 0.5, 1, 0, 0, false, '2026-11-23 01:53:39.843245+00', 604800, '"127.77.15.2-13"', NULL, '\x4187db775c53da21f69903353768f420123be89fd5eccb2f13268a5e4d675335', '\xa4d03eee2ab611422d46dceb1957dbec67310dded2b4d823e842555058a51143', 200, 'page', NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.816425+00', '2026-11-16 01:53:39.843245+00', '2026-11-16 01:53:39.843245+00', 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\x480bb78f551f7f2c51fea253054f8171f1eea5e56131d74e11eeb795116ae633', 38, 'http://127.77.15.2:8615/page/11', 'resting', 1, 0.5, 1, 0, 0, false, '2026-11-23 01:53:39.843255+00', 604800, '"127.77.15.2-11"', NULL, '\xaad74f658a2bf187542371589aad2363f5e9beb3e776772cf27b8299f506a841', '\x5525562b946c70113a17fca71d3c4c18c092ddf7831e302c0267b9a4f99ee703', 200, 'page', NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.816448+00', '2026-11-16 01:53:39.843255+00', '2026-11-16 01:53:39.843255+00', 'page', 0, 0, 0, NULL, NULL, NULL, NULL),
	(2, 1, '\x92bda62217bc06a825353ce81627bc6b5a165d31555de130b06c06d2073299b4', 44, 'http://127.77.15.2:8615/page/3', 'resting', 1, 0.5, 1, 0, 0, false, '2026-11-23 01:53:39.843309+00', 604800, '"127.77.15.2-3"', NULL, '\x533afc7d9fa84e6b5f7b6c028ec1307b6ce50efd3d0a7436f75fd75210aaa1ab', '\xdca6ec49c18c6e365debb0c591cca65e345458ab04b9f3aaaaacdda3def2c75f', 200, 'page', NULL, NULL, 'http://127.77.15.2:8615/', '2026-11-16 01:53:37.816977+00', '2026-11-16 01:53:39.843309+00', '2026-11-16 01:53:39.843309+00', 'page', 0, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO public.visits_past OVERRIDING SYSTEM VALUE VALUES
	(1, 1, '1a94e04c-4469-497a-b576-1fd7006637a0', 'host-03', 'old:1', '2026-11-16 01:53:37.375015+00', NULL, NULL, 0),
	(2, 2, '1f6ff925-1a13-4d89-8552-9bcbfc8f1470', 'host-01', 'old:1', '2026-11-16 01:53:37.493242+00', NULL, NULL, 0);
SELECT pg_catalog.setval('public.crawls_id_seq', 1, true);
SELECT pg_catalog.setval('public.fetches_id_seq', 24, true);
SELECT pg_catalog.setval('public.host_events_id_seq', 1, false);
SELECT pg_catalog.setval('public.hosts_id_seq', 3, true);
SELECT pg_catalog.setval('public.robots_copies_id_seq', 2, true);
SELECT pg_catalog.setval('public.sitemaps_id_seq', 1, false);
SELECT pg_catalog.setval('public.urls_id_seq', 54, true);
SELECT pg_catalog.setval('public.visits_id_seq', 2, true);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.budgets
    ADD CONSTRAINT budgets_pkey PRIMARY KEY (kind, name);
ALTER TABLE ONLY public.crawl_hosts
    ADD CONSTRAINT crawl_hosts_pkey PRIMARY KEY (crawl_id, host_id);
ALTER TABLE ONLY public.crawls
    ADD CONSTRAINT crawls_name_key UNIQUE (name);
ALTER TABLE ONLY public.crawls
    ADD CONSTRAINT crawls_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.domains
    ADD CONSTRAINT domains_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.duplicates
    ADD CONSTRAINT duplicates_pkey PRIMARY KEY (host_id, crawl_id, key);
ALTER TABLE ONLY public.fetches
    ADD CONSTRAINT fetches_pkey PRIMARY KEY (started_at, id);
ALTER TABLE ONLY public.fetches_default
    ADD CONSTRAINT fetches_default_pkey PRIMARY KEY (started_at, id);
ALTER TABLE ONLY public.fetches_past
    ADD CONSTRAINT fetches_past_pkey PRIMARY KEY (started_at, id);
ALTER TABLE ONLY public.host_events
    ADD CONSTRAINT host_events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.hosts
    ADD CONSTRAINT hosts_name_key UNIQUE (name);
ALTER TABLE ONLY public.hosts
    ADD CONSTRAINT hosts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.lineage
    ADD CONSTRAINT lineage_pkey PRIMARY KEY (is_only);
ALTER TABLE ONLY public.pages
    ADD CONSTRAINT pages_pkey PRIMARY KEY (host_id, crawl_id, key);
ALTER TABLE ONLY public.robots_bodies
    ADD CONSTRAINT robots_bodies_pkey PRIMARY KEY (sha256);
ALTER TABLE ONLY public.robots_copies
    ADD CONSTRAINT robots_copies_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.robots
    ADD CONSTRAINT robots_pkey PRIMARY KEY (host_id, scheme, port);
ALTER TABLE ONLY public.sitemaps
    ADD CONSTRAINT sitemaps_id_key UNIQUE (id);
ALTER TABLE ONLY public.sitemaps
    ADD CONSTRAINT sitemaps_pkey PRIMARY KEY (host_id, crawl_id, key);
ALTER TABLE ONLY public.suppressions
    ADD CONSTRAINT suppressions_pkey PRIMARY KEY (crawl_id, key, reason);
ALTER TABLE ONLY public.urls
    ADD CONSTRAINT urls_pkey PRIMARY KEY (host_id, crawl_id, key);
ALTER TABLE ONLY public.visits
    ADD CONSTRAINT visits_pkey PRIMARY KEY (id, taken_at);
ALTER TABLE ONLY public.visits_default
    ADD CONSTRAINT visits_default_pkey PRIMARY KEY (id, taken_at);
ALTER TABLE ONLY public.visits_past
    ADD CONSTRAINT visits_past_pkey PRIMARY KEY (id, taken_at);
CREATE INDEX fetches_host ON ONLY public.fetches USING btree (host_id, started_at);
CREATE INDEX fetches_default_host_id_started_at_idx ON public.fetches_default USING btree (host_id, started_at);
CREATE INDEX fetches_url ON ONLY public.fetches USING btree (host_id, substr(url_key, 1, 8), started_at);
CREATE INDEX fetches_default_host_id_substr_started_at_idx ON public.fetches_default USING btree (host_id, substr(url_key, 1, 8), started_at);
CREATE INDEX fetches_past_host ON public.fetches_past USING btree (host_id, started_at);
CREATE INDEX fetches_past_host_id_substr_started_at_idx ON public.fetches_past USING btree (host_id, substr(url_key, 1, 8), started_at);
CREATE INDEX host_events_host ON public.host_events USING btree (host_id, at);
CREATE INDEX hosts_domain ON public.hosts USING btree (domain);
CREATE INDEX hosts_due ON public.hosts USING btree (queue, next_fetch_at) WHERE (next_fetch_at IS NOT NULL);
CREATE INDEX hosts_offered ON public.hosts USING btree (lease_until) WHERE (state = 'offered'::text);
CREATE INDEX hosts_pausing ON public.hosts USING btree (lease_until) WHERE pause_requested;
CREATE INDEX hosts_quiet ON public.hosts USING btree (id) WHERE ((state = 'idle'::text) AND (next_fetch_at IS NULL));
CREATE INDEX pages_body ON public.pages USING btree (crawl_id, body_sha256);
CREATE INDEX pages_text ON public.pages USING btree (crawl_id, text_sha256);
CREATE INDEX robots_copies_origin ON public.robots_copies USING btree (host_id, scheme, port, since);
CREATE INDEX suppressions_age ON public.suppressions USING btree (crawl_id, last_at);
CREATE INDEX urls_due ON public.urls USING btree (crawl_id, due_at) WHERE (state = ANY (ARRAY['resting'::text, 'gone'::text]));
CREATE INDEX urls_queue ON public.urls USING btree (crawl_id, host_id, lane, score DESC, id) WHERE (state = 'queued'::text);
CREATE INDEX urls_refused ON public.urls USING btree (host_id, crawl_id, key) WHERE (state = 'refused'::text);
CREATE INDEX urls_retry ON public.urls USING btree (crawl_id, due_at) WHERE ((state = 'resting'::text) AND retrying);
CREATE INDEX visits_open ON ONLY public.visits USING btree (host_id) WHERE ((ended_at IS NULL) AND (ending IS NULL));
CREATE INDEX visits_default_host_id_idx ON public.visits_default USING btree (host_id) WHERE ((ended_at IS NULL) AND (ending IS NULL));
CREATE INDEX visits_host ON ONLY public.visits USING btree (host_id, taken_at);
CREATE INDEX visits_default_host_id_taken_at_idx ON public.visits_default USING btree (host_id, taken_at);
CREATE INDEX visits_past_host ON public.visits_past USING btree (host_id, taken_at);
CREATE INDEX visits_past_host_id_idx ON public.visits_past USING btree (host_id) WHERE ((ended_at IS NULL) AND (ending IS NULL));
ALTER INDEX public.fetches_host ATTACH PARTITION public.fetches_default_host_id_started_at_idx;
ALTER INDEX public.fetches_url ATTACH PARTITION public.fetches_default_host_id_substr_started_at_idx;
ALTER INDEX public.fetches_pkey ATTACH PARTITION public.fetches_default_pkey;
ALTER INDEX public.fetches_host ATTACH PARTITION public.fetches_past_host;
ALTER INDEX public.fetches_url ATTACH PARTITION public.fetches_past_host_id_substr_started_at_idx;
ALTER INDEX public.fetches_pkey ATTACH PARTITION public.fetches_past_pkey;
ALTER INDEX public.visits_open ATTACH PARTITION public.visits_default_host_id_idx;
ALTER INDEX public.visits_host ATTACH PARTITION public.visits_default_host_id_taken_at_idx;
ALTER INDEX public.visits_pkey ATTACH PARTITION public.visits_default_pkey;
ALTER INDEX public.visits_host ATTACH PARTITION public.visits_past_host;
ALTER INDEX public.visits_open ATTACH PARTITION public.visits_past_host_id_idx;
ALTER INDEX public.visits_pkey ATTACH PARTITION public.visits_past_pkey;
ALTER TABLE ONLY public.robots
    ADD CONSTRAINT robots_host_id_fkey FOREIGN KEY (host_id) REFERENCES public.hosts(id);
