-- of_host: robots.txt of all origins of a host
SELECT *, clock_timestamp() AS now FROM robots WHERE host_id = :host_id

-- pace_of_host: what a visit needs at its start: everything but the body, which it most likely has parsed already
SELECT scheme, port, availability, failures, body_sha256, etag, last_modified, crawl_delay_s,
       CAST(extract(epoch FROM expires_at - clock_timestamp()) AS double precision) AS fresh_s
FROM robots
WHERE host_id = :host_id

-- body: of one origin
SELECT body FROM robots WHERE host_id = :host_id AND scheme = :scheme AND port = :port

-- of_origins: bodies for judging links to other hosts
SELECT h.name AS host, r.scheme, r.port, r.availability, r.body
FROM json_to_recordset(CAST(:rows AS json)) AS o (host text, scheme text, port integer)
JOIN hosts AS h ON h.name = o.host
JOIN robots AS r ON r.host_id = h.id AND r.scheme = o.scheme AND r.port = o.port

-- store: what a fetch of robots.txt brought; while unreachable the last good copy stays
INSERT INTO robots (host_id, scheme, port, availability, status, detail, body, etag, last_modified, fetched_at, expires_at,
                    unreachable_since, failures, crawl_delay_raw, crawl_delay_s, sitemaps)
VALUES (:host_id, :scheme, :port, :availability, :status, :detail, :body, :etag, :last_modified, clock_timestamp(),
        clock_timestamp() + make_interval(secs => :fresh_s),
        CASE WHEN :availability = 'unreachable' THEN clock_timestamp() END, :failures, :crawl_delay_raw, :crawl_delay_s,
        CAST(:sitemaps AS text[]))
ON CONFLICT (host_id, scheme, port) DO UPDATE
SET availability = excluded.availability, status = excluded.status, detail = excluded.detail, failures = excluded.failures,
    body = CASE WHEN excluded.availability = 'unreachable' THEN robots.body ELSE excluded.body END,
    etag = CASE WHEN excluded.availability = 'unreachable' THEN robots.etag ELSE excluded.etag END,
    last_modified = CASE WHEN excluded.availability = 'unreachable' THEN robots.last_modified ELSE excluded.last_modified END,
    fetched_at = excluded.fetched_at, expires_at = excluded.expires_at,
    unreachable_since = CASE WHEN excluded.availability = 'unreachable'
                             THEN coalesce(robots.unreachable_since, excluded.unreachable_since) END,
    crawl_delay_raw = CASE WHEN excluded.availability = 'unreachable' THEN robots.crawl_delay_raw ELSE excluded.crawl_delay_raw END,
    crawl_delay_s = CASE WHEN excluded.availability = 'unreachable' THEN robots.crawl_delay_s ELSE excluded.crawl_delay_s END,
    sitemaps = CASE WHEN excluded.availability = 'unreachable' THEN robots.sitemaps ELSE excluded.sitemaps END

-- revalidated: 304: the copy we have is fresh again
UPDATE robots
SET availability = 'available', unreachable_since = NULL, failures = 0, fetched_at = clock_timestamp(),
    expires_at = clock_timestamp() + make_interval(secs => :fresh_s)
WHERE host_id = :host_id AND scheme = :scheme AND port = :port

-- forget: fetched anew before the next request to the host
UPDATE robots SET expires_at = clock_timestamp() WHERE host_id = :host_id RETURNING scheme
