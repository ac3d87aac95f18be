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
    stopped_at = CASE WHEN excluded.stopped_because IS NULL THEN NULL ELSE coalesce(archive_nodes.stopped_at, excluded.stopped_at) END,
    trouble = excluded.trouble, seen_at = clock_timestamp()

-- nodes: machines that write the archive, and how each fared lately
SELECT *, extract(epoch FROM clock_timestamp() - seen_at) AS seen_ago_s,
       extract(epoch FROM clock_timestamp() - stopped_at) AS stopped_for_s
FROM archive_nodes
ORDER BY node

-- uploaded: a segment is in the object store
UPDATE segments SET state = 'uploaded', place = :place, uploaded_at = clock_timestamp() WHERE id = :id AND state = 'closed'
