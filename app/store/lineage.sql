-- current: what the rows are in, and what they were last known to be in (NULL: nobody has looked yet)
SELECT tiptoe_lineage() AS now, (SELECT seen FROM lineage) AS seen

-- begin: the first look
INSERT INTO lineage (seen) VALUES (tiptoe_lineage()) ON CONFLICT DO NOTHING

-- move: who is first to see that they are in another one; others wait for its commit, and are told no
UPDATE lineage SET seen = tiptoe_lineage(), since = clock_timestamp() WHERE seen <> tiptoe_lineage()
RETURNING since

-- hold_hosts: none is contacted before every lease that may have been given out is over, plus its delay
-- No lease is good any more: another may have followed that no row tells of, and the links of a page that was read before may be held for
-- known though their rows are gone. In id order, as a wake locks them.
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

-- hold_budgets: a start that was granted, and that no row tells of, is waited for
UPDATE budgets SET next_at = greatest(next_at, clock_timestamp() + make_interval(secs => :gap_s)) WHERE kind <> 'all'

-- fate: of a transaction whose commit was not answered; NULL: nobody knows, or the rows are in another lineage than it was
SELECT CASE WHEN (SELECT l.since FROM lineage AS l) IS NOT DISTINCT FROM CAST(:since AS timestamptz)
             AND NOT EXISTS (SELECT FROM lineage AS l WHERE l.seen <> tiptoe_lineage())
             AND CAST(CAST(:xid AS text) AS xid8) < pg_snapshot_xmax(pg_current_snapshot())
            THEN pg_xact_status(CAST(CAST(:xid AS text) AS xid8)) END AS status
