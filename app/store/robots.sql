-- of_host: robots.txt of all origins of a host
-- With the time since when the last good copy of each is known, and whether host and origin have answered once.
SELECT r.*, clock_timestamp() AS now,
       (SELECT h.answered_at IS NOT NULL FROM hosts AS h WHERE h.id = r.host_id)
       AND (r.status IS NOT NULL
            OR EXISTS (SELECT FROM robots_copies AS c
                       WHERE c.host_id = r.host_id AND c.scheme = r.scheme AND c.port = r.port AND c.status IS NOT NULL)
       ) AS answered,
       (SELECT max(c.since) FROM robots_copies AS c
        WHERE c.host_id = r.host_id AND c.scheme = r.scheme AND c.port = r.port AND c.availability = 'available'
       ) AS copied_at
FROM robots AS r
WHERE r.host_id = :host_id

-- pace_of_host: the columns for the start of a visit: all but the body, which most likely is parsed already
-- Seconds count from the visit's take-up, both in database time, as in the fetch log.
SELECT scheme, port, availability, status, failures, body_sha256, etag, last_modified, crawl_delay_s,
       CAST(extract(epoch FROM expires_at - CAST(:at AS timestamptz)) AS double precision) AS fresh_s,
       CAST(extract(epoch FROM CAST(:at AS timestamptz) - fetched_at) AS double precision) AS age_s,
       CAST(extract(epoch FROM CAST(:at AS timestamptz) - unreachable_since) AS double precision) AS unreachable_for_s,
       status IS NOT NULL
       OR EXISTS (SELECT FROM robots_copies AS c
                  WHERE c.host_id = r.host_id AND c.scheme = r.scheme AND c.port = r.port AND c.status IS NOT NULL
       ) AS answered
FROM robots AS r
WHERE host_id = :host_id

-- body: the body of one origin
SELECT body FROM robots WHERE host_id = :host_id AND scheme = :scheme AND port = :port

-- of_origins: bodies for judging links to other hosts
-- Hosts first, by name, as a plain join would read every robots.txt of the same scheme and port.
WITH wanted AS MATERIALIZED (
    SELECT o.host, o.scheme, o.port, (SELECT h.id FROM hosts AS h WHERE h.name = o.host) AS host_id
    FROM json_to_recordset(CAST(:rows AS json)) AS o (host text, scheme text, port integer)
)
SELECT w.host, r.scheme, r.port, r.availability, r.status, r.body,
       CAST(extract(epoch FROM clock_timestamp() - r.unreachable_since) AS double precision) AS unreachable_for_s
FROM wanted AS w
JOIN robots AS r ON r.host_id = w.host_id AND r.scheme = w.scheme AND r.port = w.port

-- store: results of fetches of robots.txt, one an origin; while it is unreachable the last good copy stays
INSERT INTO robots (host_id, scheme, port, availability, status, detail, body, etag, last_modified, fetched_at,
                    expires_at, unreachable_since, failures, crawl_delay_raw, crawl_delay_s, sitemaps)
SELECT r.host_id, r.scheme, r.port, r.availability, r.status, r.detail, decode(r.body, 'hex'), r.etag, r.last_modified,
       r.at, r.at + make_interval(secs => r.fresh_s), CASE WHEN r.availability = 'unreachable' THEN r.at END,
       r.failures, r.crawl_delay_raw, r.crawl_delay_s, r.sitemaps
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, scheme text, port int, availability text, status smallint, detail text, body text, etag text,
    last_modified text, at timestamptz, fresh_s double precision, failures int, crawl_delay_raw text,
    crawl_delay_s double precision, sitemaps text[])
ON CONFLICT (host_id, scheme, port) DO UPDATE
SET availability = excluded.availability, status = excluded.status, detail = excluded.detail,
    failures = excluded.failures,
    body = CASE WHEN excluded.availability = 'unreachable' THEN robots.body ELSE excluded.body END,
    etag = CASE WHEN excluded.availability = 'unreachable' THEN robots.etag ELSE excluded.etag END,
    last_modified = CASE WHEN excluded.availability = 'unreachable'
                         THEN robots.last_modified ELSE excluded.last_modified END,
    fetched_at = excluded.fetched_at, expires_at = excluded.expires_at,
    unreachable_since = CASE WHEN excluded.availability = 'unreachable'
                             THEN coalesce(robots.unreachable_since, excluded.unreachable_since) END,
    crawl_delay_raw = CASE WHEN excluded.availability = 'unreachable'
                           THEN robots.crawl_delay_raw ELSE excluded.crawl_delay_raw END,
    crawl_delay_s = CASE WHEN excluded.availability = 'unreachable'
                         THEN robots.crawl_delay_s ELSE excluded.crawl_delay_s END,
    sitemaps = CASE WHEN excluded.availability = 'unreachable' THEN robots.sitemaps ELSE excluded.sitemaps END

-- revalidated: after a 304 our copies are fresh again
UPDATE robots
SET availability = 'available', status = r.status, detail = '', unreachable_since = NULL, failures = 0,
    fetched_at = r.at, expires_at = r.at + make_interval(secs => r.fresh_s)
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, scheme text, port int, status smallint, at timestamptz, fresh_s double precision)
WHERE robots.host_id = r.host_id AND robots.scheme = r.scheme AND robots.port = r.port

-- note_copies: add a line of history for each origin whose rules in force may differ from its line before
INSERT INTO robots_copies (host_id, scheme, port, since, availability, status, body_sha256, unreachable_since)
SELECT r.host_id, r.scheme, r.port, r.fetched_at, r.availability, r.status, r.body_sha256, r.unreachable_since
FROM json_to_recordset(CAST(:rows AS json)) AS w (host_id bigint, scheme text, port int)
JOIN robots AS r ON r.host_id = w.host_id AND r.scheme = w.scheme AND r.port = w.port
LEFT JOIN LATERAL (
    SELECT * FROM robots_copies AS c
    WHERE c.host_id = r.host_id AND c.scheme = r.scheme AND c.port = r.port
    ORDER BY c.since DESC, c.id DESC
    LIMIT 1
) AS before ON true
WHERE before.id IS NULL
   OR (before.availability, before.status IS NULL, before.body_sha256, before.unreachable_since)
      IS DISTINCT FROM (r.availability, r.status IS NULL, r.body_sha256, r.unreachable_since)

-- keep_bodies: store bodies that history names, each once; in key order, so that two settles cannot deadlock
-- The hosts' own rows too, as a copy that is older than the history is in none of the bodies just fetched.
INSERT INTO robots_bodies (sha256, body)
SELECT DISTINCT ON (b.sha256) b.sha256, b.body
FROM (
    SELECT sha256(given.body) AS sha256, given.body FROM unnest(CAST(:bodies AS bytea[])) AS given (body)
    UNION ALL
    SELECT body_sha256, body FROM robots WHERE host_id = ANY(CAST(:host_ids AS bigint[])) AND body IS NOT NULL
) AS b
WHERE NOT EXISTS (SELECT FROM robots_bodies AS k WHERE k.sha256 = b.sha256)
ORDER BY b.sha256
ON CONFLICT (sha256) DO NOTHING

-- copies: the history of robots.txt of a host's origins, in order; body is the last good copy
SELECT c.scheme, c.port, c.since, c.availability, c.status, b.body, c.unreachable_since
FROM robots_copies AS c
LEFT JOIN robots_bodies AS b ON b.sha256 = c.body_sha256
WHERE c.host_id = :host_id
ORDER BY c.since, c.id

-- tdmrep: the tdmrep.json of one origin, and the time since its request
SELECT tdmrep, CAST(extract(epoch FROM clock_timestamp() - tdmrep_at) AS double precision) AS age_s
FROM robots
WHERE host_id = :host_id AND scheme = :scheme AND port = :port

-- store_tdmrep: store the result of such a request; without an answer the previous one stays
UPDATE robots SET tdmrep = coalesce(CAST(:body AS bytea), tdmrep), tdmrep_at = CAST(:at AS timestamptz)
WHERE host_id = :host_id AND scheme = :scheme AND port = :port

-- doubt: after a 403 or 429 on a page, fetch it again, but no sooner than so many seconds after the last time
UPDATE robots
SET expires_at = least(expires_at, fetched_at + make_interval(secs => :recheck_s))
WHERE host_id = :host_id AND scheme = :scheme AND port = :port AND availability <> 'unreachable'

-- forget: have it fetched again before the next request to the host
UPDATE robots SET expires_at = clock_timestamp(), tdmrep_at = NULL WHERE host_id = :host_id RETURNING scheme
