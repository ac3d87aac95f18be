-- open: a segment that a worker begins
INSERT INTO segments (crawl_id, node, worker, name) VALUES (:crawl_id, :node, :worker, :name) RETURNING id

-- by_id: one segment
SELECT id, crawl_id, node, name, state, place, bytes, records, opened_at, closed_at FROM segments WHERE id = :id
