-- close: close visits that report their end
UPDATE visits AS v
SET ended_at = clock_timestamp(), ending = r.ending, detail = r.detail, fetches = v.fetches + r.fetches
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    id bigint, taken_at timestamptz, ending text, detail text, fetches integer)
WHERE v.id = r.id AND v.taken_at = r.taken_at AND v.ended_at IS NULL

-- mark_lost: mark visits that vanished; their last batch may not be in the log
WITH wordless AS MATERIALIZED (
    SELECT v.id, v.taken_at
    FROM visits AS v
    WHERE v.ended_at IS NULL AND v.ending IS NULL
      AND NOT EXISTS (SELECT FROM hosts AS h WHERE h.id = v.host_id AND h.lease_token = v.token)
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE visits AS v SET ending = 'lost'
FROM wordless AS w
WHERE v.id = w.id AND v.taken_at = w.taken_at AND v.ended_at IS NULL AND v.ending IS NULL
RETURNING v.id

-- recent: the latest visits to a host
SELECT id, taken_at, ended_at, ending, detail, fetches, worker
FROM visits
WHERE host_id = :host_id
ORDER BY taken_at DESC
LIMIT :n

-- latest: the latest visits to all hosts
SELECT h.name AS host, v.worker, v.queue, v.taken_at, v.ended_at, v.ending, v.detail, v.fetches,
       clock_timestamp() AS now
FROM visits AS v JOIN hosts AS h ON h.id = v.host_id
ORDER BY v.id DESC
LIMIT :n

-- audit: vanished visits per host, the seconds that no row covers, and visits that overlap
-- Such a visit may have lasted from the end of its last logged request to the host's next take-up, but no longer than a
-- lease.
WITH ordered AS (
    SELECT v.*, lead(v.taken_at) OVER each AS next_at,
           max(v.ended_at) FILTER (WHERE v.ending <> 'fenced')
               OVER (each ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS previous_end
    FROM visits AS v
    WHERE CAST(:host_ids AS bigint[]) IS NULL OR v.host_id = ANY(CAST(:host_ids AS bigint[]))
    WINDOW each AS (PARTITION BY v.host_id ORDER BY v.taken_at, v.id)
), told AS (
    SELECT o.host_id, o.taken_at < o.previous_end AS overlapping,
           o.ended_at IS NULL
               AND (h.lease_token IS DISTINCT FROM o.token OR h.lease_until <= clock_timestamp()) AS wordless,
           h.name,
           least(o.next_at, clock_timestamp()) AS until,
           CASE WHEN o.ended_at IS NULL THEN coalesce((
               SELECT max(f.ended_at) FROM fetches AS f
               WHERE f.host_id = o.host_id AND f.visit_id = o.id
                 AND f.started_at BETWEEN o.taken_at AND coalesce(o.next_at, 'infinity')
           ), o.taken_at) END AS since
    FROM ordered AS o
    JOIN hosts AS h ON h.id = o.host_id
)
SELECT host_id, name AS host, count(*) FILTER (WHERE wordless) AS visits,
       CAST(
           coalesce(sum(greatest(0, least(extract(epoch FROM until - since), :longest_s))) FILTER (WHERE wordless), 0)
           AS double precision) AS seconds,
       count(*) FILTER (WHERE overlapping) AS overlapping
FROM told
WHERE wordless OR overlapping
GROUP BY host_id, name
ORDER BY visits DESC, name
