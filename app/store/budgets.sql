-- reserve: a start on every one of these budgets at once, or the time to ask again
-- A host alone is granted its start here. Where several share a budget, a host is promised a time (`is_near`: within
-- :horizon_s), and the processes that wait draw starts in lots (:draws), no further ahead than :horizon_s; if one is
-- due within :near_s, they ask again.
-- A start that was drawn and :lost to lateness was promised to no host: later promises move back by as much. Starts of
-- the fleet's ceiling, which is a rate, are :returned instead: the next ones come the sooner.
-- A denied request commits asynchronously (:alone), so its lock is short: no start depends on it.
-- A host that was promised a time returns with a ticket; hosts without one queue behind it.
-- A host that shares a budget with nobody may start :lone_s late, so the first one to share it starts so much later.
-- A host that shared none of them since its last start holds them for a while: its next starts need no query.
-- A network is named by an operator because many hosts share it: nobody is taken to have it to itself.
-- Where a budget is unknown, none is locked: it is made first, and waits for others that make the same one.
WITH wanted AS MATERIALIZED (
    SELECT r.kind, r.name, r.gap_s, r.lot_s, r.promise_s
    FROM json_to_recordset(CAST(:rows AS json)) AS r (
        kind text, name text, gap_s double precision, lot_s double precision, promise_s double precision)
), held AS MATERIALIZED (
    SELECT b.kind, b.name, b.queue_at, b.failures, b.host_id, b.shared_until,
           CASE WHEN b.host_id <> :host_id
                     AND coalesce(b.shared_until < clock_timestamp(), true)
                     AND b.kind <> 'network'
                THEN b.next_at + make_interval(secs => :lone_s)
                ELSE b.next_at - make_interval(secs => w.gap_s * :returned) END AS next_at,
           b.blocked_until, b.resting_because,
           make_interval(secs => CASE WHEN b.failures > 0 THEN greatest(w.gap_s, :probe_s) ELSE w.gap_s END) AS gap,
           make_interval(secs => CASE WHEN b.failures > 0 THEN 0 ELSE w.lot_s END) AS lot,
           make_interval(
               secs => CASE WHEN b.failures > 0 THEN greatest(w.gap_s, :probe_s) ELSE w.promise_s END) AS promise
    FROM budgets AS b JOIN wanted AS w USING (kind, name)
    WHERE (SELECT count(*) FROM budgets JOIN wanted USING (kind, name)) = (SELECT count(*) FROM wanted)
    ORDER BY b.kind, b.name
    FOR NO KEY UPDATE OF b
), times AS MATERIALIZED (
    SELECT clock_timestamp() AS now, count(*) AS budgets, max(failures) AS failures,
           greatest(
               clock_timestamp() + make_interval(secs => greatest(:ready_in_s, 0)),
               max(next_at),
               max(blocked_until)) AS start_at,
           max(queue_at) AS queue_at,
           coalesce(max(blocked_until) > clock_timestamp(), false) AS blocked,
           NOT :has_ticket OR coalesce(max(blocked_until) > clock_timestamp(), false) AS queues,
           bool_or(kind = 'network' OR host_id <> :host_id OR shared_until > clock_timestamp()) AS shared,
           make_interval(secs => CASE WHEN bool_and(host_id = :host_id AND kind <> 'network' AND failures = 0
                                                    AND coalesce(shared_until < clock_timestamp(), true))
                                      THEN CAST(:hold_s AS double precision) ELSE 0 END) AS hold
    FROM held
), promised AS MATERIALIZED (
    SELECT *, CASE WHEN queues THEN greatest(start_at, queue_at) ELSE start_at END AS promised_at,
           now + make_interval(secs => :horizon_s) AS horizon_at
    FROM times
), verdict AS MATERIALIZED (
    SELECT *,
           start_at <= horizon_at
               AND (:draws OR (coalesce(NOT shared, true) AND (NOT queues OR queue_at <= start_at))) AS granted,
           CASE WHEN :draws THEN start_at > horizon_at AND start_at <= now + make_interval(secs => :near_s)
                ELSE shared AND promised_at <= horizon_at END AS is_near
    FROM promised
), kept AS (
    UPDATE budgets AS b
    SET next_at = CASE WHEN v.granted THEN greatest(v.start_at, v.now + v.hold) + h.lot + h.gap ELSE h.next_at END,
        queue_at = CASE WHEN v.granted THEN greatest(h.queue_at + h.gap * :lost, v.start_at + h.lot + h.gap)
                        WHEN :draws AND v.is_near THEN h.queue_at
                        WHEN v.queues
                             AND (v.is_near OR greatest(h.next_at, h.queue_at, h.blocked_until) >= v.promised_at)
                        THEN v.promised_at + h.promise
                        ELSE h.queue_at END,
        host_id = CASE WHEN v.granted THEN CAST(:host_id AS bigint) ELSE h.host_id END,
        shared_until = CASE WHEN h.host_id <> :host_id THEN v.now + interval '1 hour' ELSE h.shared_until END
    FROM held AS h, verdict AS v
    WHERE b.kind = h.kind AND b.name = h.name AND v.budgets = (SELECT count(*) FROM wanted)
)
SELECT CASE WHEN :alone AND NOT v.granted THEN set_config('synchronous_commit', 'off', true) END AS promised,
       v.budgets, v.granted, coalesce(v.is_near, false) AS is_near,
       v.failures, v.blocked, coalesce(v.shared, false) AS shared,
       v.hold > interval '0' AS held, v.now,
       CAST(extract(epoch FROM v.now - statement_timestamp()) AS double precision) AS took_s,
       CAST(extract(epoch FROM CASE WHEN v.granted OR (:draws AND v.is_near) THEN v.start_at
           ELSE v.promised_at END - v.now) AS double precision) AS wait_s,
       last.kind, last.name, last.blocked_until > v.now AS rests, last.resting_because
FROM verdict AS v
LEFT JOIN LATERAL (
    SELECT * FROM held AS h ORDER BY greatest(h.next_at, h.queue_at, h.blocked_until) DESC LIMIT 1
) AS last ON true

-- ensure: make new budgets; in key order, so that two visits cannot deadlock
INSERT INTO budgets (kind, name)
SELECT r.kind, r.name
FROM json_to_recordset(CAST(:rows AS json)) AS r (kind text, name text, gap_s double precision)
ORDER BY r.kind, r.name
ON CONFLICT (kind, name) DO NOTHING

-- lock: budgets, before several of them change, each by a statement of its own; in key order
SELECT b.kind
FROM budgets AS b
JOIN json_to_recordset(CAST(:rows AS json)) AS r (kind text, name text) USING (kind, name)
ORDER BY b.kind, b.name
FOR NO KEY UPDATE OF b

-- return_held: return the budgets of hosts that leave: others may start a gap after the end of their last request
UPDATE budgets AS b
SET next_at = clock_timestamp() + make_interval(secs => greatest(held.next_in_s, 0))
FROM (
    SELECT h.kind, h.name, r.host_id, r.next_in_s
    FROM budgets AS h
    JOIN json_to_recordset(CAST(:rows AS json)) AS r (
        kind text, name text, host_id bigint, next_in_s double precision) USING (kind, name)
    ORDER BY h.kind, h.name
    FOR NO KEY UPDATE OF h
) AS held
WHERE b.kind = held.kind AND b.name = held.name AND b.host_id = held.host_id

-- note_reset: record a name's reset connection
-- The address must rest if another name's was reset lately, or if it is being probed.
UPDATE budgets AS b
SET reset_host_id = CAST(:host_id AS bigint), reset_at = clock_timestamp()
FROM (SELECT kind, name, reset_host_id, reset_at, failures FROM budgets
      WHERE kind = :kind AND name = :name FOR NO KEY UPDATE) AS before
WHERE b.kind = before.kind AND b.name = before.name
RETURNING before.failures > 0
          OR coalesce(before.reset_host_id <> :host_id
              AND before.reset_at > clock_timestamp() - make_interval(secs => :memory_s), false) AS rests

-- refused: make an address rest, longer each time, after a refused connection or reset ones of two names
-- `failures` counts no higher than the doubling needs.
UPDATE budgets
SET failures = least(failures, 30) + 1,
    blocked_until = greatest(blocked_until, clock_timestamp()
                    + make_interval(secs => least(:base_s * 2 ^ failures, CAST(:max_s AS double precision)))),
    resting_because = :because
WHERE kind = :kind AND name = :name
RETURNING CAST(extract(epoch FROM blocked_until - clock_timestamp()) AS double precision) AS rest_s

-- answered: end an address's rest after an answered probe; no host waits for another probe
UPDATE budgets
SET failures = 0, blocked_until = NULL, resting_because = NULL,
    next_at = clock_timestamp() + make_interval(secs => :gap_s),
    queue_at = least(queue_at, clock_timestamp() + make_interval(secs => :gap_s))
WHERE kind = :kind AND name = :name AND failures > 0

-- of_address: the budget that an address draws on: that of the network around it, else its own
SELECT kind, name, next_at, queue_at, failures, blocked_until, resting_because
FROM budgets
WHERE (kind = 'address' AND name = CAST(:address AS text))
   OR (kind = 'network' AND CAST(:address AS inet) <<= CASE WHEN kind = 'network' THEN CAST(name AS inet) END)
ORDER BY kind DESC, next_at DESC
LIMIT 1

-- prune: delete budgets that no host has drawn on for a day
DELETE FROM budgets WHERE (kind, name) IN (
    SELECT kind, name FROM budgets
    WHERE greatest(next_at, queue_at, blocked_until) < clock_timestamp() - interval '1 day'
    LIMIT :n
    FOR UPDATE SKIP LOCKED)
