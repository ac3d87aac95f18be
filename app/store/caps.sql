-- strangers: places in the list of URLs that have no row in the frontier
SELECT r.place
FROM json_to_recordset(CAST(:rows AS json)) AS r (place integer, host_id bigint, crawl_id bigint, key text)
WHERE NOT EXISTS (
    SELECT FROM urls AS u WHERE u.host_id = r.host_id AND u.crawl_id = r.crawl_id AND u.key = decode(r.key, 'hex'))
ORDER BY r.place

-- weakest: a host's URLs that wait for their first fetch and may be evicted, the lowest score first
-- Seeds and sitemaps may not. URLs that were fetched before are skipped, up to so many rows of a lane.
SELECT host_id, crawl_id, key, url, found_on, CAST(score AS double precision) AS score, lane
FROM crawls AS c
CROSS JOIN generate_series(0, 3) AS front (number)
CROSS JOIN LATERAL (
    SELECT *
    FROM (
        SELECT *
        FROM urls
        WHERE urls.crawl_id = c.id AND urls.host_id = :host_id AND urls.lane = front.number AND urls.state = 'queued'
          AND urls.score < CAST(:below AS real)
        ORDER BY urls.score, urls.id DESC
        LIMIT :most
    ) AS last
    WHERE fetched_at IS NULL AND kind = 'page'
      AND NOT (depth = 0 AND found_on IS NULL)
      AND NOT key = ANY(CAST(:spared AS bytea[]))
) AS u
WHERE c.state = 'active'
ORDER BY score, lane DESC, u.id DESC
LIMIT :n

-- evict: evict URLs that were never fetched
DELETE FROM urls AS u
USING json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
WHERE u.host_id = r.host_id AND u.crawl_id = r.crawl_id AND u.key = decode(r.key, 'hex')
  AND u.state = 'queued' AND u.fetched_at IS NULL
RETURNING u.host_id, u.crawl_id, u.key

-- defer: defer URLs that were never fetched to the next cycle
UPDATE urls AS u SET state = 'resting', due_at = clock_timestamp() + make_interval(secs => :due_s)
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
WHERE u.host_id = r.host_id AND u.crawl_id = r.crawl_id AND u.key = decode(r.key, 'hex')
  AND u.state = 'queued' AND u.fetched_at IS NULL
RETURNING u.host_id, u.crawl_id, u.key

-- recount: URLs of a host that wait for their first fetch in active crawls; no row while the last count is good
-- whole is false where the queue is longer than the part that was read: then there are at least as many.
SELECT queue.unfetched, queue.length < :most AS whole
FROM hosts AS h
CROSS JOIN LATERAL (
    SELECT count(*) AS length, count(*) FILTER (WHERE waiting.fetched_at IS NULL) AS unfetched
    FROM (
        SELECT u.fetched_at
        FROM crawls AS c
        CROSS JOIN LATERAL (
            SELECT fetched_at FROM urls WHERE urls.crawl_id = c.id AND urls.host_id = h.id AND urls.state = 'queued'
        ) AS u
        WHERE c.state = 'active'
        LIMIT :most
    ) AS waiting
) AS queue
WHERE h.id = :host_id
  AND h.unfetched_at < greatest(
      clock_timestamp() - make_interval(secs => :good_s), (SELECT max(state_since) FROM crawls))

-- estimate: their number by the host's row
SELECT unfetched FROM hosts WHERE id = :host_id

-- counted: set that estimate, without the host's lease
UPDATE hosts SET unfetched = :unfetched, unfetched_at = clock_timestamp() WHERE id = :host_id

-- swell: change that estimate after an admission or eviction without the host's lease
UPDATE hosts SET unfetched = greatest(unfetched + :n, 0) WHERE id = :host_id RETURNING unfetched

-- full_hosts: hosts with so many URLs that wait for their first fetch, the fullest first
SELECT name, unfetched FROM hosts WHERE unfetched >= :cap ORDER BY unfetched DESC, name LIMIT :n

-- full_hosts_of: hosts of a crawl with so many URLs that wait for their first fetch
SELECT h.name
FROM crawl_hosts AS ch JOIN hosts AS h ON h.id = ch.host_id
WHERE ch.crawl_id = :crawl_id AND h.unfetched >= :cap
ORDER BY h.unfetched DESC, h.name
LIMIT :n

-- sample_percent: the share of the table in so many blocks
SELECT 100 * least(
    1,
    :blocks * CAST(current_setting('block_size') AS double precision) / greatest(pg_relation_size('urls'), 1)
) AS percent

-- unfetched: how many wait for their first fetch in active crawls, by score, from a sample of the table's blocks
SELECT u.crawl_id, CAST(u.score AS double precision) AS score, count(*) AS urls
FROM urls AS u TABLESAMPLE SYSTEM (CAST(:percent AS real))
JOIN crawls AS c ON c.id = u.crawl_id
WHERE u.state = 'queued' AND u.fetched_at IS NULL AND c.state = 'active'
GROUP BY u.crawl_id, u.score

-- floors: the score that a link must exceed to be admitted to each active crawl
SELECT id, CAST(admits_above AS double precision) AS admits_above FROM crawls WHERE state = 'active' ORDER BY id

-- admit_above: set the score that a link must exceed to be admitted; NULL for any
UPDATE crawls SET admits_above = :score WHERE id = :crawl_id

-- weakest_of: as weakest, for whole crawls, from a sample
SELECT host_id, crawl_id, key, url, found_on, CAST(score AS double precision) AS score, lane
FROM urls TABLESAMPLE SYSTEM (CAST(:percent AS real))
WHERE crawl_id = ANY(CAST(:crawl_ids AS bigint[])) AND state = 'queued' AND fetched_at IS NULL AND kind = 'page'
  AND NOT (depth = 0 AND found_on IS NULL)
ORDER BY urls.score, urls.lane DESC, urls.id DESC
LIMIT :n

-- lock_unvisited: those of the hosts without a visit or an offer
SELECT id FROM hosts
WHERE id = ANY(CAST(:ids AS bigint[])) AND state IN ('idle', 'paused')
ORDER BY id
FOR NO KEY UPDATE SKIP LOCKED
