-- look: the database's time, and what this machine noted before; NULL if it noted nothing yet
SELECT clock_timestamp() AS now, c.at, c.boot_s
FROM (VALUES (1)) AS one LEFT JOIN clocks AS c ON c.machine = :machine

-- begin: note a machine's clock for the first time, and forget those that noted nothing for long
WITH old AS (
    DELETE FROM clocks WHERE at < CAST(:at AS timestamptz) - interval '30 days'
)
INSERT INTO clocks (machine, at, boot_s) VALUES (:machine, :at, :boot_s) ON CONFLICT (machine) DO NOTHING

-- note: note it again; nothing while another process of the machine does, or if that was later
WITH free AS MATERIALIZED (
    SELECT machine FROM clocks
    WHERE machine = :machine AND at < CAST(:at AS timestamptz)
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE clocks SET at = :at, boot_s = :boot_s FROM free WHERE clocks.machine = free.machine

-- move: accept a step for all machines; the first process succeeds, others wait for its commit and get no row
WITH locked AS MATERIALIZED (
    SELECT machine, at FROM clocks ORDER BY machine FOR NO KEY UPDATE
)
UPDATE clocks SET at = clocks.at + make_interval(secs => :step_s)
FROM locked
WHERE clocks.machine = locked.machine
  AND EXISTS (SELECT FROM locked AS ours WHERE ours.machine = :machine AND ours.at = CAST(:at AS timestamptz))
RETURNING clocks.machine

-- ahead_hosts: after a step forward, what had not passed passes as late as without it
-- No lease ends before a visit's own clock says so. A moment that was written after the step was right already: so
-- none is moved further than a lease, a pause or the longest rest from now. In id order, as a wake locks them.
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now, clock_timestamp() - make_interval(secs => :step_s) AS before
), locked AS MATERIALIZED (
    SELECT h.id,
           CASE WHEN h.lease_until > c.before
                THEN least(h.lease_until + make_interval(secs => :step_s),
                           greatest(h.lease_until, c.now + make_interval(secs => :lease_s)))
                ELSE h.lease_until END AS lease_until,
           CASE WHEN h.polite_at > c.before
                THEN least(h.polite_at + make_interval(secs => :step_s),
                           greatest(h.polite_at, c.now + make_interval(secs => 2 * h.delay_s + :gap_s)))
                ELSE h.polite_at END AS polite_at,
           CASE WHEN h.blocked_until > c.before
                THEN least(h.blocked_until + make_interval(secs => :step_s),
                           greatest(h.blocked_until, c.now + make_interval(secs => :rest_s)))
                ELSE h.blocked_until END AS blocked_until
    FROM clock AS c, hosts AS h
    WHERE h.lease_until > c.before OR h.polite_at > c.before OR h.blocked_until > c.before
    ORDER BY h.id
    FOR NO KEY UPDATE OF h
)
UPDATE hosts AS h
SET lease_until = l.lease_until,
    polite_at = l.polite_at,
    blocked_until = l.blocked_until,
    next_fetch_at = CASE WHEN h.next_fetch_at IS NOT NULL
                         THEN greatest(h.next_fetch_at, l.polite_at, l.blocked_until,
                                       l.lease_until + make_interval(secs => h.delay_s)) END
FROM locked AS l
WHERE h.id = l.id

-- back_hosts: after a step back, nothing waits until the clock is as late again
-- None waits less than a whole lease or delay from now. Of a rest it is not known when it began.
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), locked AS MATERIALIZED (
    SELECT h.id,
           CASE WHEN h.lease_until > c.now + make_interval(secs => :lease_s)
                THEN c.now + make_interval(secs => :lease_s) ELSE h.lease_until END AS lease_until,
           least(h.polite_at, c.now + make_interval(secs => 2 * h.delay_s + :gap_s)) AS polite_at,
           CASE WHEN h.blocked_until > c.now + make_interval(secs => :rest_s)
                THEN c.now + make_interval(secs => :rest_s) ELSE h.blocked_until END AS blocked_until,
           CASE WHEN h.last_contact_at > c.now THEN c.now ELSE h.last_contact_at END AS last_contact_at
    FROM clock AS c, hosts AS h
    WHERE h.next_fetch_at > c.now OR h.lease_until > c.now OR h.polite_at > c.now OR h.last_contact_at > c.now
    ORDER BY h.id
    FOR NO KEY UPDATE OF h
)
UPDATE hosts AS h
SET lease_until = l.lease_until,
    polite_at = l.polite_at,
    blocked_until = l.blocked_until,
    last_contact_at = l.last_contact_at,
    next_fetch_at = CASE WHEN h.next_fetch_at IS NOT NULL
                         THEN least(h.next_fetch_at,
                                    greatest(c.now, l.polite_at, l.blocked_until,
                                             l.lease_until + make_interval(secs => h.delay_s))) END
FROM locked AS l, clock AS c
WHERE h.id = l.id

-- ahead_budgets: the same for starts that were granted, and for rests of addresses; in key order
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now, clock_timestamp() - make_interval(secs => :step_s) AS before
), locked AS MATERIALIZED (
    SELECT b.kind, b.name FROM clock AS c, budgets AS b
    WHERE greatest(b.next_at, b.blocked_until) > c.before
    ORDER BY b.kind, b.name
    FOR NO KEY UPDATE OF b
)
UPDATE budgets AS b
SET next_at = CASE WHEN b.next_at > c.before
                   THEN least(b.next_at + make_interval(secs => :step_s),
                              greatest(b.next_at, c.now + make_interval(secs => :held_s)))
                   ELSE b.next_at END,
    blocked_until = CASE WHEN b.blocked_until > c.before
                         THEN least(b.blocked_until + make_interval(secs => :step_s),
                                    greatest(b.blocked_until, c.now + make_interval(secs => :rest_s)))
                         ELSE b.blocked_until END
FROM clock AS c, locked AS l
WHERE b.kind = l.kind AND b.name = l.name

-- back_budgets: no start waits longer than the longest that may have been granted; in key order
WITH locked AS MATERIALIZED (
    SELECT kind, name FROM budgets
    WHERE greatest(next_at, queue_at, blocked_until) > clock_timestamp()
    ORDER BY kind, name
    FOR NO KEY UPDATE
)
UPDATE budgets AS b
SET next_at = least(b.next_at, clock_timestamp() + make_interval(secs => :held_s)),
    queue_at = least(b.queue_at, clock_timestamp() + make_interval(secs => :held_s)),
    blocked_until = CASE WHEN b.blocked_until IS NOT NULL
                         THEN least(b.blocked_until, clock_timestamp() + make_interval(secs => :rest_s)) END
FROM locked AS l
WHERE b.kind = l.kind AND b.name = l.name
