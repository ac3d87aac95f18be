-- slow: an operator's base delay for the hosts of a registrable domain; NULL: none
WITH kept AS (
    INSERT INTO domains (name, delay_override_s) VALUES (:name, CAST(:delay_s AS double precision))
    ON CONFLICT (name) DO UPDATE SET delay_override_s = excluded.delay_override_s
), waiting AS MATERIALIZED (
    SELECT id FROM hosts WHERE domain = :name AND delay_override_s IS NULL ORDER BY id FOR NO KEY UPDATE
)
UPDATE hosts
SET delay_s = greatest(delay_s, coalesce(CAST(:delay_s AS double precision), delay_s)),
    polite_at = CASE WHEN last_contact_at IS NULL THEN polite_at
                     ELSE greatest(polite_at, last_contact_at
                               + make_interval(secs => CAST(:delay_s AS double precision))) END
FROM waiting
WHERE hosts.id = waiting.id
RETURNING hosts.name

-- quiet: an operator's quiet hours for the hosts of a registrable domain; NULL: none
-- A rest by the old hours ends: the next visit begins it again if the new ones require it.
WITH kept AS (
    INSERT INTO domains (name, quiet_hours) VALUES (:name, CAST(:hours AS text))
    ON CONFLICT (name) DO UPDATE SET quiet_hours = excluded.quiet_hours
), resting AS MATERIALIZED (
    SELECT id FROM hosts WHERE domain = :name AND resting_because = :reason ORDER BY id FOR NO KEY UPDATE
), woken AS (
    UPDATE hosts
    SET blocked_until = NULL, resting_because = NULL, resting_detail = NULL,
        next_fetch_at = CASE WHEN state = 'idle' AND next_fetch_at IS NOT NULL
                             THEN greatest(clock_timestamp(), polite_at) ELSE next_fetch_at END
    FROM resting
    WHERE hosts.id = resting.id
)
SELECT name FROM hosts WHERE domain = :name

-- find: an operator's orders for a registrable domain
SELECT name, delay_override_s, quiet_hours FROM domains WHERE name = :name
