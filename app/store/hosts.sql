-- claim_due: lease due hosts, n at most, in each queue as many as it has capacity for, searching from :since on
-- statement_timestamp(), not clock_timestamp(): a volatile bound cannot use the index.
-- The CTE is materialised: as a plain IN (SELECT ...) the planner may run it again and claim too many.
-- Joined by ctid, which the row lock pins: a look-up by id would walk the dead row versions that a long transaction
-- keeps.
-- After a failover or a restore nothing is lent, or written under a lease, until the lineage was checked
-- (app.store.lineage); nor is it after a step of the database's clock, until that was accepted (app.store.clocks).
WITH due AS MATERIALIZED (
    SELECT ready.place, ready.outlived, ready.missed, ready.due_at
    FROM unnest(CAST(:queues AS text[]), CAST(:capacity AS integer[]), CAST(:since AS timestamptz[]))
        AS capacity (queue, free, since)
    CROSS JOIN LATERAL (
        SELECT h.ctid AS place, h.state = 'taken' AS outlived, h.state = 'offered' AS missed, h.next_fetch_at AS due_at
        FROM hosts AS h
        WHERE h.queue = capacity.queue
          AND h.next_fetch_at >= coalesce(capacity.since, '-infinity')
          AND h.next_fetch_at <= statement_timestamp() + make_interval(secs => :ahead_s)
          AND (h.state = 'idle' OR h.lease_until <= statement_timestamp())
          AND NOT h.pause_requested
          AND NOT EXISTS (SELECT FROM lineage AS l WHERE l.seen <> tiptoe_lineage())
          AND NOT EXISTS (
              SELECT FROM clocks AS c
              WHERE c.machine = :clock
                AND statement_timestamp() > c.at + make_interval(secs => :step_s + (1 + :drift) * (:boot_s - c.boot_s)))
        ORDER BY h.next_fetch_at
        LIMIT capacity.free
        FOR UPDATE SKIP LOCKED
    ) AS ready
    LIMIT :n
)
UPDATE hosts
SET state = 'offered',
    lease_token = gen_random_uuid(),
    taken_at = NULL,
    polite_at = greatest(polite_at, next_fetch_at),
    lease_until = clock_timestamp() + make_interval(secs => :offer_s),
    next_fetch_at = clock_timestamp() + make_interval(secs => :offer_s + delay_s),
    isolate = CASE WHEN due.outlived THEN :isolate ELSE isolate END,
    offers_missed = CASE WHEN due.missed THEN offers_missed + 1 ELSE offers_missed END
FROM due
WHERE hosts.ctid = due.place
RETURNING hosts.id AS host_id, hosts.name, hosts.queue, hosts.lease_token AS token, due.due_at

-- offer_now: an offer of one host to ourselves, if it may be contacted now
WITH free AS MATERIALIZED (
    SELECT id, state = 'taken' AS outlived, next_fetch_at AS due_at
    FROM hosts
    WHERE name = :name
      AND (state = 'idle' OR lease_until <= statement_timestamp())
      AND NOT EXISTS (SELECT FROM lineage AS l WHERE l.seen <> tiptoe_lineage())
      AND NOT EXISTS (
          SELECT FROM clocks AS c
          WHERE c.machine = :clock
            AND statement_timestamp() > c.at + make_interval(secs => :step_s + (1 + :drift) * (:boot_s - c.boot_s)))
      AND state <> 'paused' AND NOT pause_requested
      AND greatest(polite_at, blocked_until, CASE WHEN state <> 'idle' THEN next_fetch_at END) <= statement_timestamp()
    FOR UPDATE SKIP LOCKED
)
UPDATE hosts
SET state = 'offered',
    lease_token = gen_random_uuid(),
    taken_at = NULL,
    lease_until = clock_timestamp() + make_interval(secs => :offer_s),
    next_fetch_at = clock_timestamp() + make_interval(secs => :offer_s + delay_s),
    isolate = CASE WHEN free.outlived THEN :isolate ELSE isolate END
FROM free
WHERE hosts.id = free.id
RETURNING hosts.id AS host_id, hosts.name, hosts.queue, hosts.lease_token AS token, free.due_at

-- borrow: lease one host for one request (a robots.txt redirect), if it may be contacted now
WITH free AS MATERIALIZED (
    SELECT id, state = 'taken' AS outlived
    FROM hosts
    WHERE name = :name
      AND (state = 'idle' OR lease_until <= statement_timestamp())
      AND NOT EXISTS (SELECT FROM lineage AS l WHERE l.seen <> tiptoe_lineage())
      AND NOT EXISTS (
          SELECT FROM clocks AS c
          WHERE c.machine = :clock
            AND statement_timestamp() > c.at + make_interval(secs => :step_s + (1 + :drift) * (:boot_s - c.boot_s)))
      AND state <> 'paused' AND NOT pause_requested
      AND greatest(polite_at, blocked_until, CASE WHEN state <> 'idle' THEN next_fetch_at END) <= statement_timestamp()
    FOR UPDATE SKIP LOCKED
)
UPDATE hosts
SET state = 'taken',
    lease_token = gen_random_uuid(),
    taken_at = clock_timestamp(),
    lease_until = clock_timestamp() + make_interval(secs => :lease_s),
    next_fetch_at = clock_timestamp() + make_interval(secs => :lease_s + delay_s),
    isolate = CASE WHEN free.outlived THEN :isolate ELSE isolate END
FROM free
WHERE hosts.id = free.id
RETURNING hosts.id AS host_id, hosts.lease_token AS token, hosts.delay_s,
          coalesce(
              hosts.quiet_hours,
              (SELECT d.quiet_hours FROM domains AS d WHERE d.name = hosts.domain)) AS quiet_hours

-- free_in: seconds until a host that could not be borrowed may be contacted by its pace and its rest
-- NULL where it is paused.
SELECT CAST(
           extract(epoch FROM greatest(h.polite_at, h.blocked_until, clock_timestamp()) - clock_timestamp())
           AS double precision) AS seconds
FROM hosts AS h
WHERE h.name = :name AND h.state <> 'paused' AND NOT h.pause_requested

-- return_loan: end a borrowed lease; the delay counts from the end of the request, if one was sent
UPDATE hosts
SET state = CASE WHEN pause_requested THEN 'paused' ELSE 'idle' END,
    pause_requested = false,
    lease_token = NULL, lease_until = NULL, taken_at = NULL,
    polite_at = greatest(
        polite_at, clock_timestamp() + make_interval(secs => delay_s - CAST(:age_s AS double precision))),
    blocked_until = greatest(
        blocked_until, clock_timestamp() + make_interval(secs => CAST(:rest_s AS double precision))),
    resting_because = CASE WHEN CAST(:rest_s AS double precision) IS NULL
                           THEN resting_because ELSE :resting_because END,
    resting_detail = CASE WHEN CAST(:rest_s AS double precision) IS NULL
                          THEN resting_detail ELSE :resting_detail END,
    last_contact_at = coalesce(
        clock_timestamp() - make_interval(secs => CAST(:age_s AS double precision)), last_contact_at),
    next_fetch_at = CASE
        WHEN NOT pause_requested AND EXISTS (
            SELECT FROM crawls AS c WHERE c.state = 'active' AND EXISTS (
                SELECT FROM urls AS u WHERE u.crawl_id = c.id AND u.host_id = hosts.id AND u.state = 'queued'))
        THEN greatest(clock_timestamp(), polite_at, blocked_until,
                      clock_timestamp() + make_interval(secs => delay_s - CAST(:age_s AS double precision)),
                      clock_timestamp() + make_interval(secs => CAST(:rest_s AS double precision))) END
WHERE id = :host_id AND lease_token = :token AND state = 'taken'

-- take_up: turn an offer into a visit; one-shot, so a doubled message has no effect
WITH taken AS (
    UPDATE hosts
    SET state = 'taken',
        offers_missed = 0,
        taken_at = clock_timestamp(),
        lease_until = clock_timestamp() + make_interval(secs => :lease_s),
        next_fetch_at = clock_timestamp() + make_interval(secs => :lease_s + delay_s)
    WHERE id = :host_id AND lease_token = :token AND state = 'offered' AND taken_at IS NULL
      AND NOT EXISTS (SELECT FROM lineage AS l WHERE l.seen <> tiptoe_lineage())
    RETURNING *
), visit AS (
    INSERT INTO visits (host_id, token, queue, worker, taken_at)
    SELECT id, lease_token, queue, CAST(:worker AS text), taken_at FROM taken
    RETURNING id
)
SELECT visit.id AS visit_id, taken.name, taken.domain, host(taken.address) AS address, taken.delay_s,
       coalesce(taken.delay_override_s, d.delay_override_s) AS delay_override_s, taken.robots_delay_s, taken.failures,
       taken.adaptive_level, taken.recent_statuses, taken.recent_ms, taken.latency_s, taken.breaker_trips,
       coalesce(taken.quiet_hours, d.quiet_hours) AS quiet_hours, taken.resting_because,
       (SELECT since FROM lineage) AS lineage, taken.isolate, taken.answered_at IS NOT NULL AS answered,
           taken.last_contact_at IS NOT NULL AS contacted, taken.unfetched,
       taken.taken_at AS now,
       CAST(
           extract(epoch FROM greatest(taken.polite_at, taken.blocked_until) - taken.taken_at)
           AS double precision) AS wait_s
FROM visit, taken LEFT JOIN domains AS d ON d.name = taken.domain

-- lock_leased: the first statement of a settle, in id order
-- A missing host has lost its lease, and nothing may be written for it.
-- The statements that follow look each of their rows up. A session plans them once, in a new database while the tables
-- are small: they would be read whole, and the plan kept until Postgres has statistics.
WITH plans AS MATERIALIZED (
    SELECT set_config('enable_seqscan', 'off', true) AS scan, set_config('enable_hashjoin', 'off', true) AS hash,
           set_config('enable_mergejoin', 'off', true) AS merge
)
SELECT h.lease_token AS token, h.pause_requested, CAST(pg_current_xact_id() AS text) AS xid
FROM plans
CROSS JOIN unnest(CAST(:ids AS bigint[]), CAST(:tokens AS uuid[])) AS r (id, token)
JOIN hosts AS h ON h.id = r.id AND h.lease_token = r.token
WHERE h.state = 'taken' AND NOT EXISTS (SELECT FROM lineage AS l WHERE l.seen <> tiptoe_lineage())
ORDER BY h.id
FOR NO KEY UPDATE OF h

-- extend_visits: extend the leases of visits that continue, after all other writes of their settle
-- CASE hides the state from the planner, as in urls.record.
UPDATE hosts AS h
SET lease_until = clock_timestamp() + make_interval(secs => :lease_s),
    next_fetch_at = clock_timestamp() + make_interval(secs => :lease_s + r.delay_s),
    delay_s = r.delay_s,
    robots_delay_s = r.robots_delay_s,
    polite_at = greatest(h.polite_at, clock_timestamp() + make_interval(secs => r.pause_s - r.age_s),
                         CASE WHEN r.age_s IS NULL THEN h.last_contact_at + make_interval(secs => r.delay_s) END),
    last_contact_at = coalesce(clock_timestamp() - make_interval(secs => r.age_s), h.last_contact_at),
    answered_at = CASE WHEN r.answered THEN clock_timestamp() ELSE h.answered_at END,
    address = coalesce(r.address, h.address),
    failures = r.failures,
    adaptive_level = r.adaptive_level,
    recent_statuses = r.recent_statuses,
    recent_ms = r.recent_ms,
    latency_s = r.latency_s,
    breaker_trips = r.breaker_trips,
    isolate = r.isolate,
    unfetched = CASE WHEN r.counted THEN r.unfetched ELSE greatest(h.unfetched + r.unfetched, 0) END,
    unfetched_at = CASE WHEN r.counted THEN clock_timestamp() ELSE h.unfetched_at END
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, token uuid, delay_s double precision, robots_delay_s double precision, pause_s double precision,
    age_s double precision, answered boolean, address inet, failures integer, adaptive_level smallint,
    recent_statuses smallint[], recent_ms integer[], latency_s double precision, breaker_trips smallint,
    isolate smallint, unfetched bigint, counted boolean)
WHERE h.id = r.host_id AND h.lease_token = r.token AND CASE h.state WHEN 'taken' THEN true END

-- leave: end visits; a statement of its own, so that it sees URLs admitted before our lock
-- A visit that sent nothing may have found the delay raised: what it writes as delay_s, the next visit takes for waited
-- out.
UPDATE hosts AS h
SET state = CASE WHEN h.pause_requested THEN 'paused' ELSE 'idle' END,
    pause_requested = false,
    lease_token = NULL, lease_until = NULL, taken_at = NULL,
    delay_s = r.delay_s,
    robots_delay_s = r.robots_delay_s,
    polite_at = greatest(h.polite_at, clock_timestamp() + make_interval(secs => r.pause_s - r.age_s),
                         CASE WHEN r.age_s IS NULL THEN h.last_contact_at + make_interval(secs => r.delay_s) END),
    last_contact_at = coalesce(clock_timestamp() - make_interval(secs => r.age_s), h.last_contact_at),
    answered_at = CASE WHEN r.answered THEN clock_timestamp() ELSE h.answered_at END,
    address = coalesce(r.address, h.address),
    failures = r.failures,
    adaptive_level = r.adaptive_level,
    recent_statuses = r.recent_statuses,
    recent_ms = r.recent_ms,
    latency_s = r.latency_s,
    breaker_trips = r.breaker_trips,
    isolate = r.isolate,
    unfetched = CASE WHEN r.counted THEN r.unfetched ELSE greatest(h.unfetched + r.unfetched, 0) END,
    unfetched_at = CASE WHEN r.counted THEN clock_timestamp() ELSE h.unfetched_at END,
    blocked_until = greatest(CASE WHEN h.blocked_until > clock_timestamp() THEN h.blocked_until END,
                             clock_timestamp() + make_interval(secs => r.rest_s)),
    resting_because = CASE WHEN h.blocked_until > clock_timestamp() + make_interval(secs => coalesce(r.rest_s, 0))
                           THEN h.resting_because ELSE r.resting_because END,
    resting_detail = CASE WHEN h.blocked_until > clock_timestamp() + make_interval(secs => coalesce(r.rest_s, 0))
                          THEN h.resting_detail ELSE r.resting_detail END,
    next_fetch_at = CASE
        WHEN NOT h.pause_requested AND EXISTS (
            SELECT FROM crawls AS c WHERE c.state = 'active' AND EXISTS (
                SELECT FROM urls AS u WHERE u.crawl_id = c.id AND u.host_id = h.id AND u.state = 'queued'))
        THEN greatest(
            clock_timestamp(), h.polite_at, h.blocked_until,
            clock_timestamp() + make_interval(secs => r.pause_s - r.age_s),
            CASE WHEN r.age_s IS NULL THEN h.last_contact_at + make_interval(secs => r.delay_s) END,
            clock_timestamp() + make_interval(secs => r.rest_s),
            clock_timestamp() + make_interval(secs => r.wait_s))
        END
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, token uuid, delay_s double precision, robots_delay_s double precision, pause_s double precision,
    age_s double precision, answered boolean, address inet, failures integer, adaptive_level smallint,
    recent_statuses smallint[], recent_ms integer[], latency_s double precision, breaker_trips smallint,
    isolate smallint, unfetched bigint, counted boolean,
    rest_s double precision, resting_because text, resting_detail text, wait_s double precision)
WHERE h.id = r.host_id AND h.lease_token = r.token AND CASE h.state WHEN 'taken' THEN true END

-- block: make a host rest by an answer to a visit that lost its lease; it needs no token, as a rest is always allowed
UPDATE hosts
SET blocked_until = greatest(blocked_until, clock_timestamp() + make_interval(secs => :rest_s)),
    resting_because = :resting_because, resting_detail = :resting_detail,
    next_fetch_at = CASE WHEN state = 'idle' AND next_fetch_at IS NOT NULL
                         THEN greatest(next_fetch_at, clock_timestamp() + make_interval(secs => :rest_s))
                         ELSE next_fetch_at END
WHERE id = :host_id

-- extend: lengthen a lease that is too short for the next request
UPDATE hosts
SET lease_until = clock_timestamp() + make_interval(secs => :lease_s),
    next_fetch_at = clock_timestamp() + make_interval(secs => :lease_s + delay_s)
WHERE id = :host_id AND lease_token = :token AND state = 'taken'
  AND NOT EXISTS (SELECT FROM lineage AS l WHERE l.seen <> tiptoe_lineage())

-- ensure: hosts by name, made where they are new; in name order, so that two settles cannot deadlock
WITH wanted AS MATERIALIZED (
    SELECT r.name, r.domain, r.queue
    FROM json_to_recordset(CAST(:rows AS json)) AS r (name text, domain text, queue text)
), made AS (
    INSERT INTO hosts (name, domain, queue, delay_s)
    SELECT w.name, w.domain, w.queue, coalesce(d.delay_override_s, CAST(:delay_s AS double precision))
    FROM wanted AS w LEFT JOIN domains AS d ON d.name = w.domain
    WHERE NOT EXISTS (SELECT FROM hosts AS h WHERE h.name = w.name)
    ORDER BY w.name
    ON CONFLICT (name) DO NOTHING
    RETURNING id, name
)
SELECT id, name FROM made
UNION ALL
SELECT h.id, h.name FROM hosts AS h JOIN wanted AS w ON w.name = h.name

-- ids: hosts by name
SELECT id, name FROM hosts WHERE name = ANY(CAST(:names AS text[]))

-- lock: hosts, before their URLs or robots.txt are changed without their lease; in id order
SELECT id FROM hosts WHERE id = ANY(CAST(:ids AS bigint[])) ORDER BY id FOR NO KEY UPDATE

-- lock_quiet: before a wake, wait for leaving visits that searched before our URLs were there
SELECT id FROM hosts
WHERE id = ANY(CAST(:ids AS bigint[]))
  AND (state = 'taken'
       OR next_fetch_at IS NULL
       OR (resting_because IS NOT NULL
           AND next_fetch_at > greatest(clock_timestamp(), polite_at, blocked_until) + interval '1 second'))
ORDER BY id
FOR NO KEY UPDATE

-- wake: give hosts with a newly queued URL a next contact, unless they have one or are under a lease
-- A statement after lock_quiet, so that it sees the leaving visits' commits. A host that waits for a robots.txt is due
-- sooner, as the URL may belong to another of its origins.
UPDATE hosts
SET next_fetch_at = greatest(clock_timestamp(), polite_at, blocked_until)
WHERE id = ANY(CAST(:ids AS bigint[])) AND state = 'idle'
  AND (next_fetch_at IS NULL
       OR (resting_because IS NOT NULL
           AND next_fetch_at > greatest(clock_timestamp(), polite_at, blocked_until) + interval '1 second'))
RETURNING id

-- wake_forgotten: wake hosts that a crash between an admission and its wake left behind
-- Every 10 s the next slice of hosts, by id, as reading many millions takes longer than that.
UPDATE hosts
SET next_fetch_at = greatest(clock_timestamp(), polite_at, blocked_until)
FROM (
    SELECT h.id FROM hosts AS h
    CROSS JOIN (
        SELECT coalesce(CAST(:turn AS bigint), CAST(floor(extract(epoch FROM statement_timestamp()) / 10) AS bigint))
               % (coalesce(max(id), 0) / :slice + 1) * :slice AS after
        FROM hosts
    ) AS slice
    WHERE h.state = 'idle' AND h.next_fetch_at IS NULL AND h.id > slice.after AND h.id <= slice.after + :slice
      AND EXISTS (
        SELECT FROM crawls AS c WHERE c.state = 'active' AND EXISTS (
            SELECT FROM urls AS u WHERE u.crawl_id = c.id AND u.host_id = h.id AND u.state = 'queued'))
    ORDER BY h.id
    FOR NO KEY UPDATE OF h SKIP LOCKED
) AS quiet
WHERE hosts.id = quiet.id AND hosts.state = 'idle' AND hosts.next_fetch_at IS NULL
RETURNING hosts.id

-- pause_outlived: pause hosts with a pause requested under a visit that vanished
UPDATE hosts
SET state = 'paused', pause_requested = false, lease_token = NULL, lease_until = NULL, taken_at = NULL,
    polite_at = greatest(polite_at, next_fetch_at), next_fetch_at = NULL
WHERE id IN (
    SELECT id FROM hosts
    WHERE pause_requested AND lease_until < statement_timestamp() AND state IN ('offered', 'taken')
    FOR NO KEY UPDATE SKIP LOCKED)
RETURNING id

-- pause: no further visit; a running visit ends at its next settle
UPDATE hosts
SET state = CASE WHEN state = 'taken' THEN state ELSE 'paused' END,
    pause_requested = (state = 'taken'),
    lease_token = CASE WHEN state = 'taken' THEN lease_token END,
    lease_until = CASE WHEN state = 'taken' THEN lease_until END,
    next_fetch_at = CASE WHEN state = 'taken' THEN next_fetch_at END
WHERE name = :name
RETURNING id, state

-- resume: a paused host may be visited again, no sooner than its pace allows
UPDATE hosts
SET state = CASE WHEN state = 'paused' THEN 'idle' ELSE state END,
    pause_requested = false
WHERE name = :name
RETURNING id, state

-- paused_of: hosts that an operator paused, and that a crawl has URLs queued at; reads all hosts
SELECT h.name FROM hosts AS h
WHERE (h.state = 'paused' OR h.pause_requested)
  AND EXISTS (SELECT FROM urls AS u WHERE u.crawl_id = :crawl_id AND u.host_id = h.id AND u.state = 'queued')
ORDER BY h.name
LIMIT :n

-- release: forget why a host rests; its delay still holds
UPDATE hosts
SET blocked_until = NULL, resting_because = NULL, resting_detail = NULL, failures = 0, isolate = 0, breaker_trips = 0,
    recent_statuses = '{}', recent_ms = '{}',
    next_fetch_at = CASE WHEN state = 'idle' AND next_fetch_at IS NOT NULL
                         THEN greatest(clock_timestamp(), polite_at) ELSE next_fetch_at END
WHERE name = :name
RETURNING id

-- slow: an operator's base delay; with NULL robots.txt and the default decide again
UPDATE hosts
SET delay_override_s = CAST(:delay_s AS double precision),
    delay_s = greatest(delay_s, coalesce(CAST(:delay_s AS double precision), delay_s)),
    polite_at = CASE WHEN last_contact_at IS NULL THEN polite_at
                     ELSE greatest(polite_at, last_contact_at
                               + make_interval(secs => CAST(:delay_s AS double precision))) END
WHERE name = :name
RETURNING adaptive_level

-- quiet: an operator's quiet hours; NULL: none of its own.   reason: why a host rests in them, which has no detail
-- A rest by the old hours ends: the next visit begins it again if the new ones require it.
UPDATE hosts
SET quiet_hours = CAST(:hours AS text),
    blocked_until = CASE WHEN resting_because IS DISTINCT FROM :reason THEN blocked_until END,
    resting_because = nullif(resting_because, :reason),
    next_fetch_at = CASE WHEN state = 'idle' AND next_fetch_at IS NOT NULL AND resting_because = :reason
                         THEN greatest(clock_timestamp(), polite_at) ELSE next_fetch_at END
WHERE name = :name
RETURNING id

-- pin: visits of this host go to this queue
UPDATE hosts SET queue = :queue, pinned = :pinned WHERE name = :name RETURNING id

-- show: everything about one host; its queued URLs are counted up to a limit
SELECT h.*, clock_timestamp() AS now,
       (SELECT count(*) FROM (
            SELECT FROM crawls AS c CROSS JOIN LATERAL (
                 SELECT FROM urls AS u
                 WHERE u.crawl_id = c.id AND u.host_id = h.id AND u.state = 'queued'
                 LIMIT :most) AS of_crawl
            WHERE c.state = 'active'
            LIMIT :most
        ) AS counted) AS queued
FROM hosts AS h
WHERE h.name = :name

-- held_by: leases of visits that a machine's workers hold, with the worker's name
SELECT h.id AS host_id, h.lease_token AS token, v.worker
FROM hosts AS h
JOIN visits AS v ON v.host_id = h.id AND v.taken_at = h.taken_at AND v.token = h.lease_token
WHERE h.state = 'taken' AND starts_with(v.worker, CAST(:machine AS text) || ':')

-- end_dead: end the lease of a worker that is known to be dead
-- Its last request ended before, so the delay counts from now.
UPDATE hosts
SET lease_until = clock_timestamp(), next_fetch_at = clock_timestamp() + make_interval(secs => delay_s)
WHERE id = :host_id AND lease_token = :token AND state = 'taken'
RETURNING id

-- list: hosts and their causes of waiting; those with a next contact first
SELECT host, state, waits_for, next_fetch_at, delay_s, queue, failures, last_contact_at
FROM v_host_status
WHERE CAST(:waits_for AS text) IS NULL OR starts_with(waits_for, :waits_for)
ORDER BY next_fetch_at, host
LIMIT :n

-- ahead: how many hosts were contacted in the future, and when at the latest
SELECT count(*) AS n, max(last_contact_at) AS latest
FROM hosts
WHERE last_contact_at > clock_timestamp() + interval '1 minute'

-- queues: hosts that wait on each queue, how many are overdue by a minute, and since when
SELECT queue, count(*) AS hosts,
       count(*) FILTER (WHERE state = 'offered' AND lease_until > clock_timestamp()) AS offers,
       count(*) FILTER (WHERE next_fetch_at < clock_timestamp() - interval '1 minute') AS overdue,
       min(next_fetch_at) FILTER (WHERE next_fetch_at < clock_timestamp() - interval '1 minute') AS overdue_since,
       clock_timestamp() AS now
FROM v_host_status
WHERE next_fetch_at IS NOT NULL
GROUP BY queue
ORDER BY queue

-- note_event: log an operator's command to a host, in the command's transaction
INSERT INTO host_events (host_id, event, detail)
SELECT id, CAST(:event AS text), CAST(:detail AS text) FROM hosts WHERE name = :name

-- events: the latest of these commands
SELECT at, event, detail FROM host_events WHERE host_id = :host_id ORDER BY at DESC, id DESC LIMIT :n
