-- failures: failures of a crawl's URLs by class, among the newest n requests of the last minute
-- Those that crawl_hosts.failed counts: with a new round it begins anew, and so does this.
SELECT coalesce(failure, 'HTTP ' || status, outcome) AS class_, count(*) AS n
FROM (
    SELECT crawl_id, started_at, kind, outcome, failure, status
    FROM fetches
    WHERE started_at > statement_timestamp() - interval '1 minute'
    ORDER BY started_at DESC
    LIMIT :n
) AS newest
WHERE crawl_id = :crawl_id AND started_at >= (SELECT active_since FROM crawls WHERE id = :crawl_id)
  AND outcome NOT IN ('page', 'unchanged', 'unsent')
  AND (kind = 'page' AND outcome NOT IN ('redirect', 'unwanted') OR kind = 'sitemap' AND outcome <> 'not_found')
GROUP BY class_
ORDER BY n DESC, class_

-- newest: the URL of a crawl's newest request, among the newest n requests of the last minute
SELECT url FROM (
    SELECT crawl_id, url, started_at
    FROM fetches
    WHERE started_at > statement_timestamp() - interval '1 minute'
    ORDER BY started_at DESC
    LIMIT :n
) AS newest
WHERE crawl_id = :crawl_id
ORDER BY started_at DESC
LIMIT 1

-- hosts: a crawl's hosts that are visited or next, a few of each queue, and some that are paused
-- Indexes give the candidates; one probe each checks that the crawl has something queued there.
-- A paused host is next nowhere: it is looked for among the first hosts with something queued, one probe each. Once
-- nothing else is queued these are all paused. The pair is compared as one, as above.
WITH RECURSIVE queued (host_id, n) AS (
    SELECT CAST(0 AS bigint), 0
    UNION ALL
    SELECT further.host_id, queued.n + 1
    FROM queued CROSS JOIN LATERAL (
        SELECT u.host_id FROM urls AS u
        WHERE (u.crawl_id, u.host_id) > (:crawl_id, queued.host_id) AND u.crawl_id <= :crawl_id AND u.state = 'queued'
        ORDER BY u.crawl_id, u.host_id
        LIMIT 1
    ) AS further
    WHERE queued.n < :each
), candidates AS MATERIALIZED (
    SELECT visited.host_id AS id
    FROM (SELECT v.host_id FROM visits AS v WHERE v.ended_at IS NULL AND v.ending IS NULL LIMIT :most) AS visited
    UNION
    SELECT due.id
    FROM unnest(CAST(:queues AS text[])) AS queue (name)
    CROSS JOIN LATERAL (
        SELECT h.id FROM hosts AS h
        WHERE h.queue = queue.name AND h.next_fetch_at IS NOT NULL
        ORDER BY h.next_fetch_at
        LIMIT :each
    ) AS due
    UNION
    SELECT h.id FROM queued JOIN hosts AS h ON h.id = queued.host_id WHERE h.state = 'paused'
)
SELECT h.name AS host, h.delay_s,
       CASE WHEN w.is_rest THEN w.waits_for || ': ' || coalesce(h.resting_because, 'blocked')
            ELSE w.waits_for END AS waits_for,
       CASE WHEN w.is_rest THEN 'resting: ' || coalesce(h.resting_because, 'blocked') ELSE w.because END AS because,
       CASE WHEN h.state = 'idle' OR h.lease_until <= clock_timestamp()
            THEN CAST(extract(epoch FROM h.next_fetch_at - clock_timestamp()) AS double precision) END AS next_s,
       CASE
         WHEN NOT w.is_rest THEN NULL
         WHEN h.resting_because = :out_of_reach THEN (
             SELECT coalesce(nullif(r.detail, ''), 'HTTP ' || r.status) FROM robots AS r
             WHERE r.host_id = h.id AND r.unreachable_since IS NOT NULL
             ORDER BY r.fetched_at DESC
             LIMIT 1)
         ELSE h.resting_detail END AS detail
FROM candidates
JOIN hosts AS h ON h.id = candidates.id
CROSS JOIN LATERAL (
    SELECT first.waits_for, first.because, first.is_rest
    FROM (VALUES
        (1, h.state = 'paused' OR h.pause_requested, 'paused by an operator', 'paused', false),
        (2, h.state = 'taken' AND h.lease_until > clock_timestamp(), 'being visited', 'being visited', false),
        (3, h.state = 'offered' AND h.lease_until > clock_timestamp(), 'a worker to take it up', 'offered', false),
        (4, h.blocked_until > clock_timestamp(), 'its rest', 'resting', true),
        (5, h.next_fetch_at > greatest(clock_timestamp(), h.polite_at) AND h.resting_because IS NOT NULL,
            'its wait', 'resting', true),
        (6, h.next_fetch_at > clock_timestamp(), NULL, 'delay', false),
        (7, true, 'a worker', 'due', false)
    ) AS first (place, holds, waits_for, because, is_rest)
    WHERE first.holds
    ORDER BY first.place
    LIMIT 1
) AS w
WHERE (SELECT true FROM urls AS u WHERE u.crawl_id = :crawl_id AND u.host_id = h.id AND u.state = 'queued' LIMIT 1)
   OR (h.state = 'taken'
       AND (SELECT true FROM crawl_hosts AS ch WHERE ch.crawl_id = :crawl_id AND ch.host_id = h.id LIMIT 1))
ORDER BY next_s NULLS FIRST, h.name
LIMIT :most
