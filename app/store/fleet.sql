-- sample_percents: the shares of tables that are read: so many blocks of urls, and about so many hosts
-- Ids of hosts are given in sequence, and no host is deleted.
SELECT 100 * least(
           1,
           :blocks * CAST(current_setting('block_size') AS double precision) / greatest(pg_relation_size('urls'), 1)
       ) AS urls,
       CAST(least(100, 100.0 * :hosts / greatest((SELECT max(id) FROM hosts), 1)) AS double precision) AS hosts

-- frontier: queued URLs of active crawls by lane, and those of hosts that are due and unclaimed
-- From a sample of the table's blocks. Each host is looked up: a join that reads them all would cost more than the
-- sample.
SELECT u.lane, count(*) AS queued, count(*) FILTER (WHERE h.is_due) AS due
FROM urls AS u TABLESAMPLE SYSTEM (CAST(:percent AS real))
JOIN crawls AS c ON c.id = u.crawl_id
CROSS JOIN LATERAL (
    SELECT next_fetch_at <= statement_timestamp() AND (state = 'idle' OR lease_until <= statement_timestamp())
           AND NOT pause_requested AS is_due
    FROM hosts
    WHERE hosts.id = u.host_id
    LIMIT 1
) AS h
WHERE u.state = 'queued' AND c.state = 'active'
GROUP BY u.lane

-- brought: a crawl's counts of this round, at so many of its hosts
SELECT CAST(coalesce(sum(pages), 0) AS bigint) AS pages, CAST(coalesce(sum(fetches), 0) AS bigint) AS fetches,
       CAST(coalesce(sum(failed), 0) AS bigint) AS failed, CAST(coalesce(sum(bytes), 0) AS bigint) AS bytes,
       count(*) AS hosts, true AS is_exact
FROM (SELECT pages, fetches, failed, bytes FROM crawl_hosts WHERE crawl_id = :crawl_id LIMIT :most) AS of_hosts

-- brought_by_many: the same of a crawl of more hosts: pages and bytes by their sums, the others from a sample of blocks
-- The sample is the same from look to look, so that an estimate does not jump.
WITH share AS MATERIALIZED (
    SELECT 100 * least(1, :blocks * CAST(current_setting('block_size') AS double precision)
                          / greatest(pg_relation_size('crawl_hosts'), 1)) AS percent
)
SELECT n.pages, CAST(round(got.fetches * 100 / share.percent) AS bigint) AS fetches,
       CAST(round(got.failed * 100 / share.percent) AS bigint) AS failed, n.bytes,
       CAST(round(got.hosts * 100 / share.percent) AS bigint) AS hosts, false AS is_exact
FROM share
CROSS JOIN (
    SELECT CAST(coalesce(sum(pages), 0) AS bigint) AS pages, CAST(coalesce(sum(bytes), 0) AS bigint) AS bytes
    FROM crawl_counts
    WHERE crawl_id = :crawl_id
) AS n
CROSS JOIN (
    SELECT CAST(coalesce(sum(fetches), 0) AS double precision) AS fetches,
           CAST(coalesce(sum(failed), 0) AS double precision) AS failed, count(*) AS hosts
    FROM crawl_hosts TABLESAMPLE SYSTEM ((SELECT CAST(percent AS real) FROM share)) REPEATABLE (1)
    WHERE crawl_id = :crawl_id
) AS got

-- waits: hosts by what they wait for in the words of v_host_status, but for those under a lease, which `leased` counts
-- Counted in a sample of the table's blocks. What a host waits for takes a probe for each active crawl, seconds at
-- 200,000 hosts.
-- An array, so that the view is asked for these hosts alone: for a subquery it is made for all of them first.
SELECT waits_for AS because, CAST(round(count(*) * 100 / CAST(:percent AS numeric)) AS bigint) AS hosts,
       min(next_fetch_at) AS earliest
FROM v_host_status
WHERE host = ANY(ARRAY(
    SELECT name FROM hosts TABLESAMPLE SYSTEM (CAST(:percent AS real))
    WHERE state NOT IN ('offered', 'taken') OR lease_until <= statement_timestamp()))
GROUP BY 1
ORDER BY 2 DESC, 1

-- leased: hosts under a lease by what they wait for, and queue: exactly
SELECT 'offered' AS because, queue, count(*) AS hosts, min(next_fetch_at) AS earliest
FROM hosts
WHERE state = 'offered' AND lease_until > statement_timestamp()
GROUP BY queue
UNION ALL
SELECT 'being visited', h.queue, count(*), min(h.next_fetch_at)
FROM (SELECT host_id, token FROM visits WHERE ended_at IS NULL AND ending IS NULL) AS v
JOIN hosts AS h ON h.id = v.host_id AND h.lease_token = v.token
WHERE h.state = 'taken' AND h.lease_until > statement_timestamp()
GROUP BY h.queue

-- unserved: for how long the first host has been due and unclaimed, and offers that nobody takes up
-- A host that is offered again and again, because nobody serves its queue, has waited since its first offer.
-- Where none is due, overdue_s is NULL. missed counts hosts, missed_most the offers of one of them.
SELECT CAST(extract(epoch FROM statement_timestamp() - due.first_at) AS double precision) AS overdue_s,
       vain.missed, vain.missed_most
FROM (
    SELECT min(first.next_fetch_at) AS first_at
    FROM unnest(CAST(:queues AS text[])) AS queue (name)
    CROSS JOIN LATERAL (
        SELECT h.next_fetch_at FROM hosts AS h
        WHERE h.queue = queue.name AND h.next_fetch_at <= statement_timestamp()
          AND (h.state = 'idle' OR h.lease_until <= statement_timestamp()) AND NOT h.pause_requested
        ORDER BY h.next_fetch_at
        LIMIT 1
    ) AS first
) AS due
CROSS JOIN (
    SELECT count(*) FILTER (WHERE offers_missed >= :misses) AS missed,
           coalesce(max(offers_missed) FILTER (
               WHERE lease_until > statement_timestamp() - interval '1 minute' AND NOT pause_requested), 0
           ) AS missed_most
    FROM hosts
    WHERE state = 'offered' AND queue = ANY(CAST(:queues AS text[]))
) AS vain

-- judged: the newest requests of the last minutes, each against the one before to its host
-- They are compared as v_politeness_audit compares them.
WITH newest AS MATERIALIZED (
    SELECT host_id, started_at, delay_s
    FROM fetches
    WHERE started_at > statement_timestamp() - interval '5 minutes'
    ORDER BY started_at DESC
    LIMIT :n
), gaps AS (
    SELECT CAST(extract(epoch FROM newest.started_at - before.ended_at) AS double precision) AS gap_s, newest.delay_s
    FROM newest
    CROSS JOIN LATERAL (
        SELECT f.ended_at FROM fetches AS f
        WHERE f.host_id = newest.host_id AND f.started_at < newest.started_at
          AND f.started_at > statement_timestamp() - interval '1 hour'
          AND f.outcome <> 'unsent'
        ORDER BY f.started_at DESC
        LIMIT 1
    ) AS before
)
SELECT count(*) AS judged, count(*) FILTER (WHERE gap_s < -0.001) AS concurrent,
       count(*) FILTER (WHERE gap_s >= -0.001 AND gap_s < delay_s - 0.001) AS gap
FROM gaps

-- rates: requests of each crawl in a window of the log, among its newest n
SELECT crawl_id, count(*) AS requests,
       count(*) FILTER (WHERE kind = 'page' AND outcome IN ('page', 'unchanged')) AS pages,
       count(*) FILTER (
           WHERE outcome NOT IN ('page', 'unchanged', 'redirect', 'unwanted', 'not_found', 'gone', 'unsent')) AS failed,
       CAST(coalesce(sum(wire_bytes), 0) AS bigint) AS bytes
FROM (
    SELECT crawl_id, kind, outcome, wire_bytes
    FROM fetches
    WHERE started_at > statement_timestamp() - make_interval(secs => :from_s)
      AND started_at <= statement_timestamp() - make_interval(secs => :until_s)
    ORDER BY started_at DESC
    LIMIT :n
) AS newest
GROUP BY crawl_id

-- states: crawls by state
SELECT state, count(*) AS crawls FROM crawls GROUP BY state

-- serving: processes of this database that serve metrics, by the name that their sessions have
SELECT application_name AS name, host(client_addr) AS address,
       client_addr IS NOT DISTINCT FROM (
           SELECT client_addr FROM pg_stat_activity WHERE pid = pg_backend_pid()) AS is_near
FROM pg_stat_activity
WHERE datname = current_database() AND application_name LIKE 'tiptoe % at %:%'
GROUP BY application_name, client_addr
ORDER BY application_name, client_addr
