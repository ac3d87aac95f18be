-- parts: the partitions of a log, without the default one
-- Bounds are parsed from Postgres' own notation; there is no other way to read them.
SELECT name, CAST(substring(bound FROM 'FROM \(''([^'']+)''\)') AS timestamptz) AS lower,
       CAST(substring(bound FROM 'TO \(''([^'']+)''\)') AS timestamptz) AS upper
FROM (
    SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bound
    FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
    WHERE i.inhparent = to_regclass(CAST(:log AS text))
) AS found
WHERE bound <> 'DEFAULT'
ORDER BY upper

-- detached: partitions that were detached from the logs, to be dropped
SELECT relname AS name FROM pg_class
WHERE relkind = 'r' AND NOT relispartition AND relnamespace = CAST(quote_ident(current_schema()) AS regnamespace)
  AND relname ~ '^(fetches|visits|links)_dropped_[0-9]+$'
ORDER BY relname

-- strays_of_fetches: the span of rows that found no partition of their time
SELECT min(started_at) AS oldest, max(started_at) AS newest FROM fetches_default

-- strays_of_visits: the span of rows that found no partition of their time
SELECT min(taken_at) AS oldest, max(taken_at) AS newest FROM visits_default

-- strays_of_links: the span of rows that found no partition of their time
SELECT min(found_at) AS oldest, max(found_at) AS newest FROM links_default

-- wait_briefly: limit waits for locks, so that no visit queues behind us while we wait for a long transaction
SELECT set_config('lock_timeout', CAST(:ms AS text), true)
