-- lines: standing offers per queue, the end of the latest missed one, and missed hosts that are due
-- A standing offer that was repeated shows that the one before was missed: that ended, at the latest, when this one was
-- made.
SELECT queue, count(*) FILTER (WHERE lease_until > statement_timestamp()) AS standing,
       max(CASE WHEN lease_until <= statement_timestamp() THEN lease_until
                WHEN offers_missed > 0 THEN lease_until - make_interval(secs => :offer_s) END) AS missed_at,
       array_agg(ARRAY[offers_missed, id] ORDER BY offers_missed DESC, lease_until DESC) FILTER (
           WHERE lease_until <= statement_timestamp() AND NOT pause_requested
             AND next_fetch_at <= statement_timestamp() + make_interval(secs => :ahead_s)) AS missed
FROM hosts
WHERE state = 'offered' AND lease_until > statement_timestamp() - make_interval(secs => :within_s)
GROUP BY queue

-- served: queues of the latest visits, and when an offer of each was last taken up
SELECT queue, max(taken_at) AS served_at
FROM (SELECT queue, taken_at FROM visits ORDER BY id DESC LIMIT :n) AS latest
WHERE taken_at > statement_timestamp() - make_interval(secs => :within_s)
GROUP BY queue

-- again: offer missed hosts again, each by its id
-- Without due_at, else the mark from which dispatch searches would pass hosts that have been due for longer.
WITH missed AS MATERIALIZED (
    SELECT id
    FROM hosts
    WHERE id = ANY(CAST(:ids AS bigint[])) AND state = 'offered' AND lease_until <= statement_timestamp()
      AND next_fetch_at <= statement_timestamp() + make_interval(secs => :ahead_s)
      AND NOT pause_requested
      AND NOT EXISTS (SELECT FROM lineage AS l WHERE l.seen <> tiptoe_lineage())
      AND NOT EXISTS (
          SELECT FROM clocks AS c
          WHERE c.machine = :clock
            AND statement_timestamp() > c.at + make_interval(secs => :step_s + (1 + :drift) * (:boot_s - c.boot_s)))
    FOR UPDATE SKIP LOCKED
)
UPDATE hosts
SET lease_token = gen_random_uuid(),
    polite_at = greatest(polite_at, next_fetch_at),
    lease_until = clock_timestamp() + make_interval(secs => :offer_s),
    next_fetch_at = clock_timestamp() + make_interval(secs => :offer_s + delay_s),
    offers_missed = offers_missed + 1
FROM missed
WHERE hosts.id = missed.id
RETURNING hosts.id AS host_id, hosts.name, hosts.queue, hosts.lease_token AS token, CAST(NULL AS timestamptz) AS due_at
