-- open: a segment that a worker begins
INSERT INTO segments (crawl_id, node, worker, name) VALUES (:crawl_id, :node, :worker, :name) RETURNING id

-- crawl_of: the name of a crawl, and the time
SELECT name, clock_timestamp() AS now FROM crawls WHERE id = :crawl_id

-- close: a segment is final
UPDATE segments SET state = 'closed', bytes = :bytes, records = :records, closed_at = clock_timestamp()
WHERE id = :id AND state = 'open'

-- by_id: one segment
SELECT * FROM segments WHERE id = :id

-- by_name: the segment of a file
SELECT * FROM segments WHERE name = :name

-- open_ones: segments that are open, by their rows
SELECT * FROM segments WHERE state = 'open' ORDER BY id

-- of_crawl: the segments of a crawl, or of all, the oldest first
SELECT * FROM segments
WHERE (CAST(:crawl_id AS bigint) IS NULL OR crawl_id = :crawl_id) AND id > :after
ORDER BY id
LIMIT :n

-- note_node: how the archive of a machine fares
INSERT INTO archive_nodes (node, place, free_bytes, waiting_bytes, stopped_because, stopped_at, trouble)
VALUES (:node, :place, :free_bytes, :waiting_bytes, :stopped_because,
        CASE WHEN CAST(:stopped_because AS text) IS NULL THEN NULL ELSE clock_timestamp() END, :trouble)
ON CONFLICT (node) DO UPDATE
SET place = excluded.place, free_bytes = excluded.free_bytes, waiting_bytes = excluded.waiting_bytes,
    stopped_because = excluded.stopped_because,
    stopped_at = CASE WHEN excluded.stopped_because IS NULL THEN NULL
                      ELSE coalesce(archive_nodes.stopped_at, excluded.stopped_at) END,
    trouble = excluded.trouble, seen_at = clock_timestamp()

-- nodes: machines that write the archive, and how each fared lately
SELECT *, CAST(extract(epoch FROM clock_timestamp() - seen_at) AS double precision) AS seen_ago_s,
       CAST(extract(epoch FROM clock_timestamp() - stopped_at) AS double precision) AS stopped_for_s
FROM archive_nodes
WHERE seen_at > clock_timestamp() - make_interval(secs => :seen_s)
ORDER BY node

-- uploaded: a segment is in the object store
UPDATE segments SET state = 'uploaded', place = :place, uploaded_at = clock_timestamp()
WHERE id = :id AND state = 'closed'

-- expired: closed segments of a crawl that are older than so many days, the oldest first
SELECT * FROM segments
WHERE crawl_id = :crawl_id AND state IN ('closed', 'uploaded')
  AND closed_at < clock_timestamp() - make_interval(days => :days)
ORDER BY id

-- with_withdrawn: closed segments of a crawl that hold records of pages that their owners withdrew
-- Those whose body another page repeats stay, and are none.
SELECT s.*
FROM segments AS s
WHERE s.crawl_id = :crawl_id AND s.state IN ('closed', 'uploaded') AND EXISTS (
    SELECT
    FROM withdrawals AS w
    JOIN captures AS c ON c.host_id = w.host_id AND c.crawl_id = w.crawl_id AND c.key = w.key
    WHERE w.crawl_id = :crawl_id AND c.segment_id = s.id
      AND NOT EXISTS (SELECT FROM captures AS r
                      WHERE r.crawl_id = c.crawl_id AND r.refers_to = c.id
                        AND NOT EXISTS (SELECT FROM withdrawals AS o
                                        WHERE o.host_id = r.host_id AND o.crawl_id = r.crawl_id AND o.key = r.key)))
ORDER BY s.id

-- lock: segments that are closed or uploaded, for as long as they are deleted
SELECT id FROM segments
WHERE id = ANY(CAST(:ids AS bigint[])) AND state IN ('closed', 'uploaded')
ORDER BY id
FOR UPDATE

-- gone: segments are deleted; their files go after the commit
UPDATE segments SET state = 'gone', gone_at = clock_timestamp()
WHERE id = ANY(CAST(:ids AS bigint[])) AND state <> 'gone'

-- unpoint: requests of the log whose records are deleted
UPDATE fetches AS f SET segment_id = NULL, at_offset = NULL, length = NULL
FROM segments AS s
WHERE s.id = ANY(CAST(:ids AS bigint[])) AND f.segment_id = s.id
  AND f.started_at >= s.opened_at - interval '1 day'
  AND f.started_at <= coalesce(s.closed_at, clock_timestamp()) + interval '1 day'

-- crawl_gone: all segments of a crawl are deleted
UPDATE segments SET state = 'gone', gone_at = clock_timestamp()
WHERE crawl_id = :crawl_id AND state <> 'gone'
RETURNING id

-- left_over: segments that are gone, and still in the object store
SELECT * FROM segments WHERE state = 'gone' AND place IS NOT NULL ORDER BY id LIMIT :n

-- taken_away: the object of a segment that is gone was deleted
UPDATE segments SET place = NULL WHERE id = :id AND state = 'gone'

-- crawls: crawls that have segments
SELECT DISTINCT crawl_id FROM segments WHERE state <> 'gone' ORDER BY crawl_id

-- pointed_at: where requests of the log point to in a segment
SELECT f.at_offset, f.length
FROM segments AS s
JOIN fetches AS f ON f.segment_id = s.id
  AND f.started_at >= s.opened_at - interval '1 day'
  AND f.started_at <= coalesce(s.closed_at, clock_timestamp()) + interval '1 day'
WHERE s.id = :id

-- summary: the segments of crawls, counted by crawl and state
SELECT s.crawl_id, c.name AS crawl, s.state, count(*) AS segments, CAST(coalesce(sum(s.bytes), 0) AS bigint) AS bytes,
       CAST(coalesce(sum(s.records), 0) AS bigint) AS records, min(s.opened_at) AS since,
       max(coalesce(s.closed_at, s.opened_at)) AS until
FROM segments AS s
LEFT JOIN crawls AS c ON c.id = s.crawl_id
WHERE CAST(:crawl_id AS bigint) IS NULL OR s.crawl_id = :crawl_id
GROUP BY s.crawl_id, c.name, s.state
ORDER BY s.crawl_id, s.state
