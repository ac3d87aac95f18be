-- sample_percents: the shares of urls and hosts in so many blocks
SELECT 100 * least(
           1,
           :blocks * CAST(current_setting('block_size') AS double precision) / greatest(pg_relation_size('urls'), 1)
       ) AS urls,
       100 * least(
           1,
           :blocks * CAST(current_setting('block_size') AS double precision) / greatest(pg_relation_size('hosts'), 1)
       ) AS hosts

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

-- hosts: hosts by what they do, from a sample of the table's blocks
SELECT CASE
         WHEN state = 'paused' THEN 'paused'
         WHEN state = 'taken' AND lease_until > statement_timestamp() THEN 'visited'
         WHEN state = 'offered' AND lease_until > statement_timestamp() THEN 'offered'
         WHEN next_fetch_at IS NULL THEN 'quiet'
         WHEN blocked_until > statement_timestamp() THEN 'resting'
         WHEN next_fetch_at > statement_timestamp() THEN 'waiting'
         ELSE 'due' END AS state, count(*) AS hosts
FROM hosts TABLESAMPLE SYSTEM (CAST(:percent AS real))
GROUP BY 1

-- lag: how many seconds the host that has been due for longest waits for a worker; 0: none is due
-- One that is offered again and again, because nobody serves its queue, has waited since its first offer.
SELECT greatest(
    coalesce(CAST(extract(epoch FROM statement_timestamp() - min(first.next_fetch_at)) AS double precision), 0),
    (SELECT coalesce(max(o.offers_missed), 0) * CAST(:offer_s AS double precision) FROM hosts AS o
     WHERE o.state = 'offered' AND o.lease_until > statement_timestamp() - interval '1 minute'
       AND o.queue = ANY(CAST(:queues AS text[])) AND NOT o.pause_requested)) AS lag_s
FROM unnest(CAST(:queues AS text[])) AS queue (name)
CROSS JOIN LATERAL (
    SELECT h.next_fetch_at FROM hosts AS h
    WHERE h.queue = queue.name AND h.next_fetch_at <= statement_timestamp()
      AND (h.state = 'idle' OR h.lease_until <= statement_timestamp()) AND NOT h.pause_requested
    ORDER BY h.next_fetch_at
    LIMIT 1
) AS first

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

-- crawls: crawls by state
SELECT state, count(*) AS crawls FROM crawls GROUP BY state

-- serving: processes of this database that serve metrics, by the name that their sessions have
SELECT application_name AS name, host(client_addr) AS address,
       client_addr IS NOT DISTINCT FROM (
           SELECT client_addr FROM pg_stat_activity WHERE pid = pg_backend_pid()) AS is_near
FROM pg_stat_activity
WHERE datname = current_database() AND application_name LIKE 'tiptoe % at %:%'
GROUP BY application_name, client_addr
ORDER BY application_name, client_addr
