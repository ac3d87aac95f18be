-- parts: the partitions of a log, the default one aside
-- Bounds are read back from how Postgres spells them; there is no other way to them.
SELECT name, CAST(substring(bound FROM 'FROM \(''([^'']+)''\)') AS timestamptz) AS lower,
       CAST(substring(bound FROM 'TO \(''([^'']+)''\)') AS timestamptz) AS upper
FROM (
    SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bound
    FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
    WHERE i.inhparent = to_regclass(CAST(:log AS text))
) AS found
WHERE bound <> 'DEFAULT'
ORDER BY upper

-- detached: partitions that were taken out of the logs, to be dropped
SELECT relname AS name FROM pg_class
WHERE relkind = 'r' AND NOT relispartition AND relnamespace = CAST(current_schema() AS regnamespace)
  AND relname ~ '^(fetches|visits)_dropped_[0-9]+$'
ORDER BY relname

-- strays_of_fetches: the span of the rows that no partition was there for
SELECT min(started_at) AS oldest, max(started_at) AS newest FROM fetches_default

-- strays_of_visits: the same
SELECT min(taken_at) AS oldest, max(taken_at) AS newest FROM visits_default

-- clock: the time by which parts come and go
SELECT clock_timestamp()

-- be_alone: whether no other maintenance is at it; until the end of the transaction
SELECT pg_try_advisory_xact_lock(hashtext('tiptoe partitions'))

-- wait_briefly: for a lock: nothing of the crawl's is to wait behind us while we wait for somebody else's long transaction
SELECT set_config('lock_timeout', CAST(:ms AS text), true)
