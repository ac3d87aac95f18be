-- log: a row per request; times are the visit's anchor (database time of its take-up) plus monotonic seconds since
INSERT INTO fetches (host_id, crawl_id, visit_id, url_key, url, kind, reason, started_at, ended_at, contacted_at,
    delay_s, address_budget, address_gap_s,
                     rest_s, address, status,
                     outcome, failure, detail, location, retry_after, content_type, wire_bytes, body_bytes, truncated,
                     dns_ms, connect_ms, first_byte_ms, total_ms, conditional, etag, last_modified, body_sha256,
                     attempt, segment_id, at_offset, length, fenced)
SELECT r.host_id, r.crawl_id, r.visit_id, decode(r.url_key, 'hex'), r.url, r.kind, r.reason,
       r.anchor + make_interval(secs => r.start_s), r.anchor + make_interval(secs => r.end_s),
       r.anchor + make_interval(secs => r.contact_s),
       r.delay_s, r.address_budget, r.address_gap_s, r.rest_s, CAST(r.address AS inet), r.status, r.outcome, r.failure,
       r.detail, r.location, r.retry_after, r.content_type,
       r.wire_bytes, r.body_bytes, r.truncated, r.dns_ms, r.connect_ms, r.first_byte_ms, r.total_ms, r.conditional,
       r.etag, r.last_modified, decode(r.body_sha256, 'hex'), r.attempt, r.segment_id, r.at_offset, r.length, :fenced
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, visit_id bigint, anchor timestamptz, url_key text, url text, kind text,
    reason text, start_s double precision, end_s double precision, contact_s double precision, delay_s double precision,
    address_budget text, address_gap_s double precision, rest_s double precision, address text, status smallint,
    outcome text, failure text, detail text, location text, retry_after text, content_type text, wire_bytes bigint,
    body_bytes bigint, truncated boolean, dns_ms real, connect_ms real, first_byte_ms real, total_ms real,
    conditional boolean, etag text, last_modified text, body_sha256 text, attempt smallint, segment_id bigint,
    at_offset bigint, length bigint)

-- of_url: the latest fetches of a URL
SELECT * FROM fetches
WHERE host_id = :host_id AND substr(url_key, 1, 8) = substr(CAST(:key AS bytea), 1, 8) AND url_key = :key
ORDER BY started_at DESC
LIMIT :n

-- of_host: the latest fetches of a host
SELECT * FROM fetches WHERE host_id = :host_id ORDER BY started_at DESC LIMIT :n

-- unsent: requests to a host that were not sent since the last one that was, by its latest :n rows
SELECT count(*) AS times, max(ended_at) AS last_at, (array_agg(detail ORDER BY started_at DESC))[1] AS because
FROM (
    SELECT *, bool_and(outcome = 'unsent') OVER (ORDER BY started_at DESC, id DESC) AS is_since
    FROM (SELECT * FROM fetches WHERE host_id = :host_id ORDER BY started_at DESC, id DESC LIMIT :n) AS latest
) AS marked
WHERE is_since

-- hosts_of_crawl: hosts that a crawl contacted, or has URLs of
SELECT DISTINCT host_id FROM fetches WHERE crawl_id = :crawl_id
UNION
SELECT h.id FROM hosts AS h WHERE EXISTS (SELECT FROM urls AS u WHERE u.host_id = h.id AND u.crawl_id = :crawl_id)

-- audit: v_politeness_audit of these hosts, or of all
SELECT * FROM v_politeness_audit WHERE CAST(:host_ids AS bigint[]) IS NULL OR host_id = ANY(CAST(:host_ids AS bigint[]))

-- audit_host: v_politeness_audit of one host; an array would read the history of robots.txt of all hosts
SELECT * FROM v_politeness_audit WHERE host_id = :host_id

-- audit_addresses: v_address_audit of the budgets that these hosts drew on, with all their draws; or of all
SELECT *
FROM v_address_audit
WHERE CAST(:host_ids AS bigint[]) IS NULL OR budget = ANY(ARRAY(
    SELECT DISTINCT address_budget
    FROM fetches
    WHERE host_id = ANY(CAST(:host_ids AS bigint[])) AND address_budget IS NOT NULL))

-- outcomes: requests of a crawl by their ending, of all rounds; reads the whole log
SELECT kind, outcome, status, count(*) AS fetches, max(started_at) AS last_at
FROM fetches
WHERE crawl_id = :crawl_id
GROUP BY kind, outcome, status
ORDER BY fetches DESC, kind, outcome, status

-- begins: the start of the oldest request in the log
SELECT min(started_at) FROM fetches

-- asked: every request, host by host, its robots.txt first: to be judged by the copies that were in force
SELECT host_id, kind, url, started_at, ended_at
FROM fetches
WHERE outcome <> 'unsent' AND (CAST(:host_ids AS bigint[]) IS NULL OR host_id = ANY(CAST(:host_ids AS bigint[])))
ORDER BY host_id, kind <> 'robots', started_at
