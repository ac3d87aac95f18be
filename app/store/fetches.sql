-- log: a row per request; times are the visit's anchor (database time of its take-up) plus monotonic seconds since
INSERT INTO fetches (host_id, crawl_id, visit_id, url_key, url, kind, reason, started_at, ended_at, delay_s, address, status,
                     outcome, failure, detail, location, retry_after, content_type, wire_bytes, body_bytes, truncated,
                     dns_ms, connect_ms, first_byte_ms, total_ms, conditional, etag, last_modified, body_sha256, attempt, fenced)
SELECT r.host_id, r.crawl_id, :visit_id, decode(r.url_key, 'hex'), r.url, r.kind, r.reason,
       CAST(:anchor AS timestamptz) + make_interval(secs => r.start_s), CAST(:anchor AS timestamptz) + make_interval(secs => r.end_s),
       r.delay_s, CAST(r.address AS inet), r.status, r.outcome, r.failure, r.detail, r.location, r.retry_after, r.content_type,
       r.wire_bytes, r.body_bytes, r.truncated, r.dns_ms, r.connect_ms, r.first_byte_ms, r.total_ms, r.conditional, r.etag,
       r.last_modified, decode(r.body_sha256, 'hex'), r.attempt, :fenced
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, url_key text, url text, kind text, reason text, start_s double precision,
    end_s double precision, delay_s double precision, address text, status smallint, outcome text, failure text, detail text,
    location text, retry_after text, content_type text, wire_bytes bigint, body_bytes bigint, truncated boolean, dns_ms real,
    connect_ms real, first_byte_ms real, total_ms real, conditional boolean, etag text, last_modified text, body_sha256 text,
    attempt smallint)

-- of_url: the latest fetches of a URL
SELECT * FROM fetches WHERE host_id = :host_id AND url_key = :key ORDER BY started_at DESC LIMIT :n

-- of_host: the latest fetches of a host
SELECT * FROM fetches WHERE host_id = :host_id ORDER BY started_at DESC LIMIT :n

-- audit: per host, from the log alone: gaps against the delay in force, requests at once, requests before robots.txt
WITH ordered AS (
    SELECT f.host_id, f.kind, f.url, f.started_at, f.ended_at, f.delay_s, f.fenced,
           max(f.ended_at) OVER earlier AS previous_end,
           split_part(f.url, '/', 3) AS authority,
           split_part(f.url, '/', 1) AS scheme
    FROM fetches AS f
    WHERE (CAST(:crawl_id AS bigint) IS NULL OR f.host_id IN (SELECT host_id FROM crawl_hosts WHERE crawl_id = :crawl_id))
    WINDOW earlier AS (PARTITION BY f.host_id ORDER BY f.started_at, f.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), first_robots AS (
    SELECT host_id, scheme, authority, min(ended_at) AS at FROM ordered WHERE kind = 'robots' GROUP BY 1, 2, 3
)
SELECT h.name AS host, count(*) AS fetches,
       min(extract(epoch FROM o.started_at - o.previous_end)) AS smallest_gap_s,
       min(o.delay_s) AS smallest_delay_s,
       count(*) FILTER (WHERE extract(epoch FROM o.started_at - o.previous_end) < o.delay_s - 0.001) AS gap_violations,
       count(*) FILTER (WHERE o.started_at < o.previous_end) AS concurrent,
       count(*) FILTER (WHERE o.kind = 'page' AND (fr.at IS NULL OR o.started_at < fr.at)) AS before_robots,
       count(*) FILTER (WHERE o.fenced) AS fenced
FROM ordered AS o
JOIN hosts AS h ON h.id = o.host_id
LEFT JOIN first_robots AS fr ON fr.host_id = o.host_id AND fr.scheme = o.scheme AND fr.authority = o.authority
GROUP BY h.name
ORDER BY gap_violations DESC, h.name

-- outcomes: requests of a crawl by their ending, of all rounds; reads the whole log
SELECT outcome, status, count(*) AS fetches, max(started_at) AS last_at
FROM fetches
WHERE crawl_id = :crawl_id
GROUP BY outcome, status
ORDER BY fetches DESC

-- under_copy: pages asked for since robots.txt of their origin was last fetched, to be judged by the stored copy; a page of them
WITH copies AS MATERIALIZED (
    SELECT host_id, split_part(url, '/', 1) AS scheme, split_part(url, '/', 3) AS authority, max(ended_at) AS at
    FROM fetches
    WHERE kind = 'robots'
    GROUP BY 1, 2, 3
)
SELECT f.host_id, f.started_at, f.id, f.url
FROM fetches AS f
JOIN copies AS c ON c.host_id = f.host_id AND c.scheme = split_part(f.url, '/', 1) AND c.authority = split_part(f.url, '/', 3)
WHERE f.kind = 'page' AND f.started_at >= c.at AND (f.host_id, f.started_at, f.id) > (:host_id, CAST(:started_at AS timestamptz), :id)
  AND (CAST(:crawl_id AS bigint) IS NULL OR f.host_id IN (SELECT host_id FROM crawl_hosts WHERE crawl_id = :crawl_id))
ORDER BY f.host_id, f.started_at, f.id
LIMIT :n
