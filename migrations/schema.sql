-- The schema that `alembic upgrade head` makes, views (app/store/views.sql) and partitions aside. Made by
-- `python -m tests.store.schema_text`; change it by a migration.

CREATE TABLE archive_nodes (
    node text NOT NULL,
    place text NOT NULL,
    free_bytes bigint NOT NULL,
    waiting_bytes bigint NOT NULL,
    stopped_because text,
    stopped_at timestamp with time zone,
    trouble text,
    seen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT archive_nodes_pkey PRIMARY KEY (node),
    CONSTRAINT archive_nodes_stopped_has_time CHECK (((stopped_because IS NULL) = (stopped_at IS NULL)))
);
COMMENT ON TABLE archive_nodes IS 'Machines that write the archive, and whether they can.';
COMMENT ON COLUMN archive_nodes.place IS 'folder or object store of its archive';
COMMENT ON COLUMN archive_nodes.free_bytes IS 'of the disk that its segments are written to';
COMMENT ON COLUMN archive_nodes.waiting_bytes IS 'closed segments that wait for the object store';
COMMENT ON COLUMN archive_nodes.stopped_because IS 'nothing is fetched there until this ends; NULL: all is well';
COMMENT ON COLUMN archive_nodes.trouble IS 'what fails and is tried again, while it goes on fetching';

CREATE TABLE budgets (
    kind text NOT NULL,
    name text NOT NULL,
    next_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    queue_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    host_id bigint,
    shared_until timestamp with time zone,
    blocked_until timestamp with time zone,
    resting_because text,
    reset_host_id bigint,
    reset_at timestamp with time zone,
    CONSTRAINT budgets_pkey PRIMARY KEY (kind, name),
    CONSTRAINT budgets_kind_known CHECK ((kind = ANY (ARRAY['address'::text, 'network'::text, 'domain'::text, 'all'::text])))
);
COMMENT ON TABLE budgets IS 'What several hosts share, and its pace: an address, a network, a registrable domain, everything.';
COMMENT ON COLUMN budgets.kind IS 'address, network (a shared front), domain, all';
COMMENT ON COLUMN budgets.next_at IS 'no request starts before';
COMMENT ON COLUMN budgets.queue_at IS 'the next in the queue is told to come then';
COMMENT ON COLUMN budgets.failures IS 'refused or reset connections in a row';
COMMENT ON COLUMN budgets.host_id IS 'the host that was granted the last start';
COMMENT ON COLUMN budgets.shared_until IS 'several hosts draw on it: starts that are late are not sent';
COMMENT ON COLUMN budgets.blocked_until IS 'it rests as a whole, for the reason in resting_because';
COMMENT ON COLUMN budgets.reset_host_id IS 'the host whose connections were reset last';
COMMENT ON COLUMN budgets.reset_at IS 'when that was';

CREATE TABLE captures (
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    host_id bigint NOT NULL,
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    url text NOT NULL,
    fetched_at timestamp with time zone NOT NULL,
    kind text NOT NULL,
    status smallint NOT NULL,
    content_type text,
    charset text,
    body_sha256 bytea,
    text_sha256 bytea,
    payload_sha256 bytea,
    body_bytes bigint NOT NULL,
    truncated boolean NOT NULL,
    segment_id bigint NOT NULL,
    at_offset bigint NOT NULL,
    length bigint NOT NULL,
    refers_to bigint,
    record_id uuid,
    rendered_from bigint,
    to_render boolean DEFAULT false NOT NULL,
    CONSTRAINT captures_pkey PRIMARY KEY (host_id, crawl_id, key, id),
    CONSTRAINT captures_kind_known CHECK ((kind = ANY (ARRAY['page'::text, 'rendered'::text, 'robots'::text, 'sitemap'::text, 'redirect'::text, 'error'::text]))),
    CONSTRAINT captures_rendered_has_source CHECK (((kind = 'rendered'::text) = (rendered_from IS NOT NULL)))
);
COMMENT ON TABLE captures IS 'Answers that are in the archive, and where.';
COMMENT ON COLUMN captures.key IS 'SHA-256 of the canonical URL';
COMMENT ON COLUMN captures.url IS 'as sent';
COMMENT ON COLUMN captures.body_sha256 IS 'of the decoded body';
COMMENT ON COLUMN captures.text_sha256 IS 'of the main text';
COMMENT ON COLUMN captures.payload_sha256 IS 'of the body as received, where it has a content-coding; NULL: as body_sha256, or as what it refers to';
COMMENT ON COLUMN captures.body_bytes IS 'of the decoded body';
COMMENT ON COLUMN captures.at_offset IS 'where in the segment its record begins';
COMMENT ON COLUMN captures.length IS 'bytes of the record there, a gzip member';
COMMENT ON COLUMN captures.refers_to IS 'capture whose body this revisit repeats; NULL: its record has its own';
COMMENT ON COLUMN captures.record_id IS 'WARC-Record-ID; NULL: captured before it was noted';
COMMENT ON COLUMN captures.rendered_from IS 'of a rendered document: the capture of the answer that a browser opened';
COMMENT ON COLUMN captures.to_render IS 'a browser is to open it: the rendered document from before stands until then';
CREATE UNIQUE INDEX captures_crawl ON captures USING btree (crawl_id, id);
CREATE INDEX captures_refers_to ON captures USING btree (crawl_id, refers_to) WHERE (refers_to IS NOT NULL);
CREATE INDEX captures_rendered_from ON captures USING btree (crawl_id, rendered_from) WHERE (rendered_from IS NOT NULL);
CREATE INDEX captures_segment ON captures USING btree (segment_id);

CREATE TABLE changes (
    xid bigint DEFAULT ((pg_current_xact_id())::text)::bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    crawl_id bigint NOT NULL,
    host_id bigint NOT NULL,
    key bytea NOT NULL,
    kind text NOT NULL,
    at timestamp with time zone NOT NULL,
    url text NOT NULL,
    text_sha256 bytea,
    why text,
    CONSTRAINT changes_pkey PRIMARY KEY (xid, id)
);
COMMENT ON TABLE changes IS 'Events of pages, in the order of commits: rows whose xid is below the oldest open transaction are final.';
COMMENT ON COLUMN changes.xid IS 'the transaction that wrote it, never a subtransaction';
COMMENT ON COLUMN changes.kind IS 'new, changed, gone, withdrawn, returned';
COMMENT ON COLUMN changes.at IS 'of the page''s row: changed_at, gone_at';
COMMENT ON COLUMN changes.text_sha256 IS 'NULL: the page is not there any more';
COMMENT ON COLUMN changes.why IS 'of one that is gone or withdrawn: cause, and the words';
CREATE INDEX changes_crawl ON changes USING btree (crawl_id, xid, id);

CREATE TABLE changes_kept (
    is_only boolean DEFAULT true NOT NULL,
    lineage text NOT NULL,
    deleted_xid bigint DEFAULT 0 NOT NULL,
    deleted_id bigint DEFAULT 0 NOT NULL,
    looked_xid bigint DEFAULT 0 NOT NULL,
    looked_id bigint DEFAULT 0 NOT NULL,
    top_xid bigint DEFAULT 0 NOT NULL,
    top_id bigint DEFAULT 0 NOT NULL,
    CONSTRAINT changes_kept_pkey PRIMARY KEY (is_only),
    CONSTRAINT changes_kept_one_row CHECK (is_only)
);
COMMENT ON TABLE changes_kept IS 'How far back the events go, and of which database their transaction ids are.';
COMMENT ON COLUMN changes_kept.lineage IS 'tiptoe_lineage() of the database whose xids these are';
COMMENT ON COLUMN changes_kept.deleted_xid IS 'events up to here may have been deleted';
COMMENT ON COLUMN changes_kept.looked_xid IS 'the janitor''s place';
COMMENT ON COLUMN changes_kept.top_xid IS 'the newest event of a crawl that was deleted';

CREATE TABLE clocks (
    machine text NOT NULL,
    at timestamp with time zone NOT NULL,
    boot_s double precision NOT NULL,
    CONSTRAINT clocks_pkey PRIMARY KEY (machine)
);
COMMENT ON TABLE clocks IS 'The database''s clock beside those of the machines that dispatch: a step shows as a difference.';
COMMENT ON COLUMN clocks.machine IS 'a machine''s clock, until it boots again';
COMMENT ON COLUMN clocks.at IS 'the database''s time when it was last compared';
COMMENT ON COLUMN clocks.boot_s IS 'that machine''s seconds then';

CREATE TABLE crawl_counts (
    crawl_id bigint NOT NULL,
    part smallint NOT NULL,
    pages bigint NOT NULL,
    bytes bigint NOT NULL,
    CONSTRAINT crawl_counts_pkey PRIMARY KEY (crawl_id, part)
);
COMMENT ON TABLE crawl_counts IS 'Sums of crawl_hosts, by crawl, in parts; each writer of crawl_hosts keeps them in the same transaction.';
COMMENT ON COLUMN crawl_counts.part IS 'each session adds to one, by the number of its process';
COMMENT ON COLUMN crawl_counts.pages IS 'may be negative: the parts'' sum is what counts';
COMMENT ON COLUMN crawl_counts.bytes IS 'the same';

CREATE TABLE crawl_hosts (
    crawl_id bigint NOT NULL,
    host_id bigint NOT NULL,
    pages bigint DEFAULT 0 NOT NULL,
    fetches bigint DEFAULT 0 NOT NULL,
    failed bigint DEFAULT 0 NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL,
    last_fetch_at timestamp with time zone,
    CONSTRAINT crawl_hosts_pkey PRIMARY KEY (crawl_id, host_id)
);
COMMENT ON TABLE crawl_hosts IS 'What a crawl got from a host in this round; written only under the host''s lease.';
COMMENT ON COLUMN crawl_hosts.bytes IS 'body bytes on the wire';

CREATE TABLE crawl_metrics (
    crawl_id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    seconds double precision NOT NULL,
    requests bigint NOT NULL,
    pages bigint NOT NULL,
    recrawls bigint NOT NULL,
    density_ratio double precision,
    p1_coverage_rate double precision,
    avg_staleness_days double precision,
    discard_rate double precision,
    change_yield double precision,
    fetch_success_rate double precision,
    avg_response_time_ms double precision,
    frontier_depth bigint,
    duplicate_discard_rate double precision,
    robots_denials bigint,
    CONSTRAINT crawl_metrics_pkey PRIMARY KEY (crawl_id, at)
);
COMMENT ON TABLE crawl_metrics IS 'What each crawl''s minutes were like, written by beat. NULL: there was nothing to measure it by.';
COMMENT ON COLUMN crawl_metrics.at IS 'end of the time that the row is about';
COMMENT ON COLUMN crawl_metrics.seconds IS 'its length';
COMMENT ON COLUMN crawl_metrics.requests IS 'for pages';
COMMENT ON COLUMN crawl_metrics.pages IS 'of these: brought a page for the first time';
COMMENT ON COLUMN crawl_metrics.recrawls IS 'of these: of pages that were fetched before';
COMMENT ON COLUMN crawl_metrics.density_ratio IS 'of the requests: brought a text that no other page of the crawl has';
COMMENT ON COLUMN crawl_metrics.p1_coverage_rate IS 'of the URLs in p0 and p1 that may be fetched: that were (a sample)';
COMMENT ON COLUMN crawl_metrics.avg_staleness_days IS 'since a page was last looked at (a sample)';
COMMENT ON COLUMN crawl_metrics.discard_rate IS 'of the links that were new: refused';
COMMENT ON COLUMN crawl_metrics.change_yield IS 'of the recrawls: found a change';
COMMENT ON COLUMN crawl_metrics.fetch_success_rate IS 'of the requests: a page, unchanged, or a redirect';
COMMENT ON COLUMN crawl_metrics.frontier_depth IS 'URLs that wait (a sample)';
COMMENT ON COLUMN crawl_metrics.duplicate_discard_rate IS 'of the new pages: repeat another';
COMMENT ON COLUMN crawl_metrics.robots_denials IS 'URLs that robots.txt refuses (a sample)';

CREATE TABLE crawls (
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
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
    pages_held_until timestamp with time zone,
    scope_redirects text[] DEFAULT '{}'::text[] NOT NULL,
    archive boolean DEFAULT true NOT NULL,
    handlers text[] DEFAULT '{}'::text[] NOT NULL,
    keep_links boolean DEFAULT false NOT NULL,
    search boolean DEFAULT false NOT NULL,
    search_from bigint,
    profile text DEFAULT 'general'::text NOT NULL,
    recrawl_price_s double precision,
    ended_detail text,
    near_duplicates boolean DEFAULT true NOT NULL,
    render text DEFAULT 'auto'::text NOT NULL,
    every_s double precision DEFAULT 0 NOT NULL,
    round_at timestamp with time zone,
    CONSTRAINT crawls_pkey PRIMARY KEY (id),
    CONSTRAINT crawls_name_key UNIQUE (name),
    CONSTRAINT crawls_ending_known CHECK ((ended_because = ANY (ARRAY['done'::text, 'max_pages'::text, 'max_bytes'::text, 'max_seconds'::text, 'operator'::text, 'other'::text]))),
    CONSTRAINT crawls_finished_has_time CHECK (((state = 'finished'::text) = (finished_at IS NOT NULL))),
    CONSTRAINT crawls_render_known CHECK ((render = ANY (ARRAY['auto'::text, 'never'::text, 'always'::text]))),
    CONSTRAINT crawls_scope_known CHECK ((scope = ANY (ARRAY['host'::text, 'domain'::text, 'prefix'::text, 'any'::text]))),
    CONSTRAINT crawls_sitemaps_known CHECK ((sitemaps = ANY (ARRAY['none'::text, 'declared'::text, 'all'::text]))),
    CONSTRAINT crawls_state_known CHECK ((state = ANY (ARRAY['active'::text, 'paused'::text, 'finished'::text])))
);
COMMENT ON TABLE crawls IS 'A crawl: scope, budgets, state. Ends by itself when no URL of it is in an open state.';
COMMENT ON COLUMN crawls.scope_hosts IS 'hostnames of the seeds';
COMMENT ON COLUMN crawls.scope_domains IS 'registrable domains of the seeds';
COMMENT ON COLUMN crawls.scope_prefixes IS 'seed URLs up to their last slash';
COMMENT ON COLUMN crawls.include IS 'regular expressions; a URL must match one, if there are any';
COMMENT ON COLUMN crawls.exclude IS 'regular expressions; a URL must match none';
COMMENT ON COLUMN crawls.max_seconds IS 'since active_since';
COMMENT ON COLUMN crawls.keep_fresh IS 'due pages are fetched again by themselves and the crawl does not end';
COMMENT ON COLUMN crawls.round IS 'how many times --again has gone round, plus one';
COMMENT ON COLUMN crawls.revision IS 'raised when scope or patterns change, so that workers read them anew';
COMMENT ON COLUMN crawls.pages_reserved IS 'pages done or granted to running visits, where max_pages is set';
COMMENT ON COLUMN crawls.sitemaps IS 'declared: those that robots.txt names; all: also /sitemap.xml where it names none; none';
COMMENT ON COLUMN crawls.honour_opt_outs IS 'pages whose owner reserves text and data mining are not kept';
COMMENT ON COLUMN crawls.state_since IS 'when its state last changed';
COMMENT ON COLUMN crawls.admits_above IS 'the frontier is full: only links with a higher score are admitted; NULL: all';
COMMENT ON COLUMN crawls.pages_held_until IS 'visits taken up later hold no page granted so far';
COMMENT ON COLUMN crawls.scope_redirects IS 'folders of URLs that seeds redirected to: hosts, or prefixes, that came into the scope';
COMMENT ON COLUMN crawls.archive IS 'answers are kept in the archive, with their bodies';
COMMENT ON COLUMN crawls.handlers IS 'names of the handlers that get its pages; none: every handler that is loaded and fits';
COMMENT ON COLUMN crawls.keep_links IS 'links are kept, in `links`';
COMMENT ON COLUMN crawls.search IS 'the words of its pages are indexed for tiptoe search';
COMMENT ON COLUMN crawls.search_from IS 'search was switched; still to be done for the pages of hosts above this id; NULL: it is done';
COMMENT ON COLUMN crawls.profile IS 'what it values: the name of a shipped profile, or a TOML text';
COMMENT ON COLUMN crawls.recrawl_price_s IS 'page-seconds of freshness that a recrawl must buy, by the profile''s budget; NULL: there is none';
COMMENT ON COLUMN crawls.ended_detail IS 'more of ended_because, for a person';
COMMENT ON COLUMN crawls.near_duplicates IS 'pages are compared with each other, to find those that say nearly the same';
COMMENT ON COLUMN crawls.render IS 'pages that a browser opens: auto (those that are empty without JavaScript), never, always';
COMMENT ON COLUMN crawls.every_s IS 'from the beginning of a round to the next; 0: by hand';
COMMENT ON COLUMN crawls.round_at IS 'when the next round begins by itself';

CREATE TABLE domains (
    name text NOT NULL,
    delay_override_s double precision,
    quiet_hours text,
    CONSTRAINT domains_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE domains IS 'What an operator says of all hosts of a registrable domain. A host''s own word comes first.';
COMMENT ON COLUMN domains.name IS 'registrable domain';
COMMENT ON COLUMN domains.delay_override_s IS 'operator''s base delay for each of its hosts';
COMMENT ON COLUMN domains.quiet_hours IS 'an operator''s: no contact within, UTC, such as 08:00-18:00';

CREATE TABLE duplicates (
    host_id bigint NOT NULL,
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    url text NOT NULL,
    kind text NOT NULL,
    of_url text NOT NULL,
    found_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    of_host_id bigint,
    of_key bytea,
    bits smallint,
    CONSTRAINT duplicates_pkey PRIMARY KEY (host_id, crawl_id, key),
    CONSTRAINT duplicates_kind_known CHECK ((kind = ANY (ARRAY['body'::text, 'text'::text, 'near'::text, 'review'::text])))
);
COMMENT ON TABLE duplicates IS 'Pages that say what another page of the crawl says.';
COMMENT ON COLUMN duplicates.kind IS 'body: the same bytes; text: the same main text; near: nearly the same; review: alike';
COMMENT ON COLUMN duplicates.of_host_id IS 'host of of_url; NULL: noted by a release that did not keep it';
COMMENT ON COLUMN duplicates.of_key IS 'key of of_url';
COMMENT ON COLUMN duplicates.bits IS 'near and review: in how many bits of 64 their fingerprints differ';
CREATE INDEX duplicates_found ON duplicates USING btree (crawl_id, found_at);
CREATE INDEX duplicates_of ON duplicates USING btree (of_host_id, crawl_id, of_key);

CREATE TABLE extractions (
    host_id bigint NOT NULL,
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    handler text NOT NULL,
    url text NOT NULL,
    capture_id bigint NOT NULL,
    body_sha256 bytea,
    version integer NOT NULL,
    state text DEFAULT 'due'::text NOT NULL,
    due_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    taken_until timestamp with time zone,
    node text,
    admits boolean DEFAULT true NOT NULL,
    takes smallint DEFAULT 0 NOT NULL,
    attempts smallint DEFAULT 0 NOT NULL,
    cause text,
    traceback text,
    items integer DEFAULT 0 NOT NULL,
    links integer DEFAULT 0 NOT NULL,
    would_follow jsonb,
    took_ms real,
    ended_at timestamp with time zone,
    CONSTRAINT extractions_pkey PRIMARY KEY (host_id, crawl_id, key, handler),
    CONSTRAINT extractions_ended_has_time CHECK (((state = 'due'::text) OR (ended_at IS NOT NULL))),
    CONSTRAINT extractions_failed_has_cause CHECK (((state <> 'failed'::text) OR (cause IS NOT NULL))),
    CONSTRAINT extractions_state_known CHECK ((state = ANY (ARRAY['due'::text, 'done'::text, 'failed'::text])))
);
COMMENT ON TABLE extractions IS 'Pages that a handler is to handle, has handled, or failed on: one row per (page, handler).';
COMMENT ON COLUMN extractions.key IS 'SHA-256 of the canonical URL';
COMMENT ON COLUMN extractions.url IS 'as sent';
COMMENT ON COLUMN extractions.capture_id IS 'the capture that is, or was, handled';
COMMENT ON COLUMN extractions.body_sha256 IS 'of its body: the same body is not handled again';
COMMENT ON COLUMN extractions.version IS 'of the handler that is wanted, or that handled it';
COMMENT ON COLUMN extractions.due_at IS 'not handled before';
COMMENT ON COLUMN extractions.taken_until IS 'a worker has it until then; after that it is lost, and due again';
COMMENT ON COLUMN extractions.node IS 'machine on whose disk its capture was last found to be';
COMMENT ON COLUMN extractions.admits IS 'the links it yields are admitted';
COMMENT ON COLUMN extractions.takes IS 'times in a row that it was taken';
COMMENT ON COLUMN extractions.attempts IS 'failures in a row';
COMMENT ON COLUMN extractions.cause IS 'of the last failure, in a line';
COMMENT ON COLUMN extractions.links IS 'that it yielded, admitted or not';
COMMENT ON COLUMN extractions.would_follow IS 'the links of a run that admits none';
COMMENT ON COLUMN extractions.took_ms IS 'milliseconds of the handler, by the clock';
CREATE INDEX extractions_crawl ON extractions USING btree (crawl_id, handler) WHERE (state = 'due'::text);
CREATE INDEX extractions_due ON extractions USING btree (handler, due_at) WHERE (state = 'due'::text);
CREATE INDEX extractions_near ON extractions USING btree (node) WHERE ((state = 'due'::text) AND (node IS NOT NULL));

CREATE TABLE fetches (
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
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
    contacted_at timestamp with time zone,
    segment_id bigint,
    at_offset bigint,
    length bigint,
    CONSTRAINT fetches_pkey PRIMARY KEY (started_at, id),
    CONSTRAINT fetches_ends_after_start CHECK ((ended_at >= started_at))
)
PARTITION BY RANGE (started_at);
COMMENT ON TABLE fetches IS 'The fetch log: every request that was settled, robots.txt included.';
COMMENT ON COLUMN fetches.crawl_id IS 'NULL for robots.txt and tdmrep.json';
COMMENT ON COLUMN fetches.kind IS 'page, sitemap, robots, tdmrep';
COMMENT ON COLUMN fetches.reason IS 'new, recrawl, retry; robots';
COMMENT ON COLUMN fetches.started_at IS 'database time, exact within a visit';
COMMENT ON COLUMN fetches.delay_s IS 'delay in force when it started';
COMMENT ON COLUMN fetches.location IS 'of a redirect, as sent';
COMMENT ON COLUMN fetches.retry_after IS 'as sent';
COMMENT ON COLUMN fetches.fenced IS 'the visit had lost its lease: logged, and nothing else of it was kept';
COMMENT ON COLUMN fetches.address_budget IS 'address or network whose budget it drew on';
COMMENT ON COLUMN fetches.address_gap_s IS 'seconds between two starts that this budget allows';
COMMENT ON COLUMN fetches.rest_s IS 'the host was to be left alone this long after it';
COMMENT ON COLUMN fetches.contacted_at IS 'when its connection was begun, where that was ahead of its start';
COMMENT ON COLUMN fetches.segment_id IS 'segment that holds its response; NULL: it is not in the archive';
COMMENT ON COLUMN fetches.at_offset IS 'where in the segment its record begins';
COMMENT ON COLUMN fetches.length IS 'bytes of the record there, a gzip member';
CREATE INDEX fetches_budget ON fetches USING btree (address_budget COLLATE "C") WHERE (address_budget IS NOT NULL);
CREATE INDEX fetches_host ON fetches USING btree (host_id, started_at);
CREATE INDEX fetches_url ON fetches USING btree (host_id, substr(url_key, 1, 8), started_at);

CREATE TABLE fingerprint_keys (
    key bigint NOT NULL,
    place bigint NOT NULL,
    fingerprint_id bigint NOT NULL,
    simhash bigint NOT NULL
);
COMMENT ON TABLE fingerprint_keys IS 'Three keys of each fingerprint that others look for: of originals that were compared.';
COMMENT ON COLUMN fingerprint_keys.key IS 'crawl, which of three blocks, and its bits';
COMMENT ON COLUMN fingerprint_keys.place IS 'of the fingerprint';
CREATE INDEX fingerprint_keys_key ON fingerprint_keys USING btree (key, place) INCLUDE (fingerprint_id, simhash);

CREATE TABLE fingerprints (
    host_id bigint NOT NULL,
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    simhash bigint NOT NULL,
    place bigint NOT NULL,
    CONSTRAINT fingerprints_pkey PRIMARY KEY (host_id, crawl_id, key)
);
COMMENT ON TABLE fingerprints IS 'Fingerprints of main texts. Written beside the crawl, after the page.';
COMMENT ON COLUMN fingerprints.simhash IS '64 bits';
COMMENT ON COLUMN fingerprints.place IS 'by (fetched_at, key): microseconds and 11 bits of the key; the earlier is the original';
CREATE INDEX fingerprints_host ON fingerprints USING btree (host_id, crawl_id) INCLUDE (id, place, simhash);
CREATE UNIQUE INDEX fingerprints_id ON fingerprints USING btree (crawl_id, id);

CREATE TABLE fingerprints_due (
    crawl_id bigint NOT NULL,
    place bigint NOT NULL,
    id bigint NOT NULL,
    simhash bigint NOT NULL,
    is_new boolean NOT NULL,
    CONSTRAINT fingerprints_due_pkey PRIMARY KEY (crawl_id, place, id)
);
COMMENT ON TABLE fingerprints_due IS 'Fingerprints to be compared, the earliest page''s first.';
COMMENT ON COLUMN fingerprints_due.is_new IS 'not compared before, or it repeated another: younger ones may repeat it';

CREATE TABLE host_events (
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    host_id bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    event text NOT NULL,
    detail text,
    CONSTRAINT host_events_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE host_events IS 'What operators did to hosts: the audit reads who ended a rest.';
COMMENT ON COLUMN host_events.event IS 'paused, resumed, released, slowed, quiet, pinned, forgotten';
CREATE INDEX host_events_host ON host_events USING btree (host_id, at);

CREATE TABLE hosts (
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
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
    resting_detail text,
    dropped_parameters text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT hosts_pkey PRIMARY KEY (id),
    CONSTRAINT hosts_name_key UNIQUE (name),
    CONSTRAINT hosts_lease_has_token CHECK (((state = ANY (ARRAY['offered'::text, 'taken'::text])) = (lease_token IS NOT NULL))),
    CONSTRAINT hosts_leased_is_due_again CHECK (((state <> ALL (ARRAY['offered'::text, 'taken'::text])) OR (next_fetch_at IS NOT NULL))),
    CONSTRAINT hosts_paused_is_not_due CHECK (((state <> 'paused'::text) OR (next_fetch_at IS NULL))),
    CONSTRAINT hosts_state_known CHECK ((state = ANY (ARRAY['idle'::text, 'offered'::text, 'taken'::text, 'paused'::text]))),
    CONSTRAINT hosts_taken_has_time CHECK (((state = 'taken'::text) = (taken_at IS NOT NULL))),
    CONSTRAINT hosts_token_has_deadline CHECK (((lease_token IS NULL) = (lease_until IS NULL)))
);
COMMENT ON TABLE hosts IS 'A host: pace, block, lease. The unit of politeness.';
COMMENT ON COLUMN hosts.name IS 'hostname, lower case, IDNA; all its origins share its pace';
COMMENT ON COLUMN hosts.domain IS 'registrable domain';
COMMENT ON COLUMN hosts.queue IS 'the Celery queue its visits go to';
COMMENT ON COLUMN hosts.pinned IS 'queue was chosen by an operator';
COMMENT ON COLUMN hosts.next_fetch_at IS 'due from then on; NULL: nothing queued (or paused). While a lease runs: its end plus the delay';
COMMENT ON COLUMN hosts.polite_at IS 'no contact before: end of the last request plus the delay';
COMMENT ON COLUMN hosts.blocked_until IS 'no contact before: the host rests, for the reason in resting_because';
COMMENT ON COLUMN hosts.taken_at IS 'NULL while the lease is only offered';
COMMENT ON COLUMN hosts.delay_s IS 'delay in force';
COMMENT ON COLUMN hosts.delay_override_s IS 'operator''s base delay, before robots.txt and the default';
COMMENT ON COLUMN hosts.robots_delay_s IS 'robots.txt Crawl-delay of our group, the largest of its origins';
COMMENT ON COLUMN hosts.failures IS '429, 503 and failures to connect in a row';
COMMENT ON COLUMN hosts.isolate IS 'URLs still to be taken one at a time, their attempt counted first: a taken lease ran out';
COMMENT ON COLUMN hosts.address IS 'address of the last connection';
COMMENT ON COLUMN hosts.answered_at IS 'last response of any kind';
COMMENT ON COLUMN hosts.adaptive_level IS 'doublings of the delay, 0 to 8, by how the host answers';
COMMENT ON COLUMN hosts.recent_statuses IS 'its last 20 results, oldest first: HTTP status, 0 for no answer';
COMMENT ON COLUMN hosts.recent_ms IS 'their milliseconds to the first byte; NULL where none counts';
COMMENT ON COLUMN hosts.latency_s IS 'moving average of the seconds to the first byte';
COMMENT ON COLUMN hosts.breaker_trips IS 'times in a row that the circuit breaker closed the host';
COMMENT ON COLUMN hosts.quiet_hours IS 'an operator''s: no contact within, UTC, such as 08:00-18:00';
COMMENT ON COLUMN hosts.offers_missed IS 'offers in a row that no worker took up';
COMMENT ON COLUMN hosts.unfetched IS 'queued URLs of active crawls that wait for their first fetch: an estimate, for the cap per host';
COMMENT ON COLUMN hosts.unfetched_at IS 'when they were last counted';
COMMENT ON COLUMN hosts.resting_detail IS 'more of resting_because, for a person';
COMMENT ON COLUMN hosts.dropped_parameters IS 'query parameters that change nothing there, and are not sent: chosen by an operator';
CREATE INDEX hosts_domain ON hosts USING btree (domain);
CREATE INDEX hosts_dropping ON hosts USING btree (name) WHERE (dropped_parameters <> '{}'::text[]);
CREATE INDEX hosts_due ON hosts USING btree (queue, next_fetch_at) WHERE (next_fetch_at IS NOT NULL);
CREATE INDEX hosts_offered ON hosts USING btree (lease_until) WHERE (state = 'offered'::text);
CREATE INDEX hosts_pausing ON hosts USING btree (lease_until) WHERE pause_requested;
CREATE INDEX hosts_quiet ON hosts USING btree (id) WHERE ((state = 'idle'::text) AND (next_fetch_at IS NULL));

CREATE TABLE items (
    host_id bigint NOT NULL,
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    handler text NOT NULL,
    n integer NOT NULL,
    url text NOT NULL,
    capture_id bigint NOT NULL,
    version integer NOT NULL,
    stale boolean DEFAULT false NOT NULL,
    item jsonb NOT NULL,
    extracted_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT items_pkey PRIMARY KEY (host_id, crawl_id, key, handler, n)
);
COMMENT ON TABLE items IS 'Items that handlers extracted. Those of a page and handler are replaced together.';
COMMENT ON COLUMN items.key IS 'SHA-256 of the canonical URL';
COMMENT ON COLUMN items.n IS 'its place among the items of the page, from 0';
COMMENT ON COLUMN items.capture_id IS 'the capture it was extracted from';
COMMENT ON COLUMN items.version IS 'of the handler';
COMMENT ON COLUMN items.stale IS 'the handler has another version since, or failed on a later capture';
CREATE INDEX items_fresh ON items USING btree (handler, version) WHERE (NOT stale);
CREATE INDEX items_handler ON items USING btree (handler, crawl_id);

CREATE TABLE licences (
    url text NOT NULL,
    contents jsonb,
    problem text,
    status smallint,
    asked_at timestamp with time zone NOT NULL,
    read_at timestamp with time zone,
    CONSTRAINT licences_pkey PRIMARY KEY (url)
);
COMMENT ON TABLE licences IS 'RSL licence files: one copy for the fleet.';
COMMENT ON COLUMN licences.url IS 'as a page, its answer or a robots.txt names it';
COMMENT ON COLUMN licences.contents IS 'what it states, as it was read; NULL: that is not known';
COMMENT ON COLUMN licences.problem IS 'why not, of the last attempt';
COMMENT ON COLUMN licences.status IS 'of the last attempt';
COMMENT ON COLUMN licences.asked_at IS 'last attempt';
COMMENT ON COLUMN licences.read_at IS 'of the last good one';

CREATE TABLE lineage (
    is_only boolean DEFAULT true NOT NULL,
    seen text NOT NULL,
    since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT lineage_pkey PRIMARY KEY (is_only),
    CONSTRAINT lineage_one_row CHECK (is_only)
);
COMMENT ON TABLE lineage IS 'What the rows were last known to be in: another server, timeline or database may lack what was written last.';
COMMENT ON COLUMN lineage.seen IS 'what tiptoe_lineage() said when it was last looked at';
COMMENT ON COLUMN lineage.since IS 'when that was new';

CREATE TABLE links (
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    host_id bigint NOT NULL,
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    found_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    url text NOT NULL,
    links json NOT NULL,
    CONSTRAINT links_pkey PRIMARY KEY (found_at, id)
)
PARTITION BY RANGE (found_at);
COMMENT ON TABLE links IS 'Links of crawls that keep them, a row for each reading of a page. v_links has a row for each link.';
COMMENT ON COLUMN links.key IS 'of the page that has them';
COMMENT ON COLUMN links.found_at IS 'when the page was read';
COMMENT ON COLUMN links.url IS 'of the page';
COMMENT ON COLUMN links.links IS 'in document order: to (as it would be sent), anchor, rel';
CREATE INDEX links_page ON links USING btree (host_id, crawl_id, found_at);

CREATE TABLE near_queue (
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    host_id bigint NOT NULL,
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    place bigint DEFAULT 0 NOT NULL,
    CONSTRAINT near_queue_pkey PRIMARY KEY (crawl_id, id)
);
COMMENT ON TABLE near_queue IS 'Pages whose text is new, to get a fingerprint, the oldest first; a page may be there twice.';
COMMENT ON COLUMN near_queue.place IS 'by (fetched_at, key), as of fingerprints: none behind it is compared before; 0: not known';
CREATE INDEX near_queue_place ON near_queue USING btree (crawl_id, place, id);

CREATE TABLE operator_log (
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    who text NOT NULL,
    face text NOT NULL,
    act text NOT NULL,
    subject text NOT NULL,
    detail text,
    ended_at timestamp with time zone,
    failed boolean DEFAULT false NOT NULL,
    outcome text,
    CONSTRAINT operator_log_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE operator_log IS 'Orders that people gave: who, when, what, and what became of it.';
COMMENT ON COLUMN operator_log.who IS 'user, or local: somebody on the web''s own machine';
COMMENT ON COLUMN operator_log.face IS 'where the order was given: web';
COMMENT ON COLUMN operator_log.act IS 'such as host.pause';
COMMENT ON COLUMN operator_log.subject IS 'name of the crawl or host, or a URL';
COMMENT ON COLUMN operator_log.detail IS 'what else was asked for';
COMMENT ON COLUMN operator_log.ended_at IS 'NULL: it runs, or its process ended without a word';
COMMENT ON COLUMN operator_log.outcome IS 'what it came to, for a person';
CREATE INDEX operator_log_subject_idx ON operator_log USING btree (subject, id);

CREATE TABLE page_search (
    host_id bigint NOT NULL,
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    config text NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    digest bigint NOT NULL,
    words tsvector NOT NULL,
    CONSTRAINT page_search_pkey PRIMARY KEY (host_id, crawl_id, key)
)
WITH (toast_tuple_target=128);
COMMENT ON TABLE page_search IS 'Words of pages, for tiptoe search: of crawls that ask for it. Written by beat, after the page.';
COMMENT ON COLUMN page_search.config IS 'text search configuration that stemmed it: simple, english, …';
COMMENT ON COLUMN page_search.changed_at IS 'of the page: the newest matches are ranked';
COMMENT ON COLUMN page_search.digest IS 'of the text that was indexed: equal ones are left alone';
COMMENT ON COLUMN page_search.words IS 'title (A), description (B), main text (D)';
CREATE INDEX page_search_newest ON page_search USING btree (crawl_id, changed_at);
CREATE INDEX page_search_words ON page_search USING gin (words);

CREATE TABLE pages (
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
    opt_out text,
    language_detected text,
    published_at timestamp with time zone,
    published_from text,
    modified_at timestamp with time zone,
    modified_from text,
    needs_script jsonb,
    rendered_at timestamp with time zone,
    headline text,
    author text,
    data jsonb,
    published_on date,
    modified_on date,
    links_cut boolean DEFAULT false NOT NULL,
    reader smallint,
    CONSTRAINT pages_pkey PRIMARY KEY (host_id, crawl_id, key)
);
COMMENT ON TABLE pages IS 'What the documents say: title, language, main text. Not written when keep_text is off.';
COMMENT ON COLUMN pages.language IS 'BCP 47, as the page declares it';
COMMENT ON COLUMN pages.canonical_url IS 'rel=canonical, joined';
COMMENT ON COLUMN pages.directives IS 'of X-Robots-Tag and meta robots, for us';
COMMENT ON COLUMN pages.opt_out IS 'signals of the owner about text and data mining';
COMMENT ON COLUMN pages.language_detected IS 'ISO 639, of the main text, where none is declared';
COMMENT ON COLUMN pages.published_at IS 'as the page says';
COMMENT ON COLUMN pages.published_from IS 'where it says so: json-ld, meta, time, text, url';
COMMENT ON COLUMN pages.modified_at IS 'as the page says';
COMMENT ON COLUMN pages.modified_from IS 'where it says so: json-ld, meta, time';
COMMENT ON COLUMN pages.needs_script IS 'evidence that it is empty without JavaScript; NULL: it is not';
COMMENT ON COLUMN pages.rendered_at IS 'when a browser made the document that this row says; NULL: it is the plain answer';
COMMENT ON COLUMN pages.headline IS 'what stands over the page: an h1 that its titles share, else its title';
COMMENT ON COLUMN pages.author IS 'as JSON-LD, meta or a link name it';
COMMENT ON COLUMN pages.data IS 'what the page says of itself: og, meta, json-ld; 16 KiB, then cut is true';
COMMENT ON COLUMN pages.published_on IS 'the day of published_at in the page''s own zone';
COMMENT ON COLUMN pages.modified_on IS 'the day of modified_at in the page''s own zone';
COMMENT ON COLUMN pages.links_cut IS 'it has more links than are read of a page, or written at a settle';
COMMENT ON COLUMN pages.reader IS 'version of the reader that the text is from; NULL: of a release that noted none';
CREATE INDEX pages_body ON pages USING btree (crawl_id, body_sha256);
CREATE INDEX pages_needs_script ON pages USING btree (crawl_id, host_id) WHERE (needs_script IS NOT NULL);
CREATE INDEX pages_reader ON pages USING btree (reader, crawl_id);
CREATE INDEX pages_text ON pages USING btree (crawl_id, text_sha256);

CREATE TABLE plugins (
    name text NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    off_at timestamp with time zone,
    why text,
    CONSTRAINT plugins_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE plugins IS 'Plugins that have tables of their own here, and whether their rows are written.';
COMMENT ON COLUMN plugins.failures IS 'settles in a row, lately';
COMMENT ON COLUMN plugins.off_at IS 'NULL: it is on';
COMMENT ON COLUMN plugins.why IS 'of the last failure';

CREATE TABLE render_workers (
    name text NOT NULL,
    seen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    browser text,
    problem text,
    CONSTRAINT render_workers_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE render_workers IS 'Workers of queue render, and whether they have a browser.';
COMMENT ON COLUMN render_workers.browser IS 'its version; NULL: it has none';
COMMENT ON COLUMN render_workers.problem IS 'why it can render nothing, and the remedy';

CREATE TABLE renders (
    host_id bigint NOT NULL,
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    url text NOT NULL,
    pattern text NOT NULL,
    state text NOT NULL,
    due_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    takes smallint DEFAULT 0 NOT NULL,
    attempts smallint DEFAULT 0 NOT NULL,
    cause text,
    evidence jsonb,
    status smallint NOT NULL,
    headers jsonb NOT NULL,
    body bytea,
    body_sha256 bytea NOT NULL,
    ending text,
    brought bigint,
    wall_ms real,
    cpu_ms real,
    asked integer,
    refused jsonb,
    text_sha256 bytea,
    ended_at timestamp with time zone,
    CONSTRAINT renders_pkey PRIMARY KEY (host_id, crawl_id, key),
    CONSTRAINT renders_due_has_body CHECK (((state = 'due'::text) = (body IS NOT NULL))),
    CONSTRAINT renders_ended_has_time CHECK (((state = 'due'::text) OR (ended_at IS NOT NULL))),
    CONSTRAINT renders_failed_has_cause CHECK (((state <> 'failed'::text) OR (cause IS NOT NULL))),
    CONSTRAINT renders_state_known CHECK ((state = ANY (ARRAY['due'::text, 'done'::text, 'failed'::text, 'vain'::text])))
);
COMMENT ON TABLE renders IS 'Pages that a browser is to open, or has opened: one row per page. Changed under their host''s lease.';
COMMENT ON COLUMN renders.key IS 'SHA-256 of the canonical URL';
COMMENT ON COLUMN renders.url IS 'as sent';
COMMENT ON COLUMN renders.pattern IS 'shape of the URL, by which it is learned what rendering brings';
COMMENT ON COLUMN renders.due_at IS 'not rendered before';
COMMENT ON COLUMN renders.takes IS 'times in a row that it was taken, and not ended';
COMMENT ON COLUMN renders.attempts IS 'failures in a row';
COMMENT ON COLUMN renders.cause IS 'of the last failure, in a line';
COMMENT ON COLUMN renders.evidence IS 'that it is empty without JavaScript; NULL: its crawl renders all';
COMMENT ON COLUMN renders.status IS 'of the plain answer, as the next three';
COMMENT ON COLUMN renders.body IS 'deflated; NULL once it is rendered';
COMMENT ON COLUMN renders.body_sha256 IS 'the same body is not rendered again within its time';
COMMENT ON COLUMN renders.ending IS 'why the rendering ended: app.model.render.RenderEnding';
COMMENT ON COLUMN renders.brought IS 'characters of text, and links, more than without a browser';
COMMENT ON COLUMN renders.cpu_ms IS 'of the browser';
COMMENT ON COLUMN renders.asked IS 'requests of the page that were judged';
COMMENT ON COLUMN renders.refused IS 'requests by the reason why they were not sent';
COMMENT ON COLUMN renders.text_sha256 IS 'of the last rendering: change is judged on it';
CREATE INDEX renders_crawl ON renders USING btree (crawl_id) WHERE (state = 'due'::text);
CREATE INDEX renders_due ON renders USING btree (host_id, crawl_id, due_at) WHERE (state = 'due'::text);
CREATE INDEX renders_pattern ON renders USING btree (host_id, crawl_id, pattern, ended_at) WHERE (state = 'done'::text);

CREATE TABLE rights (
    host_id bigint NOT NULL,
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    url text NOT NULL,
    said bytea NOT NULL,
    CONSTRAINT rights_pkey PRIMARY KEY (host_id, crawl_id, key, since)
);
COMMENT ON TABLE rights IS 'What the owner of a page states, a row for each change; a page that never had a statement has none.';
COMMENT ON COLUMN rights.key IS 'SHA-256 of the canonical URL';
COMMENT ON COLUMN rights.since IS 'of the first answer that came with it';
COMMENT ON COLUMN rights.said IS 'its set of `statements`';
CREATE INDEX rights_said ON rights USING btree (said);

CREATE TABLE robots (
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
    CONSTRAINT robots_pkey PRIMARY KEY (host_id, scheme, port),
    CONSTRAINT robots_availability_known CHECK ((availability = ANY (ARRAY['available'::text, 'unavailable'::text, 'unreachable'::text]))),
    CONSTRAINT robots_unreachable_has_time CHECK (((availability = 'unreachable'::text) = (unreachable_since IS NOT NULL)))
);
COMMENT ON TABLE robots IS 'robots.txt of an origin: one copy for the fleet.';
COMMENT ON COLUMN robots.availability IS 'RFC 9309 2.3.1: available, unavailable (allow all), unreachable (disallow all)';
COMMENT ON COLUMN robots.body IS 'as received, at most 500 KiB';
COMMENT ON COLUMN robots.fetched_at IS 'last attempt';
COMMENT ON COLUMN robots.expires_at IS 'fetched anew before the next request after that';
COMMENT ON COLUMN robots.failures IS 'times in a row that it was out of reach';
COMMENT ON COLUMN robots.tdmrep IS '/.well-known/tdmrep.json, for crawls that honour opt-outs; empty: there is none';
COMMENT ON COLUMN robots.tdmrep_at IS 'when it was asked for';

CREATE TABLE robots_bodies (
    sha256 bytea NOT NULL,
    body bytea NOT NULL,
    CONSTRAINT robots_bodies_pkey PRIMARY KEY (sha256)
);
COMMENT ON TABLE robots_bodies IS 'Every robots.txt that was ever in force, once.';

CREATE TABLE robots_copies (
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    host_id bigint NOT NULL,
    scheme text NOT NULL,
    port integer NOT NULL,
    since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    availability text NOT NULL,
    status smallint,
    body_sha256 bytea,
    unreachable_since timestamp with time zone,
    CONSTRAINT robots_copies_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE robots_copies IS 'What robots.txt of an origin was, since when: the log that the audit judges by.';
COMMENT ON COLUMN robots_copies.body_sha256 IS 'the last good copy: robots_bodies';
CREATE INDEX robots_copies_origin ON robots_copies USING btree (host_id, scheme, port, since);

CREATE TABLE search_queue (
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    host_id bigint NOT NULL,
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    CONSTRAINT search_queue_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE search_queue IS 'Pages to be indexed for tiptoe search, the oldest first; a page may be there twice.';

CREATE TABLE segments (
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    crawl_id bigint NOT NULL,
    node text NOT NULL,
    worker text NOT NULL,
    name text NOT NULL,
    state text DEFAULT 'open'::text NOT NULL,
    place text,
    bytes bigint,
    records bigint,
    opened_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    closed_at timestamp with time zone,
    uploaded_at timestamp with time zone,
    gone_at timestamp with time zone,
    CONSTRAINT segments_pkey PRIMARY KEY (id),
    CONSTRAINT segments_name_key UNIQUE (name),
    CONSTRAINT segments_closed_has_time CHECK (((state = ANY (ARRAY['open'::text, 'gone'::text])) OR (closed_at IS NOT NULL))),
    CONSTRAINT segments_state_known CHECK ((state = ANY (ARRAY['open'::text, 'closed'::text, 'uploaded'::text, 'gone'::text]))),
    CONSTRAINT segments_uploaded_has_place CHECK (((state <> 'uploaded'::text) OR (place IS NOT NULL)))
);
COMMENT ON TABLE segments IS 'Files of the archive (WARC), each of one crawl and one worker process.';
COMMENT ON COLUMN segments.node IS 'machine that wrote it';
COMMENT ON COLUMN segments.name IS 'of the file; `.open` is added while it is open';
COMMENT ON COLUMN segments.state IS 'open; closed: final, on its node''s disk; uploaded: in the object store; gone: deleted';
COMMENT ON COLUMN segments.place IS 'URL of an uploaded one';
COMMENT ON COLUMN segments.bytes IS 'NULL while it is open';
COMMENT ON COLUMN segments.records IS 'NULL while it is open';
CREATE INDEX segments_crawl ON segments USING btree (crawl_id, id);

CREATE TABLE sitemaps (
    host_id bigint NOT NULL,
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    url text NOT NULL,
    format text,
    entries integer DEFAULT 0 NOT NULL,
    problem text,
    claims integer DEFAULT 0 NOT NULL,
    true_claims integer DEFAULT 0 NOT NULL,
    read_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT sitemaps_pkey PRIMARY KEY (host_id, crawl_id, key),
    CONSTRAINT sitemaps_id_key UNIQUE (id)
);
COMMENT ON TABLE sitemaps IS 'Sitemaps that were read, and how far their lastmod is believed.';
COMMENT ON COLUMN sitemaps.format IS 'urlset, index, text, rss, atom, json';
COMMENT ON COLUMN sitemaps.problem IS 'what was wrong with it, when last read';
COMMENT ON COLUMN sitemaps.claims IS 'times that its lastmod was put to the test';
COMMENT ON COLUMN sitemaps.true_claims IS 'times that it told the truth';

CREATE TABLE statements (
    sha256 bytea NOT NULL,
    said jsonb NOT NULL,
    archive text NOT NULL,
    search text NOT NULL,
    ai_input text NOT NULL,
    ai_train text NOT NULL,
    decided jsonb NOT NULL,
    unread text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT statements_pkey PRIMARY KEY (sha256),
    CONSTRAINT statements_verdicts_known CHECK (((archive = ANY (ARRAY['allowed'::text, 'refused'::text, 'unknown'::text])) AND (search = ANY (ARRAY['allowed'::text, 'refused'::text, 'unknown'::text])) AND (ai_input = ANY (ARRAY['allowed'::text, 'refused'::text, 'unknown'::text])) AND (ai_train = ANY (ARRAY['allowed'::text, 'refused'::text, 'unknown'::text]))))
);
COMMENT ON TABLE statements IS 'Sets of statements, each once, and the verdicts by purpose.';
COMMENT ON COLUMN statements.said IS 'statements of owners: source, name, value, reserved';
COMMENT ON COLUMN statements.archive IS 'verdict: allowed, refused, unknown; and so for the next three';
COMMENT ON COLUMN statements.decided IS 'by purpose: the statement that decided';
COMMENT ON COLUMN statements.unread IS 'licences that were not read';
CREATE INDEX statements_unread ON statements USING gin (unread) WHERE (unread <> '{}'::text[]);

CREATE TABLE suppressions (
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    reason text NOT NULL,
    url text NOT NULL,
    detail text,
    found_on text,
    first_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    last_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    count bigint DEFAULT 1 NOT NULL,
    CONSTRAINT suppressions_pkey PRIMARY KEY (crawl_id, key, reason)
);
COMMENT ON TABLE suppressions IS 'Links that were not admitted, and why.';
COMMENT ON COLUMN suppressions.key IS 'SHA-256 of url';
COMMENT ON COLUMN suppressions.reason IS 'closed list: app.model.Refusal';
COMMENT ON COLUMN suppressions.count IS 'times met, counted once a visit at most';
CREATE INDEX suppressions_age ON suppressions USING btree (crawl_id, last_at);

CREATE TABLE url_patterns (
    host_id bigint NOT NULL,
    crawl_id bigint NOT NULL,
    pattern text NOT NULL,
    urls integer NOT NULL,
    fetched integer NOT NULL,
    new integer NOT NULL,
    refused integer NOT NULL,
    lately real NOT NULL,
    new_lately real NOT NULL,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    rendered smallint DEFAULT 0 NOT NULL,
    gain integer DEFAULT 0 NOT NULL,
    told integer DEFAULT 0 NOT NULL,
    spared integer DEFAULT 0 NOT NULL,
    grown integer DEFAULT 0 NOT NULL,
    CONSTRAINT url_patterns_pkey PRIMARY KEY (host_id, crawl_id, pattern)
);
COMMENT ON TABLE url_patterns IS 'What URLs of one shape have brought; written only under the host''s lease.';
COMMENT ON COLUMN url_patterns.pattern IS 'shape of URLs: app.policy.focus.shape';
COMMENT ON COLUMN url_patterns.urls IS 'about how many were found';
COMMENT ON COLUMN url_patterns.fetched IS 'pages of it';
COMMENT ON COLUMN url_patterns.new IS 'of these: with text that was new on the host';
COMMENT ON COLUMN url_patterns.refused IS 'URLs of it that were not fetched as a trap';
COMMENT ON COLUMN url_patterns.lately IS 'its latest pages, weighted';
COMMENT ON COLUMN url_patterns.new_lately IS 'of these: that brought new text, or named a page that did';
COMMENT ON COLUMN url_patterns.rendered IS 'renderings in a row that gained much';
COMMENT ON COLUMN url_patterns.gain IS 'the least of these: characters, and links';
COMMENT ON COLUMN url_patterns.told IS 'pages with a line of their own, or a number';
COMMENT ON COLUMN url_patterns.spared IS 'refused URLs that the budget let pass last';
COMMENT ON COLUMN url_patterns.grown IS 'refused by then';

CREATE TABLE urls (
    host_id bigint NOT NULL,
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
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
    linked text,
    detail text,
    score_parts integer,
    change_shape real,
    change_s real,
    gone_at timestamp with time zone,
    reader smallint,
    CONSTRAINT urls_pkey PRIMARY KEY (host_id, crawl_id, key),
    CONSTRAINT urls_alias_has_home CHECK (((state <> 'alias'::text) OR (alias_of IS NOT NULL))),
    CONSTRAINT urls_ended_has_cause CHECK (((state <> ALL (ARRAY['refused'::text, 'quarantined'::text])) OR (cause IS NOT NULL))),
    CONSTRAINT urls_kind_known CHECK ((kind = ANY (ARRAY['page'::text, 'sitemap'::text]))),
    CONSTRAINT urls_resting_has_time CHECK (((state <> 'resting'::text) OR (due_at IS NOT NULL))),
    CONSTRAINT urls_retrying_rests CHECK (((NOT retrying) OR (state = 'resting'::text))),
    CONSTRAINT urls_state_known CHECK ((state = ANY (ARRAY['queued'::text, 'resting'::text, 'refused'::text, 'gone'::text, 'quarantined'::text, 'alias'::text])))
);
COMMENT ON TABLE urls IS 'The frontier: one row per (crawl, canonical URL).';
COMMENT ON COLUMN urls.key IS 'SHA-256 of the canonical URL';
COMMENT ON COLUMN urls.id IS 'order of admission';
COMMENT ON COLUMN urls.url IS 'as sent';
COMMENT ON COLUMN urls.lane IS 'front queue p0 to p3';
COMMENT ON COLUMN urls.depth IS 'links from the nearest seed';
COMMENT ON COLUMN urls.hops IS 'redirects in a row that led here';
COMMENT ON COLUMN urls.attempts IS 'tries spent since the last good one';
COMMENT ON COLUMN urls.retrying IS 'resting for a retry, not for a recrawl: an open state';
COMMENT ON COLUMN urls.due_at IS 'resting, gone, and alias by a canonical: when to look again';
COMMENT ON COLUMN urls.interval_s IS 'recrawl interval';
COMMENT ON COLUMN urls.text_sha256 IS 'of the main text: what changed is judged by it';
COMMENT ON COLUMN urls.outcome IS 'of the last fetch';
COMMENT ON COLUMN urls.cause IS 'why refused, quarantined, or kept out of pages';
COMMENT ON COLUMN urls.alias_of IS 'canonical URL that holds the document';
COMMENT ON COLUMN urls.found_on IS 'URL of the page that first linked here; NULL for seeds';
COMMENT ON COLUMN urls.kind IS 'page or sitemap';
COMMENT ON COLUMN urls.network_failures IS 'of these: answers that broke off';
COMMENT ON COLUMN urls.server_failures IS 'of these: 5xx';
COMMENT ON COLUMN urls.parse_failures IS 'of these: visits that died while they had it';
COMMENT ON COLUMN urls.directives IS 'of X-Robots-Tag and meta robots, for us';
COMMENT ON COLUMN urls.opt_out IS 'signals of the owner about text and data mining';
COMMENT ON COLUMN urls.sitemap_id IS 'sitemap that lists it with a lastmod';
COMMENT ON COLUMN urls.lastmod IS 'as that sitemap says';
COMMENT ON COLUMN urls.linked IS 'path and query as linked, where tracking or session parameters are not sent';
COMMENT ON COLUMN urls.detail IS 'more of the cause, for a person';
COMMENT ON COLUMN urls.score_parts IS 'components of the score as it was admitted: app.policy.focus.score';
COMMENT ON COLUMN urls.change_shape IS 'belief about how often it changes: shape of a Gamma distribution';
COMMENT ON COLUMN urls.change_s IS 'of the same, its seconds; change_s / change_shape: from one change to the next';
COMMENT ON COLUMN urls.gone_at IS 'since when it is gone; it stays until a fetch brings the page again';
COMMENT ON COLUMN urls.reader IS 'version of the reader that text_sha256 is from, of a page that is not kept';
CREATE INDEX urls_due ON urls USING btree (crawl_id, due_at) WHERE (state = ANY (ARRAY['resting'::text, 'gone'::text, 'alias'::text]));
CREATE INDEX urls_queue ON urls USING btree (crawl_id, host_id, lane, score DESC, id) WHERE (state = 'queued'::text);
CREATE INDEX urls_refused ON urls USING btree (host_id, crawl_id, key) WHERE (state = 'refused'::text);
CREATE INDEX urls_retry ON urls USING btree (crawl_id, due_at) WHERE ((state = 'resting'::text) AND retrying);

CREATE TABLE visits (
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    host_id bigint NOT NULL,
    token uuid NOT NULL,
    queue text NOT NULL,
    worker text NOT NULL,
    taken_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    ending text,
    fetches integer DEFAULT 0 NOT NULL,
    detail text,
    CONSTRAINT visits_pkey PRIMARY KEY (id, taken_at)
)
PARTITION BY RANGE (taken_at);
COMMENT ON TABLE visits IS 'One worker''s exclusive, bounded stay at one host.';
COMMENT ON COLUMN visits.ended_at IS 'NULL: running, or ended without a word; then its last batch may have gone unlogged';
COMMENT ON COLUMN visits.detail IS 'more of the ending, for a person';
CREATE INDEX visits_host ON visits USING btree (host_id, taken_at);
CREATE INDEX visits_open ON visits USING btree (host_id) WHERE ((ended_at IS NULL) AND (ending IS NULL));

CREATE TABLE webhooks (
    id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
    crawl_id bigint NOT NULL,
    url text NOT NULL,
    secret text NOT NULL,
    kinds text[],
    pattern text,
    xid bigint DEFAULT 0 NOT NULL,
    at_id bigint DEFAULT 0 NOT NULL,
    lineage text NOT NULL,
    added_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    next_try_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    why text,
    sent bigint DEFAULT 0 NOT NULL,
    CONSTRAINT webhooks_pkey PRIMARY KEY (id),
    CONSTRAINT webhooks_crawl_id_key UNIQUE (crawl_id, url)
);
COMMENT ON TABLE webhooks IS 'Subscribers that get a crawl''s events by POST, each at its own place.';
COMMENT ON COLUMN webhooks.secret IS 'its key of HMAC-SHA256; shown once';
COMMENT ON COLUMN webhooks.kinds IS 'NULL: events of all kinds';
COMMENT ON COLUMN webhooks.pattern IS 'of URLs, with * ; NULL: all';
COMMENT ON COLUMN webhooks.xid IS 'the last event it has';
COMMENT ON COLUMN webhooks.lineage IS 'of the database that the last event is of';
COMMENT ON COLUMN webhooks.failures IS 'in a row';
COMMENT ON COLUMN webhooks.why IS 'of the last failure';
COMMENT ON COLUMN webhooks.sent IS 'events';
CREATE INDEX webhooks_due ON webhooks USING btree (next_try_at);

CREATE TABLE withdrawals (
    host_id bigint NOT NULL,
    crawl_id bigint NOT NULL,
    key bytea NOT NULL,
    url text NOT NULL,
    words text NOT NULL,
    withdrawn_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    confirmed_at timestamp with time zone,
    CONSTRAINT withdrawals_pkey PRIMARY KEY (host_id, crawl_id, key)
);
COMMENT ON TABLE withdrawals IS 'Pages that their owners keep out: nothing of them is shown. A page that returns has none.';
COMMENT ON COLUMN withdrawals.key IS 'SHA-256 of the canonical URL';
COMMENT ON COLUMN withdrawals.words IS 'the statement by which it is withdrawn';
COMMENT ON COLUMN withdrawals.confirmed_at IS 'when another answer said so, too; NULL: none has yet';
CREATE INDEX withdrawals_crawl ON withdrawals USING btree (crawl_id, withdrawn_at);

ALTER TABLE page_search ADD CONSTRAINT page_search_host_id_fkey FOREIGN KEY (host_id, crawl_id, key) REFERENCES pages(host_id, crawl_id, key) ON DELETE CASCADE;
ALTER TABLE robots ADD CONSTRAINT robots_host_id_fkey FOREIGN KEY (host_id) REFERENCES hosts(id);

CREATE OR REPLACE FUNCTION tiptoe_lineage()
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
            SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
                             substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
                             (SELECT oid FROM pg_database WHERE datname = current_database()),
                             CAST(CAST('hosts' AS regclass) AS oid))
        $function$;
COMMENT ON FUNCTION tiptoe_lineage() IS 'Cluster, timeline, database and table: what a failover or a restore changes.';
