-- current: the lineage of the rows, and the remembered one (NULL before the first check)
SELECT tiptoe_lineage() AS now, (SELECT seen FROM lineage) AS seen

-- begin: remember the first lineage
INSERT INTO lineage (seen) VALUES (tiptoe_lineage()) ON CONFLICT DO NOTHING

-- move: remember a new lineage; the first process succeeds, others wait for its commit and get no row
UPDATE lineage SET seen = tiptoe_lineage(), since = clock_timestamp() WHERE seen <> tiptoe_lineage()
RETURNING since

-- hold_hosts: no host is contacted before every lease that may have been granted is over, plus its delay
-- No lease is valid any more: a later one may have left no row, and links of a page read earlier may count as known
-- though their rows are gone. In id order, as a wake locks them.
WITH locked AS MATERIALIZED (
    SELECT id FROM hosts ORDER BY id FOR NO KEY UPDATE
)
UPDATE hosts
SET state = CASE WHEN pause_requested OR state = 'paused' THEN 'paused' ELSE 'idle' END,
    pause_requested = false,
    lease_token = NULL, lease_until = NULL, taken_at = NULL,
    polite_at = greatest(polite_at, clock_timestamp() + make_interval(secs => :lease_s + delay_s)),
    next_fetch_at = CASE WHEN next_fetch_at IS NOT NULL AND NOT pause_requested
                         THEN greatest(next_fetch_at, clock_timestamp() + make_interval(secs => :lease_s + delay_s)) END
FROM locked
WHERE hosts.id = locked.id

-- hold_budgets: wait for starts that may have been granted and left no row
UPDATE budgets SET next_at = greatest(next_at, clock_timestamp() + make_interval(secs => :gap_s)) WHERE kind <> 'all'

-- fate: the fate of a transaction with an unanswered commit; NULL if it is unknown, or if the lineage has changed since
SELECT CASE WHEN (SELECT l.since FROM lineage AS l) IS NOT DISTINCT FROM CAST(:since AS timestamptz)
             AND NOT EXISTS (SELECT FROM lineage AS l WHERE l.seen <> tiptoe_lineage())
             AND CAST(CAST(:xid AS text) AS xid8) < pg_snapshot_xmax(pg_current_snapshot())
            THEN pg_xact_status(CAST(CAST(:xid AS text) AS xid8)) END AS status
