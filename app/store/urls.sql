-- pick: hosts' next URLs in every active crawl and lane, best first, but for origins whose robots.txt is out of reach
SELECT c.revision, c.max_pages IS NOT NULL AS has_page_budget, c.honour_opt_outs,
       CAST(c.admits_above AS double precision) AS admits_above, c.recrawl_price_s, u.host_id, u.crawl_id, u.key,
       u.kind, u.url, u.linked, u.lane, u.depth, u.hops, u.score, u.attempts, u.network_failures, u.server_failures,
       u.parse_failures, u.etag, u.last_modified, u.body_sha256, u.text_sha256, u.interval_s,
       u.outcome, u.alias_of, u.fetched_at, u.sitemap_id, u.lastmod, u.directives, u.opt_out, u.cause,
       u.detail, u.found_on, u.change_shape, u.change_s, u.score_parts, u.gone_at,
       CASE WHEN u.text_sha256 IS NOT NULL THEN coalesce((
           SELECT coalesce(p.reader, 0) FROM pages AS p
           WHERE p.host_id = u.host_id AND p.crawl_id = u.crawl_id AND p.key = u.key), u.reader) END AS reader
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, n integer, out_of_reach text[])
CROSS JOIN crawls AS c
CROSS JOIN generate_series(0, 3) AS front (lane)
CROSS JOIN LATERAL (
    SELECT *
    FROM urls
    WHERE urls.crawl_id = c.id AND urls.host_id = r.host_id AND urls.lane = front.lane AND urls.state = 'queued'
      AND NOT (split_part(urls.url, '/', 1) || '//' || split_part(urls.url, '/', 3)) = ANY(r.out_of_reach)
    ORDER BY urls.score DESC, urls.id
    LIMIT r.n
) AS u
WHERE c.state = 'active'

-- waiting: those of the origins of a host that have something queued in an active crawl
SELECT r.host_id, r.origin
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, origin text)
WHERE EXISTS (
    SELECT FROM crawls AS c
    WHERE c.state = 'active' AND EXISTS (
        SELECT FROM urls AS u
        WHERE u.crawl_id = c.id AND u.host_id = r.host_id AND u.state = 'queued'
          AND starts_with(u.url, r.origin || '/')))

-- admit: one row per (crawl, URL key), by the first to arrive; in key order, so that two settles cannot deadlock
-- The NOT EXISTS saves the common case (known already) a wait for a settle that is updating that very row.
-- A form of a URL that robots.txt allows replaces one that it refused. Of several at once the allowed one is admitted.
INSERT INTO urls (host_id, crawl_id, kind, key, url, state, lane, score, depth, hops, found_on, cause, detail,
    score_parts, sitemap_id, lastmod, due_at, linked)
SELECT DISTINCT ON (r.host_id, r.crawl_id, r.key)
       r.host_id, r.crawl_id, r.kind, decode(r.key, 'hex'), r.url, r.state, r.lane, r.score, r.depth, r.hops,
       r.found_on, r.cause, r.detail, r.score_parts, r.sitemap_id, r.lastmod,
       clock_timestamp() + make_interval(secs => r.due_s), r.linked
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, kind text, key text, url text, state text, lane smallint, score real,
    depth integer, hops smallint, found_on text, cause text, detail text, score_parts integer, sitemap_id bigint,
    lastmod timestamptz, due_s double precision, linked text, reopens boolean)
WHERE NOT EXISTS (
    SELECT FROM urls AS u
    WHERE u.host_id = r.host_id AND u.crawl_id = r.crawl_id AND u.key = decode(r.key, 'hex')
      AND NOT (
          coalesce(r.reopens, false) AND nullif(u.state, '') = 'refused'
          AND (u.url, u.linked) IS DISTINCT FROM (r.url, r.linked)))
ORDER BY r.host_id, r.crawl_id, r.key, r.state = 'refused'
ON CONFLICT (host_id, crawl_id, key) DO UPDATE
SET state = 'queued', url = excluded.url, linked = excluded.linked, cause = NULL, detail = NULL
WHERE urls.state = 'refused' AND excluded.state = 'queued'
  AND (urls.url, urls.linked) IS DISTINCT FROM (excluded.url, excluded.linked)
RETURNING host_id, state

-- stand: those of the keys with a row that an admission would leave as it is, which are all but the refused
SELECT u.host_id, u.crawl_id, u.key
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
JOIN urls AS u ON u.host_id = r.host_id AND u.crawl_id = r.crawl_id AND u.key = decode(r.key, 'hex')
WHERE nullif(u.state, '') <> 'refused'

-- count_attempt: in isolation the attempt is spent before the fetch, so that a page that kills us is counted
UPDATE urls
SET attempts = attempts + 1, parse_failures = parse_failures + 1
WHERE host_id = :host_id AND crawl_id = :crawl_id AND key = :key AND state = 'queued'
RETURNING attempts

-- uncount_attempt: it was not fetched after all
UPDATE urls
SET attempts = greatest(attempts - 1, 0), parse_failures = greatest(parse_failures - 1, 0)
WHERE host_id = :host_id AND crawl_id = :crawl_id AND key = :key AND state = 'queued'

-- raise_scores: of URLs that wait for their first fetch, where pages that name them say that they are worth more
-- CASE hides from the planner what seems to leave one row, as in record.
UPDATE urls AS u
SET score = r.score, score_parts = r.score_parts
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, key text, score real, score_parts integer)
WHERE u.host_id = r.host_id AND u.crawl_id = r.crawl_id AND u.key = decode(r.key, 'hex')
  AND CASE WHEN u.state = 'queued' AND u.fetched_at IS NULL THEN u.score < r.score END

-- record: write the results of fetches, to queued rows only
-- CASE hides the state from the planner: as a column, or as its nullif, it seems to leave one row. Without statistics
-- the whole queue of the host would be read for each key, or the whole table, since that one row would be joined to.
UPDATE urls AS u
SET state = r.state, attempts = r.attempts, network_failures = r.network_failures, server_failures = r.server_failures,
    parse_failures = r.parse_failures, retrying = r.retrying, score = coalesce(r.score, u.score),
    due_at = clock_timestamp() + make_interval(secs => r.due_s), interval_s = r.interval_s,
    change_shape = r.change_shape, change_s = r.change_s, etag = r.etag, last_modified = r.last_modified,
    body_sha256 = decode(r.body_sha256, 'hex'), text_sha256 = decode(r.text_sha256, 'hex'), reader = r.reader,
    status = r.status, outcome = r.outcome, cause = r.cause, detail = r.detail, directives = r.directives,
    opt_out = r.opt_out, alias_of = r.alias_of, kind = coalesce(r.kind, u.kind),
    url = coalesce(r.sends, u.url), linked = CASE WHEN r.sends IS NULL THEN u.linked END,
    fetched_at = CASE WHEN r.fetched THEN clock_timestamp() ELSE u.fetched_at END,
    changed_at = CASE WHEN r.changed THEN clock_timestamp() ELSE u.changed_at END,
    gone_at = CASE WHEN r.state = 'gone' OR r.moved THEN coalesce(u.gone_at, clock_timestamp())
                   WHEN coalesce(r.outcome, '') NOT IN ('page', 'unchanged') THEN u.gone_at END
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, key text, state text, attempts smallint, network_failures smallint,
    server_failures smallint, parse_failures smallint, retrying boolean, score real, due_s double precision,
    interval_s double precision, change_shape real, change_s real, etag text, last_modified text, body_sha256 text,
    text_sha256 text, reader smallint, status smallint, outcome text, cause text, detail text, directives text,
    opt_out text, alias_of text, moved boolean, fetched boolean, changed boolean, sends text, kind text)
WHERE u.host_id = r.host_id AND u.crawl_id = r.crawl_id AND u.key = decode(r.key, 'hex')
  AND CASE u.state WHEN 'queued' THEN true END

-- give_up: end the queued URLs of a host that cannot be crawled, with the cause
UPDATE urls SET state = :state, cause = :cause, detail = :detail, attempts = 0, network_failures = 0,
    server_failures = 0, parse_failures = 0
WHERE host_id = :host_id AND state = 'queued' AND starts_with(url, :prefix)
  AND NOT (:spares_fresh AND crawl_id IN (SELECT id FROM crawls WHERE keep_fresh))
RETURNING fetched_at IS NULL AND crawl_id IN (SELECT id FROM crawls WHERE crawls.state = 'active') AS is_new

-- promote_retries: queue resting URLs that are due for a retry
WITH due AS MATERIALIZED (
    SELECT ready.host_id, ready.crawl_id, ready.key
    FROM crawls AS c
    CROSS JOIN LATERAL (
        SELECT u.host_id, u.crawl_id, u.key
        FROM urls AS u
        WHERE u.crawl_id = c.id AND u.state = 'resting' AND u.retrying AND u.due_at <= statement_timestamp()
        ORDER BY u.due_at
        LIMIT :n
        FOR UPDATE SKIP LOCKED
    ) AS ready
    WHERE c.state = 'active'
)
UPDATE urls SET state = 'queued', due_at = NULL, retrying = false
FROM due
WHERE urls.host_id = due.host_id AND urls.crawl_id = due.crawl_id AND urls.key = due.key AND urls.state = 'resting'
RETURNING urls.host_id

-- promote_recrawls: in crawls that keep fresh, queue due pages, gone ones for a rare check, and aliases by a canonical
WITH due AS MATERIALIZED (
    SELECT ready.host_id, ready.crawl_id, ready.key
    FROM crawls AS c
    CROSS JOIN LATERAL (
        SELECT u.host_id, u.crawl_id, u.key
        FROM urls AS u
        WHERE u.crawl_id = c.id AND u.state IN ('resting', 'gone', 'alias') AND u.due_at <= statement_timestamp()
        ORDER BY u.due_at
        LIMIT :n
        FOR UPDATE SKIP LOCKED
    ) AS ready
    WHERE c.state = 'active' AND c.keep_fresh
)
UPDATE urls SET state = 'queued', due_at = NULL, retrying = false
FROM due
WHERE urls.host_id = due.host_id AND urls.crawl_id = due.crawl_id AND urls.key = due.key
  AND urls.state IN ('resting', 'gone', 'alias')
RETURNING urls.host_id

-- round_of_hosts: the number of a crawl's URLs for the next round, by host, and the floor of those that are deferred
-- Deferred URLs are admitted up to the caps, the best first; those below the floor keep waiting. Two floors (score and
-- id) decide, the host's and the crawl's.
WITH deferred AS MATERIALIZED (
    SELECT host_id, score, id, row_number() OVER (PARTITION BY host_id ORDER BY score DESC, id) AS of_host,
           row_number() OVER (ORDER BY score DESC, id) AS of_crawl
    FROM urls
    WHERE crawl_id = :crawl_id AND state = 'resting' AND fetched_at IS NULL AND NOT retrying
)
SELECT u.host_id, count(*) AS urls, CAST(f.score AS double precision) AS floor_score, f.id AS floor_id
FROM urls AS u
LEFT JOIN (
    SELECT DISTINCT ON (host_id) host_id, score, id
    FROM deferred
    WHERE of_host > CAST(:per_host AS bigint) OR of_crawl > CAST(:per_crawl AS bigint)
    ORDER BY host_id, score DESC, id
) AS f ON f.host_id = u.host_id
WHERE u.crawl_id = :crawl_id AND u.state <> 'queued'
GROUP BY u.host_id, f.score, f.id
ORDER BY u.host_id

-- go_round: make URLs of a crawl due now, with their validators; a request needs the reason why a page was kept out
-- For locked hosts, from one key up to another.
UPDATE urls AS u SET state = 'queued', due_at = NULL, attempts = 0, network_failures = 0, server_failures = 0,
    parse_failures = 0, retrying = false,
    cause = CASE WHEN u.state NOT IN ('refused', 'quarantined') THEN u.cause END,
    detail = CASE WHEN u.state NOT IN ('refused', 'quarantined') THEN u.detail END
FROM unnest(CAST(:ids AS bigint[]), CAST(:floor_scores AS double precision[]), CAST(:floor_ids AS bigint[])) AS h (id,
    floor_score, floor_id)
WHERE u.host_id = h.id AND u.crawl_id = :crawl_id AND u.key >= :lower AND u.key < :upper AND u.state <> 'queued'
  AND NOT (u.state = 'resting' AND u.fetched_at IS NULL AND NOT u.retrying AND h.floor_id IS NOT NULL
           AND (u.score < CAST(h.floor_score AS real)
                OR (u.score = CAST(h.floor_score AS real) AND u.id >= h.floor_id)))
RETURNING u.host_id, u.fetched_at IS NULL AS is_new

-- retry: make one URL due now, whatever its state
UPDATE urls SET state = 'queued', due_at = NULL, attempts = 0, network_failures = 0, server_failures = 0,
    parse_failures = 0, retrying = false,
    cause = CASE WHEN state NOT IN ('refused', 'quarantined') THEN cause END,
    detail = CASE WHEN state NOT IN ('refused', 'quarantined') THEN detail END
WHERE host_id = :host_id AND key = :key AND (CAST(:crawl_id AS bigint) IS NULL OR crawl_id = :crawl_id)
RETURNING crawl_id

-- force: make one URL due now, and fetched even if it is taken for a trap
UPDATE urls SET state = 'queued', due_at = NULL, attempts = 0, network_failures = 0, server_failures = 0,
    parse_failures = 0, retrying = false,
    cause = 'forced', detail = NULL
WHERE host_id = :host_id AND key = :key AND (CAST(:crawl_id AS bigint) IS NULL OR crawl_id = :crawl_id)
RETURNING crawl_id

-- forget: take a URL out of the frontier
DELETE FROM urls
WHERE host_id = :host_id AND key = :key AND (CAST(:crawl_id AS bigint) IS NULL OR crawl_id = :crawl_id)
RETURNING crawl_id

-- refused_of_host: URLs that robots.txt of an origin refuses, a page of them
SELECT crawl_id, key, url, linked, cause
FROM urls
WHERE host_id = :host_id AND state = 'refused' AND cause NOT IN ('trap', 'extension')
  AND (crawl_id, key) > (:after_crawl, :after_key)
  AND (CAST(:keys AS bytea[]) IS NULL OR key = ANY(CAST(:keys AS bytea[])))
ORDER BY crawl_id, key
LIMIT :n

-- trapped_hosts: hosts with URLs of a crawl that were refused as traps
SELECT DISTINCT host_id FROM urls WHERE crawl_id = :crawl_id AND state = 'refused' AND cause = 'trap' ORDER BY host_id

-- trapped: URLs of a crawl on a host that were refused as traps, a page of them
SELECT key, url, linked
FROM urls
WHERE host_id = :host_id AND crawl_id = :crawl_id AND state = 'refused' AND cause = 'trap' AND key > :after
ORDER BY key
LIMIT :n

-- reopen: queue refused URLs that a changed robots.txt or profile allows
UPDATE urls AS u SET state = 'queued', cause = NULL, detail = NULL
FROM json_to_recordset(CAST(:rows AS json)) AS r (crawl_id bigint, key text)
WHERE u.host_id = :host_id AND u.crawl_id = r.crawl_id AND u.key = decode(r.key, 'hex') AND u.state = 'refused'
RETURNING u.fetched_at IS NULL AND u.crawl_id IN (SELECT id FROM crawls WHERE crawls.state = 'active') AS is_new

-- find: a URL in every crawl that knows it; the URLs ahead of it are counted up to a limit
SELECT u.*, c.name AS crawl, c.state AS crawl_state, clock_timestamp() AS now,
       (SELECT count(*) FROM (
            SELECT FROM urls AS o
            WHERE o.crawl_id = u.crawl_id AND o.host_id = u.host_id AND o.state = 'queued'
              AND u.state = 'queued' AND o.lane < u.lane
            UNION ALL
            SELECT FROM urls AS o
            WHERE o.crawl_id = u.crawl_id AND o.host_id = u.host_id AND o.state = 'queued'
              AND u.state = 'queued' AND o.lane = u.lane
              AND o.score > u.score
            UNION ALL
            SELECT FROM urls AS o
            WHERE o.crawl_id = u.crawl_id AND o.host_id = u.host_id AND o.state = 'queued'
              AND u.state = 'queued' AND o.lane = u.lane
              AND o.score = u.score AND o.id < u.id
            LIMIT :most
        ) AS first) AS ahead
FROM urls AS u JOIN crawls AS c ON c.id = u.crawl_id
WHERE u.host_id = :host_id AND u.key = :key
ORDER BY u.crawl_id

-- states: URLs of a crawl by state, as a person reads it
SELECT CASE WHEN state <> 'resting' THEN state
            WHEN retrying THEN 'retrying' WHEN fetched_at IS NULL THEN 'deferred' ELSE 'done' END AS said,
       count(*) AS urls
FROM urls WHERE crawl_id = :crawl_id GROUP BY said ORDER BY said

-- hosts_queued: hosts with queued URLs of a crawl
SELECT DISTINCT host_id FROM urls WHERE crawl_id = :crawl_id AND state = 'queued'

-- queued_some: queued URLs of a crawl, counted up to a limit
SELECT count(*) FROM (SELECT FROM urls WHERE crawl_id = :crawl_id AND state = 'queued' LIMIT :most) AS counted

-- seeds: the seeds of a crawl
SELECT url,
       CASE WHEN state <> 'resting' THEN state
            WHEN retrying THEN 'retrying' WHEN fetched_at IS NULL THEN 'deferred' ELSE 'done' END AS state,
       status, outcome, admitted_at
FROM urls
WHERE crawl_id = :crawl_id AND depth = 0 AND found_on IS NULL
ORDER BY id
LIMIT :n

-- led_to: where redirects of a crawl's seeds led, in the end
SELECT url FROM urls
WHERE crawl_id = :crawl_id AND depth = 0 AND hops > 0 AND state <> 'alias' AND kind = 'page'
ORDER BY id
LIMIT :n

-- seed_urls: the seeds of a crawl, all of them
SELECT url FROM urls WHERE crawl_id = :crawl_id AND depth = 0 AND found_on IS NULL

-- retry_failed: queue the URLs that a crawl gave up
UPDATE urls SET state = 'queued', due_at = NULL, attempts = 0, network_failures = 0, server_failures = 0,
    parse_failures = 0, retrying = false,
    cause = NULL, detail = NULL
WHERE crawl_id = :crawl_id AND state = 'quarantined'
RETURNING host_id

-- ends_of_seeds: the states of a crawl's seeds and of their redirects' targets, the last of each chain first
-- With their total, what a feed or a sitemap listed, the reason why a redirect was not followed, and why their host
-- rests or their origin may not be fetched from.
SELECT u.url, m.format, m.entries,
       u.state, u.status, u.outcome, u.cause, u.detail, u.alias_of, s.reason, h.name AS host,
       h.state = 'paused' OR h.pause_requested AS is_paused, h.polite_at, clock_timestamp() AS now,
       CASE WHEN r.since IS NOT NULL THEN :out_of_reach
            WHEN h.blocked_until > clock_timestamp() OR h.next_fetch_at > greatest(clock_timestamp(), h.polite_at)
            THEN h.resting_because END AS resting_because,
       CASE WHEN r.since IS NOT NULL THEN r.trouble ELSE h.resting_detail END AS resting_detail,
       count(*) OVER () AS total
FROM urls AS u
JOIN hosts AS h ON h.id = u.host_id
LEFT JOIN LATERAL (
    SELECT reason FROM suppressions WHERE crawl_id = u.crawl_id AND url = u.alias_of AND u.state = 'alias' LIMIT 1
) AS s ON true
LEFT JOIN LATERAL (
    SELECT robots.unreachable_since AS since, coalesce(nullif(robots.detail, ''), 'HTTP ' || robots.status) AS trouble
    FROM robots
    WHERE robots.host_id = h.id AND robots.unreachable_since IS NOT NULL
      AND split_part(u.url, '/', 1) || split_part(u.url, '/', 3) = robots.scheme || ':' || h.name
          || CASE WHEN (robots.scheme, robots.port) IN (('http', 80), ('https', 443))
                   THEN '' ELSE ':' || robots.port END
) AS r ON true
LEFT JOIN sitemaps AS m ON m.host_id = u.host_id AND m.crawl_id = u.crawl_id AND m.key = u.key AND u.kind = 'sitemap'
WHERE u.crawl_id = :crawl_id AND u.depth = 0 AND (u.kind = 'page' OR u.found_on IS NULL)
  AND (u.state <> 'alias' OR s.reason IS NOT NULL)
ORDER BY u.hops DESC, u.id
LIMIT :n

-- redirects_of_seeds: those of a crawl's seeds and of their targets, and where each leads
SELECT url, alias_of FROM urls
WHERE crawl_id = :crawl_id AND depth = 0 AND state = 'alias' AND kind = 'page' AND outcome = 'redirect'
ORDER BY hops, id
LIMIT :n

-- refused: the refused URLs of a crawl by cause, and the host that has most of each
SELECT cause, CAST(sum(n) AS bigint) AS urls, count(*) AS hosts, (array_agg(h.name ORDER BY n DESC, h.name))[1] AS host
FROM (
    SELECT cause, host_id, count(*) AS n
    FROM urls
    WHERE crawl_id = :crawl_id AND state = 'refused'
    GROUP BY cause, host_id
) AS counted
JOIN hosts AS h ON h.id = counted.host_id
GROUP BY cause
ORDER BY urls DESC, cause

-- causes: the causes why URLs of a crawl ended or their pages were not kept, the most frequent first
SELECT state, cause, detail, count(*) AS urls
FROM urls
WHERE crawl_id = :crawl_id AND cause IS NOT NULL
GROUP BY state, cause, detail
ORDER BY urls DESC
LIMIT :n

-- top: the queued URLs of a crawl that come first, over all of its hosts, with the components of their scores
SELECT h.name AS host, u.url, u.lane, u.score, u.score_parts, u.depth, u.found_on, u.fetched_at
FROM urls AS u JOIN hosts AS h ON h.id = u.host_id
WHERE u.crawl_id = :crawl_id AND u.state = 'queued'
ORDER BY u.lane, u.score DESC, u.id
LIMIT :n
