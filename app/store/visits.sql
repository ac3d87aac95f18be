-- close: a visit ended with a word
UPDATE visits SET ended_at = clock_timestamp(), ending = :ending, fetches = fetches + :fetches
WHERE id = :visit_id AND ended_at IS NULL

-- mark_lost: visits that ended without a word: their last batch may have gone unlogged
UPDATE visits AS v SET ending = 'lost'
WHERE v.ended_at IS NULL AND v.ending IS NULL
  AND NOT EXISTS (SELECT FROM hosts AS h WHERE h.id = v.host_id AND h.lease_token = v.token)
RETURNING v.id

-- recent: of a host
SELECT id, taken_at, ended_at, ending, fetches, worker FROM visits WHERE host_id = :host_id ORDER BY taken_at DESC LIMIT :n

-- open: a visit for a borrowed lease, so that its request is logged
INSERT INTO visits (host_id, token, queue, worker, taken_at)
SELECT id, lease_token, queue, CAST(:worker AS text), clock_timestamp()
FROM hosts
WHERE id = :host_id AND lease_token = :token
RETURNING id, taken_at

-- latest: of all hosts
SELECT h.name AS host, v.worker, v.queue, v.taken_at, v.ended_at, v.ending, v.fetches, clock_timestamp() AS now
FROM visits AS v JOIN hosts AS h ON h.id = v.host_id
ORDER BY v.id DESC
LIMIT :n
