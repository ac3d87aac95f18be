-- crawl: its state and its budgets
SELECT name, state, max_pages, max_bytes, max_seconds,
       CAST(extract(epoch FROM clock_timestamp() - active_since) AS double precision) AS active_s
FROM crawls WHERE id = :crawl_id

-- fetched: what a crawl got from its next hosts
-- The pair is compared as one: without statistics, crawl_id alone is taken for so rare that all its rows would be read and sorted.
SELECT count(*) AS seen, max(host_id) AS last, CAST(coalesce(sum(pages), 0) AS bigint) AS pages,
       CAST(coalesce(sum(failed), 0) AS bigint) AS failed, CAST(coalesce(sum(bytes), 0) AS bigint) AS bytes
FROM (
    SELECT host_id, pages, failed, bytes FROM crawl_hosts
    WHERE (crawl_id, host_id) > (:crawl_id, :after) AND crawl_id <= :crawl_id
    ORDER BY crawl_id, host_id
    LIMIT :n
) AS slice

-- failures: of a crawl's pages, by class, among the newest n requests of the last minute
SELECT coalesce(failure, 'HTTP ' || status, outcome) AS class_, count(*) AS n
FROM (
    SELECT crawl_id, kind, outcome, failure, status
    FROM fetches
    WHERE started_at > statement_timestamp() - interval '1 minute'
    ORDER BY started_at DESC
    LIMIT :n
) AS newest
WHERE crawl_id = :crawl_id AND kind = 'page' AND outcome NOT IN ('page', 'unchanged', 'redirect', 'unwanted', 'unsent')
GROUP BY class_
ORDER BY n DESC, class_

-- hosts: of a crawl, those that are visited and those that are next, a few of each queue
-- Two indexes give the candidates; whether the crawl has anything queued there is one probe each.
WITH candidates AS MATERIALIZED (
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
)
SELECT h.name AS host,
       CASE
         WHEN h.state = 'paused' OR h.pause_requested THEN 'paused by an operator'
         WHEN h.state = 'taken' AND h.lease_until > clock_timestamp() THEN 'being visited'
         WHEN h.state = 'offered' AND h.lease_until > clock_timestamp() THEN 'a worker to take it up'
         WHEN h.blocked_until > clock_timestamp() THEN 'its rest: ' || coalesce(h.resting_because, 'blocked')
         WHEN h.next_fetch_at > clock_timestamp() THEN NULL
         ELSE 'a worker' END AS waits_for,
       h.delay_s,
       CASE WHEN h.state = 'idle' OR h.lease_until <= clock_timestamp()
            THEN CAST(extract(epoch FROM h.next_fetch_at - clock_timestamp()) AS double precision) END AS next_s
FROM candidates JOIN hosts AS h ON h.id = candidates.id
WHERE (SELECT true FROM urls AS u WHERE u.crawl_id = :crawl_id AND u.host_id = h.id AND u.state = 'queued' LIMIT 1)
   OR (h.state = 'taken'
       AND (SELECT true FROM crawl_hosts AS ch WHERE ch.crawl_id = :crawl_id AND ch.host_id = h.id LIMIT 1))
ORDER BY next_s NULLS FIRST, h.name
LIMIT :most
