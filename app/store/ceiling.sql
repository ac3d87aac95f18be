-- draw: n starts in a row, gap_s apart, from the first free moment of the fleet's ceiling; none where that is too far
-- Starts that are returned are left from an earlier lot. One row for the fleet, locked only for this statement and its
-- commit.
UPDATE budgets AS b
SET next_at = CASE WHEN held.wait_s <= :horizon_s THEN held.start_at
    + make_interval(secs => CAST(:gap_s AS double precision) * CAST(:n AS integer))
                   ELSE b.next_at
                        - make_interval(secs => CAST(:gap_s AS double precision) * CAST(:returned AS integer)) END
FROM (
    SELECT kind, name, start_at, CAST(extract(epoch FROM start_at - now) AS double precision) AS wait_s
    FROM (
        SELECT kind, name, clock_timestamp() AS now,
               greatest(next_at - make_interval(secs => CAST(:gap_s AS double precision) * CAST(:returned AS integer)),
                   clock_timestamp()) AS start_at
        FROM (SELECT kind, name, next_at FROM budgets WHERE kind = 'all' AND name = 'all' FOR NO KEY UPDATE) AS locked
    ) AS timed
) AS held
WHERE b.kind = held.kind AND b.name = held.name
RETURNING CAST(greatest(held.wait_s, 0) AS double precision) AS wait_s

-- ensure: the ceiling's row
INSERT INTO budgets (kind, name) VALUES ('all', 'all') ON CONFLICT (kind, name) DO NOTHING
