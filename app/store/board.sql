-- crawls: crawls for the overview: active ones, then paused ones, then the newest
SELECT id, name, state, ended_because, ended_detail, round, max_pages, max_bytes, max_seconds, keep_fresh, archive,
       search, active_since, finished_at,
       clock_timestamp() AS now,
       CAST(extract(epoch FROM clock_timestamp() - active_since) AS double precision) AS active_s
FROM crawls
ORDER BY state <> 'active', state <> 'paused', id DESC
LIMIT :n

-- crawl: one crawl, as on the overview
SELECT id, name, state, ended_because, ended_detail, round, max_pages, max_bytes, max_seconds, keep_fresh, archive,
       search, active_since, finished_at,
       clock_timestamp() AS now,
       CAST(extract(epoch FROM clock_timestamp() - active_since) AS double precision) AS active_s
FROM crawls
WHERE id = :crawl_id

-- percents: the shares of tables that so many blocks are, in percent; 100: all of it
SELECT coalesce(p.relname, t.relname) AS name,
       least(100, 100 * :blocks * CAST(current_setting('block_size') AS double precision)
           / greatest(sum(pg_relation_size(t.oid)), 1)) AS percent
FROM pg_class AS t
LEFT JOIN pg_inherits AS i ON i.inhrelid = t.oid
LEFT JOIN pg_class AS p ON p.oid = i.inhparent
WHERE t.relkind = 'r' AND t.relnamespace = CAST(quote_ident(current_schema()) AS regnamespace)
  AND coalesce(p.relname, t.relname) IN ('urls', 'fetches', 'suppressions', 'duplicates', 'renders', 'sitemaps')
GROUP BY 1

-- urls_read: URLs of a crawl in a sample of the table's blocks
SELECT state, cause, detail, depth, lane, count(*) AS urls, count(fetched_at) AS fetched,
       CASE WHEN state <> 'resting' THEN state
            WHEN retrying THEN 'retrying' WHEN fetched_at IS NULL THEN 'deferred' ELSE 'done' END AS said
FROM urls TABLESAMPLE SYSTEM (CAST(:percent AS real))
WHERE crawl_id = :crawl_id
GROUP BY state, said, cause, detail, depth, lane

-- requests_read: requests of a crawl in a sample of the log's blocks, by their ending; recrawls: of the last days
SELECT kind, outcome, status, count(*) AS fetches,
       count(*) FILTER (WHERE reason = 'recrawl'
           AND started_at > statement_timestamp() - make_interval(days => :days)) AS recrawls
FROM fetches TABLESAMPLE SYSTEM (CAST(:percent AS real))
WHERE crawl_id = :crawl_id
GROUP BY kind, outcome, status

-- refused_read: links of a crawl that were not admitted, in a sample of the table's blocks
SELECT reason, count(*) AS links, CAST(sum(count) AS bigint) AS times
FROM suppressions TABLESAMPLE SYSTEM (CAST(:percent AS real))
WHERE crawl_id = :crawl_id
GROUP BY reason

-- items_of_url: what handlers extracted from a page
SELECT handler, n, version, stale, item, extracted_at FROM items
WHERE host_id = :host_id AND crawl_id = :crawl_id AND key = :key
ORDER BY handler, n
LIMIT 100

-- history: requests in steps of time, among the newest n of the log; of one crawl, or of all
SELECT CAST(floor(extract(epoch FROM started_at) / :step_s) * :step_s AS bigint) AS at,
       count(*) FILTER (WHERE kind = 'page' AND outcome IN ('page', 'unchanged')) AS pages,
       count(*) FILTER (
           WHERE outcome NOT IN ('page', 'unchanged', 'redirect', 'unwanted', 'not_found', 'gone', 'unsent')) AS failed,
       CAST(coalesce(sum(wire_bytes), 0) AS bigint) AS bytes
FROM (
    SELECT started_at, crawl_id, kind, outcome, wire_bytes
    FROM fetches
    WHERE started_at > statement_timestamp() - make_interval(secs => :within_s)
    ORDER BY started_at DESC
    LIMIT :n
) AS newest
WHERE CAST(:crawl_id AS bigint) IS NULL OR crawl_id = :crawl_id
GROUP BY 1
ORDER BY 1

-- requests: the newest requests before a place in the log
SELECT f.id, f.started_at, f.kind, f.reason, f.url, f.status, f.outcome, f.failure, f.detail, f.wire_bytes, f.total_ms,
       f.attempt, h.name AS host, c.name AS crawl
FROM (
    SELECT * FROM fetches
    WHERE started_at <= CAST(:before AS timestamptz)
      AND (started_at, id) < (CAST(:before AS timestamptz), CAST(:before_id AS bigint))
    ORDER BY started_at DESC, id DESC
    LIMIT :n
) AS f
JOIN hosts AS h ON h.id = f.host_id
LEFT JOIN crawls AS c ON c.id = f.crawl_id
ORDER BY f.started_at DESC, f.id DESC

-- requests_of_host: the newest requests to a host before a moment, with the gap since the end of the one before each
-- A host has one request at a time.
SELECT *,
       CAST(extract(epoch FROM started_at - lag(ended_at) OVER (ORDER BY started_at, id)) AS double precision) AS gap_s
FROM (
    SELECT id, started_at, ended_at, kind, reason, url, status,
           outcome, failure, detail, wire_bytes, total_ms, attempt, delay_s
    FROM fetches
    WHERE host_id = :host_id AND started_at < CAST(:before AS timestamptz)
    ORDER BY started_at DESC
    LIMIT :n
) AS newest
ORDER BY started_at DESC, id DESC

-- visiting: visits that run, the oldest first
SELECT h.name AS host, v.worker, v.queue, v.taken_at, h.lease_until, h.delay_s, clock_timestamp() AS now
FROM (SELECT * FROM visits WHERE ended_at IS NULL AND ending IS NULL LIMIT :n) AS v
JOIN hosts AS h ON h.id = v.host_id
ORDER BY v.taken_at

-- errors: failed requests by class, among the newest n of the log, each with its latest as an example
-- Pages that are missing are among them, which `rates` does not count: they are no trouble of the crawl's or a host's.
SELECT class_, count(*) AS requests, count(DISTINCT host_id) AS hosts,
       min(started_at) AS first_at, max(started_at) AS last_at,
       (array_agg(url ORDER BY started_at DESC))[1] AS url, (array_agg(detail ORDER BY started_at DESC))[1] AS detail,
       (array_agg(kind ORDER BY started_at DESC))[1] AS kind
FROM (
    SELECT coalesce(failure, 'HTTP ' || status, outcome) AS class_,
           crawl_id, host_id, outcome, kind, url, detail, started_at
    FROM fetches
    WHERE started_at > statement_timestamp() - interval '1 day'
    ORDER BY started_at DESC
    LIMIT :n
) AS newest
WHERE outcome NOT IN ('page', 'unchanged', 'redirect', 'unwanted', 'unsent')
  AND (kind = 'page' OR outcome NOT IN ('not_found', 'gone'))
  AND (CAST(:crawl_id AS bigint) IS NULL OR crawl_id = :crawl_id
       OR crawl_id IS NULL AND EXISTS (
           SELECT FROM urls WHERE urls.host_id = newest.host_id AND urls.crawl_id = :crawl_id))
GROUP BY class_
ORDER BY requests DESC, class_

-- failing: failed requests of the last day by host, kind and class, among the newest n of the log; with sums
-- Requests for robots.txt are of no crawl: those of its hosts count as its own. A host fails where at least half of its
-- requests did.
WITH newest AS MATERIALIZED (
    SELECT log.*, coalesce(failure, 'HTTP ' || status, outcome) AS class_,
           outcome NOT IN ('page', 'unchanged', 'redirect', 'unwanted', 'not_found', 'gone') AS has_failed
    FROM (
        SELECT crawl_id, host_id, kind, outcome, failure, status, url, detail, started_at
        FROM fetches
        WHERE started_at > statement_timestamp() - interval '1 day'
        ORDER BY started_at DESC
        LIMIT :n
    ) AS log
    WHERE outcome <> 'unsent'
      AND (CAST(:crawl_id AS bigint) IS NULL OR crawl_id = :crawl_id
           OR crawl_id IS NULL AND EXISTS (
               SELECT FROM urls WHERE urls.host_id = log.host_id AND urls.crawl_id = :crawl_id))
), by_host AS (
    SELECT host_id, count(*) AS of_host, count(*) FILTER (WHERE has_failed) AS failed_of_host,
           2 * count(*) FILTER (WHERE has_failed) >= count(*) AS is_failing
    FROM newest
    GROUP BY host_id
), sums AS (
    SELECT count(*) AS hosts, count(*) FILTER (WHERE is_failing) AS failing,
           CAST(coalesce(sum(of_host), 0) AS bigint) AS asked,
           CAST(coalesce(sum(failed_of_host), 0) AS bigint) AS failed
    FROM by_host
), by_class AS (
    SELECT host_id, kind, class_, count(*) AS requests, max(started_at) AS last_at,
           (array_agg(url ORDER BY started_at DESC))[1] AS url,
           (array_agg(detail ORDER BY started_at DESC))[1] AS detail,
           array_agg(CAST(least(extract(epoch FROM statement_timestamp() - started_at) / 3600, 23) AS integer))
               AS hours_ago
    FROM newest
    WHERE has_failed
    GROUP BY host_id, kind, class_
)
SELECT h.name AS host, by_host.of_host, by_host.failed_of_host, by_host.is_failing,
       by_class.kind, by_class.class_, by_class.requests, by_class.last_at, by_class.url, by_class.detail,
       by_class.hours_ago, sums.*
FROM by_class
JOIN by_host USING (host_id)
JOIN hosts AS h ON h.id = by_class.host_id
CROSS JOIN sums
ORDER BY by_host.is_failing DESC, by_host.failed_of_host DESC, by_class.host_id, by_class.requests DESC, by_class.class_
LIMIT :rows

-- names_after: the next hosts by name
SELECT name AS host, name AS key FROM hosts WHERE name > :after ORDER BY name LIMIT :n

-- names_of_crawl: the next hosts of a crawl, in the order in which crawls met them
-- Those that were fetched from, and those with something queued.
-- A probe of the queue's index each: a host that robots.txt closes has no row in crawl_hosts, and is asked about first.
WITH RECURSIVE queued (host_id, n) AS (
    SELECT CAST(:after AS bigint), 0
    UNION ALL
    SELECT further.host_id, queued.n + 1
    FROM queued CROSS JOIN LATERAL (
        SELECT u.host_id FROM urls AS u
        WHERE (u.crawl_id, u.host_id) > (CAST(:crawl_id AS bigint), queued.host_id)
          AND u.crawl_id <= :crawl_id
          AND u.state = 'queued'
        ORDER BY u.crawl_id, u.host_id
        LIMIT 1
    ) AS further
    WHERE queued.n < :n
)
SELECT h.name AS host, CAST(ch.host_id AS text) AS key
FROM (
    SELECT host_id FROM queued WHERE n > 0
    UNION
    (SELECT host_id FROM crawl_hosts
     WHERE (crawl_id, host_id) > (CAST(:crawl_id AS bigint), CAST(:after AS bigint)) AND crawl_id <= :crawl_id
     ORDER BY crawl_id, host_id
     LIMIT :n)
    ORDER BY host_id
    LIMIT :n
) AS ch
JOIN hosts AS h ON h.id = ch.host_id
ORDER BY ch.host_id

-- names_by_contact: the next hosts by their next contact, of these queues
-- One range of the index a queue, with room for hosts of the same moment: as a pair of columns, the planner would sort
-- all of a queue.
SELECT due.name AS host, due.next_fetch_at AS at, due.id
FROM unnest(CAST(:queues AS text[])) AS queue (name)
CROSS JOIN LATERAL (
    SELECT h.id, h.name, h.next_fetch_at FROM hosts AS h
    WHERE h.queue = queue.name AND h.next_fetch_at >= CAST(:after AS timestamptz)
    ORDER BY h.next_fetch_at
    LIMIT CAST(:n AS integer) + 50
) AS due
WHERE (due.next_fetch_at, due.id) > (CAST(:after AS timestamptz), CAST(:after_id AS bigint))
ORDER BY due.next_fetch_at, due.id
LIMIT :n

-- hosts: these hosts, with what each waits for; those alone that wait for this
SELECT host, state, waits_for, next_fetch_at, delay_s, delay_override_s, robots_delay_s, adaptive_level, blocked_until,
       resting_because, resting_detail, last_contact_at, queue, unfetched, failures, address,
       clock_timestamp() AS now
FROM v_host_status
WHERE host = ANY(CAST(:names AS text[])) AND (CAST(:waits_for AS text) IS NULL OR starts_with(waits_for, :waits_for))

-- domain_delays: operators' delays for these registrable domains
SELECT name, delay_override_s
FROM domains
WHERE name = ANY(CAST(:names AS text[])) AND delay_override_s IS NOT NULL

-- traps: patterns of URLs that were refused as traps, in the next n patterns after a place; and the last place
SELECT h.name AS host, c.name AS crawl, p.*
FROM (
    SELECT host_id, crawl_id, pattern, urls, fetched, new, refused, new_lately, changed_at
    FROM url_patterns
    WHERE (host_id, crawl_id, pattern)
        > (CAST(:after_host AS bigint), CAST(:after_crawl AS bigint), CAST(:after_pattern AS text))
    ORDER BY host_id, crawl_id, pattern
    LIMIT :n
) AS p
JOIN hosts AS h ON h.id = p.host_id
JOIN crawls AS c ON c.id = p.crawl_id
ORDER BY p.host_id, p.crawl_id, p.pattern

-- duplicates: the next duplicates after a place
SELECT h.name AS host, c.name AS crawl, d.*
FROM (
    SELECT host_id, crawl_id, encode(key, 'hex') AS key, url, kind, bits, of_url, found_at
    FROM duplicates
    WHERE (host_id, crawl_id, key)
        > (CAST(:after_host AS bigint), CAST(:after_crawl AS bigint), decode(:after_key, 'hex'))
    ORDER BY duplicates.host_id, duplicates.crawl_id, duplicates.key
    LIMIT :n
) AS d
JOIN hosts AS h ON h.id = d.host_id
JOIN crawls AS c ON c.id = d.crawl_id
ORDER BY d.host_id, d.crawl_id, d.key

-- items: the next items after a place
SELECT c.name AS crawl, i.*
FROM (
    SELECT host_id, crawl_id, encode(key, 'hex') AS key, handler, n, url, version, stale, item, extracted_at
    FROM items
    WHERE (host_id, crawl_id, key, handler, n)
        > (CAST(:after_host AS bigint), CAST(:after_crawl AS bigint), decode(:after_key, 'hex'),
            CAST(:after_handler AS text), CAST(:after_n AS bigint))
    ORDER BY items.host_id, items.crawl_id, items.key, items.handler, items.n
    LIMIT :n
) AS i
JOIN crawls AS c ON c.id = i.crawl_id
ORDER BY i.host_id, i.crawl_id, i.key, i.handler, i.n

-- page_hosts: the next hosts from a place on, until they have n pages of a crawl, or there are n of them
-- A host of other crawls costs a probe of the index, so no index by crawl is kept for this.
WITH RECURSIVE walked (host_id, missing, n) AS (
    SELECT CAST(:after_host AS bigint), :n - (
               SELECT count(*) FROM (
                   SELECT FROM pages
                   WHERE host_id = :after_host AND crawl_id = :crawl_id AND key > decode(:after_key, 'hex')
                   LIMIT :n
               ) AS counted
           ), 0
    UNION ALL
    SELECT further.host_id, walked.missing - (
               SELECT count(*) FROM (
                   SELECT FROM pages AS p
                   WHERE p.host_id = further.host_id AND p.crawl_id = :crawl_id
                   LIMIT walked.missing
               ) AS counted
           ), walked.n + 1
    FROM walked CROSS JOIN LATERAL (
        SELECT p.host_id FROM pages AS p WHERE p.host_id > walked.host_id ORDER BY p.host_id LIMIT 1
    ) AS further
    WHERE walked.missing > 0 AND walked.n < :n
)
SELECT host_id FROM walked ORDER BY host_id

-- pages: the next n pages of a crawl after a place, of these hosts
SELECT p.host_id, encode(p.key, 'hex') AS key, p.url, p.title, p.status, p.content_type, p.language, p.body_bytes,
       p.truncated, p.fetched_at, p.rendered_at,
       CASE WHEN p.changed_at > p.first_fetched_at THEN p.changed_at END AS changed_at, u.gone_at
FROM (
    SELECT page.*
    FROM unnest(CAST(:hosts AS bigint[])) AS host (id)
    CROSS JOIN LATERAL (
        SELECT p.host_id, p.crawl_id, p.key, p.url, p.title, p.status, p.content_type,
               coalesce(p.language, p.language_detected) AS language, p.body_bytes, p.truncated, p.fetched_at,
               p.rendered_at, p.changed_at, p.first_fetched_at
        FROM pages AS p
        WHERE p.host_id = host.id AND p.crawl_id = :crawl_id
          AND p.key > CASE WHEN host.id = :after_host THEN decode(:after_key, 'hex') ELSE '' END
        ORDER BY p.key
        LIMIT :n
    ) AS page
    ORDER BY page.host_id, page.key
    LIMIT :n
) AS p
LEFT JOIN urls AS u ON u.host_id = p.host_id AND u.crawl_id = p.crawl_id AND u.key = p.key
ORDER BY p.host_id, p.key

-- page: what is stored of a page, its text too
SELECT p.url, p.title, p.headline, p.author, p.description, p.status, p.content_type, p.charset,
       coalesce(p.language, p.language_detected) AS language, p.main_text, p.data, p.body_bytes, p.truncated,
       to_char(p.published_on, 'YYYY-MM-DD') AS published_on, to_char(p.modified_on, 'YYYY-MM-DD') AS modified_on,
       p.first_fetched_at, p.fetched_at, p.rendered_at,
       CASE WHEN p.changed_at > p.first_fetched_at THEN p.changed_at END AS changed_at, u.gone_at
FROM pages AS p
LEFT JOIN urls AS u ON u.host_id = p.host_id AND u.crawl_id = p.crawl_id AND u.key = p.key
WHERE p.host_id = :host_id AND p.crawl_id = :crawl_id AND p.key = :key

-- sizes: rows of the large tables, as Postgres estimates them
SELECT coalesce(p.relname, t.relname) AS name, CAST(sum(greatest(t.reltuples, 0)) AS bigint) AS rows
FROM pg_class AS t
LEFT JOIN pg_inherits AS i ON i.inhrelid = t.oid
LEFT JOIN pg_class AS p ON p.oid = i.inhparent
WHERE t.relkind = 'r' AND t.relnamespace = CAST(quote_ident(current_schema()) AS regnamespace)
  AND coalesce(p.relname, t.relname) IN ('urls', 'hosts', 'fetches', 'pages', 'captures')
GROUP BY 1

-- workers: workers with their latest visits, among the newest n visits
SELECT worker, count(*) AS visits, count(*) FILTER (WHERE ended_at IS NULL AND ending IS NULL) AS running,
       CAST(sum(fetches) AS bigint) AS fetches, max(coalesce(ended_at, taken_at)) AS last_at, clock_timestamp() AS now
FROM (SELECT * FROM visits ORDER BY id DESC LIMIT :n) AS newest
GROUP BY worker
ORDER BY last_at DESC

-- refused_links: of the latest n links of a crawl that were not admitted, before a moment: those of a reason, or all
-- The n-th is always there, so that the next page has a place to begin at.
SELECT url, reason, detail, found_on, last_at, count, place
FROM (
    SELECT *, row_number() OVER (ORDER BY last_at DESC) AS place
    FROM (
        SELECT * FROM suppressions
        WHERE crawl_id = :crawl_id AND last_at < CAST(:before AS timestamptz)
        ORDER BY last_at DESC
        LIMIT :n
    ) AS newest
) AS placed
WHERE CAST(:reason AS text) IS NULL OR reason = :reason OR place = :n
ORDER BY place
