-- begin: plan each query of this transaction anew: one planned while the tables were small would be kept for good
-- It has an id before it claims: of two transactions the ids then say which claimed first.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true) AS plans,
       set_config('enable_seqscan', 'off', true) AS by_index,
       pg_current_xact_id() AS id

-- crawls: crawls with pages to compare, the one whose page has waited longest first: two looks at an index each
-- Of those that are due some pages have their fingerprints.
WITH RECURSIVE queued AS (
    (SELECT crawl_id, id FROM near_queue ORDER BY crawl_id, id LIMIT 1)
    UNION ALL
    SELECT next.crawl_id, next.id
    FROM queued AS w
    CROSS JOIN LATERAL (
        SELECT crawl_id, id FROM near_queue WHERE crawl_id > w.crawl_id ORDER BY crawl_id, id LIMIT 1
    ) AS next
), due AS (
    (SELECT crawl_id FROM fingerprints_due ORDER BY crawl_id LIMIT 1)
    UNION ALL
    SELECT next.crawl_id
    FROM due AS w
    CROSS JOIN LATERAL (
        SELECT crawl_id FROM fingerprints_due WHERE crawl_id > w.crawl_id ORDER BY crawl_id LIMIT 1
    ) AS next
)
SELECT crawl_id, bool_or(is_due) AS is_due
FROM (SELECT crawl_id, 0 AS id, true AS is_due FROM due UNION ALL SELECT crawl_id, id, false FROM queued) AS waiting
GROUP BY crawl_id
ORDER BY min(id)

-- lot: a crawl's oldest pages of the queue that nobody else holds; their texts have no more than :most_bytes
-- main_text is NULL where the page is not there any more, may not be kept, is an exact copy, or its crawl compares no
-- pages.
-- LATERAL makes each page a probe of every index: in a new database, without statistics, tables would be read whole.
-- The order makes it fingerprints' key, and not the index of the host, through which all of the host's are read.
SELECT id, host_id, crawl_id, key, url, title, fetched_at, fingerprint_id, place, simhash, main_text, noted, is_gone,
       CAST(pg_current_xact_id() AS text) AS held_by
FROM (
    SELECT q.id, q.host_id, q.crawl_id, q.key, q.place AS queued_at, p.url, p.title, p.fetched_at,
           f.id AS fingerprint_id, f.place, f.simhash, u.gone_at IS NOT NULL AS is_gone,
           CASE WHEN c.near_duplicates AND NOT coalesce(d.kind IN ('body', 'text'), false)
                THEN p.main_text END AS main_text,
           CASE WHEN d.kind IN ('near', 'review') THEN d.kind END AS noted,
           coalesce(sum(octet_length(p.main_text)) OVER earlier, 0) AS bytes_before
    FROM (
        SELECT * FROM near_queue WHERE crawl_id = :crawl_id ORDER BY crawl_id, place, id LIMIT :n
        FOR UPDATE SKIP LOCKED
    ) AS q
    LEFT JOIN crawls AS c ON c.id = q.crawl_id
    LEFT JOIN LATERAL (
        SELECT url, title, fetched_at, main_text FROM pages
        WHERE host_id = q.host_id AND crawl_id = q.crawl_id AND key = q.key
        OFFSET 0
    ) AS p ON true
    LEFT JOIN LATERAL (
        SELECT id, place, simhash FROM fingerprints
        WHERE host_id = q.host_id AND crawl_id = q.crawl_id AND key BETWEEN q.key AND q.key
        ORDER BY key
        OFFSET 0
    ) AS f ON true
    LEFT JOIN LATERAL (
        SELECT kind FROM duplicates
        WHERE host_id = q.host_id AND crawl_id = q.crawl_id AND key = q.key
        OFFSET 0
    ) AS d ON true
    LEFT JOIN LATERAL (
        SELECT gone_at FROM urls
        WHERE host_id = q.host_id AND crawl_id = q.crawl_id AND key = q.key
        OFFSET 0
    ) AS u ON true
    WINDOW earlier AS (ORDER BY q.place, q.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
) AS of_queue
WHERE bytes_before < :most_bytes
ORDER BY queued_at, id

-- due: a crawl's oldest fingerprints to be compared that nobody else holds, with their pages; as many as `lot`
-- None that is younger than a page of the queue: whoever is compared knows all that stand before it.
-- The pages of those that transaction :made_by put here, and nobody since, are known to who asks.
SELECT id, host_id, crawl_id, key, place, simhash, is_new, is_known, url, title, noted, is_gone
FROM (
    SELECT f.id, f.host_id, f.crawl_id, f.key, f.place, f.simhash, due.is_new, due.is_known, p.url, p.title,
           CASE WHEN d.kind IN ('near', 'review') THEN d.kind END AS noted,
           u.gone_at IS NOT NULL AS is_gone,
           coalesce(sum(octet_length(p.main_text)) OVER earlier, 0) AS bytes_before
    FROM (
        SELECT *, coalesce(xmin = CAST(CAST(:made_by AS xid8) AS xid), false) AS is_known FROM fingerprints_due
        WHERE crawl_id = :crawl_id AND place < coalesce((
            SELECT place FROM near_queue WHERE crawl_id = :crawl_id ORDER BY crawl_id, place LIMIT 1
        ), 9223372036854775807)
        ORDER BY crawl_id, place, id
        LIMIT :n
        FOR UPDATE SKIP LOCKED
    ) AS due
    CROSS JOIN LATERAL (
        SELECT * FROM fingerprints WHERE crawl_id = due.crawl_id AND id = due.id
        FOR UPDATE SKIP LOCKED
    ) AS f
    LEFT JOIN LATERAL (
        SELECT url, title, main_text FROM pages
        WHERE NOT due.is_known AND host_id = f.host_id AND crawl_id = f.crawl_id AND key = f.key
        OFFSET 0
    ) AS p ON true
    LEFT JOIN LATERAL (
        SELECT kind FROM duplicates
        WHERE NOT due.is_known AND host_id = f.host_id AND crawl_id = f.crawl_id AND key = f.key
        OFFSET 0
    ) AS d ON true
    LEFT JOIN LATERAL (
        SELECT gone_at FROM urls
        WHERE NOT due.is_known AND host_id = f.host_id AND crawl_id = f.crawl_id AND key = f.key
        OFFSET 0
    ) AS u ON true
    WINDOW earlier AS (ORDER BY f.place, f.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
) AS of_due
WHERE bytes_before < :most_bytes
ORDER BY place, key

-- due_beside: others of a crawl to be compared, three numbers of 8 bytes each: all up to a place, and some behind
SELECT coalesce(string_agg(int8send(id) || int8send(place) || int8send(simhash), ''), '') AS prints
FROM (
    (SELECT id, place, simhash FROM fingerprints_due WHERE crawl_id = :crawl_id AND place <= :place)
    UNION ALL
    (SELECT id, place, simhash FROM fingerprints_due WHERE crawl_id = :crawl_id AND place > :place
     ORDER BY crawl_id, place LIMIT :behind)
) AS beside
WHERE NOT id = ANY(CAST(:ids AS bigint[]))

-- claim: hold fingerprints that nobody else holds, to replace them
SELECT id FROM fingerprints WHERE crawl_id = :crawl_id AND id = ANY(CAST(:ids AS bigint[])) FOR UPDATE SKIP LOCKED

-- hold: have fingerprints stay as they are, but those that are to be compared, or that another process has at hand
SELECT f.id, f.place, f.key
FROM fingerprints AS f
LEFT JOIN LATERAL (
    SELECT 1 AS is_one FROM fingerprints_due
    WHERE crawl_id = f.crawl_id AND place = f.place AND id = f.id
    OFFSET 0
) AS due ON true
WHERE f.crawl_id = :crawl_id AND f.id = ANY(CAST(:ids AS bigint[])) AND due.is_one IS NULL
FOR SHARE OF f SKIP LOCKED

-- missed: those of younger fingerprints that were compared without some older one, or are being
-- Whoever claims one sees all older ones that were due, or queued, before: `due` takes none behind a page of the queue.
SELECT DISTINCT r.id
FROM json_to_recordset(CAST(:rows AS json)) AS r (id bigint, place bigint, older_id bigint, older_place bigint)
LEFT JOIN LATERAL (
    SELECT xmax FROM fingerprints_due WHERE crawl_id = :crawl_id AND place = r.place AND id = r.id
    OFFSET 0
) AS younger ON true
LEFT JOIN LATERAL (
    SELECT xmin FROM fingerprints_due WHERE crawl_id = :crawl_id AND place = r.older_place AND id = r.older_id
    OFFSET 0
) AS older ON true
WHERE younger.xmax IS NULL OR (younger.xmax <> '0' AND age(younger.xmax) > age(older.xmin))

-- queue: have pages compared, in crawls that ask for it, in the order of (fetched_at, key): see `rows.place_of`
INSERT INTO near_queue (host_id, crawl_id, key, place)
SELECT r.host_id, r.crawl_id, decode(r.key, 'hex'),
       (CAST(extract(epoch FROM coalesce(p.fetched_at, clock_timestamp())) * 1000000 AS bigint) << 11)
       | (get_byte(decode(r.key || '0000', 'hex'), 0) << 3) | (get_byte(decode(r.key || '0000', 'hex'), 1) >> 5)
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
JOIN crawls AS c ON c.id = r.crawl_id AND c.near_duplicates
LEFT JOIN LATERAL (
    SELECT fetched_at FROM pages
    WHERE host_id = r.host_id AND crawl_id = r.crawl_id AND key = decode(r.key, 'hex')
    OFFSET 0
) AS p ON true

-- queue_gone: have pages that were deleted lose the fingerprints that they have
INSERT INTO near_queue (host_id, crawl_id, key, place)
SELECT f.host_id, f.crawl_id, f.key, CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) << 11
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
CROSS JOIN LATERAL (
    SELECT host_id, crawl_id, key FROM fingerprints
    WHERE host_id = r.host_id AND crawl_id = r.crawl_id AND key BETWEEN decode(r.key, 'hex') AND decode(r.key, 'hex')
    ORDER BY key
    OFFSET 0
) AS f

-- backlog: how far the newest page of the queue is from the oldest: some looks at an index for each crawl
WITH RECURSIVE waiting AS (
    (SELECT crawl_id, id FROM near_queue ORDER BY crawl_id, id LIMIT 1)
    UNION ALL
    SELECT next.crawl_id, next.id
    FROM waiting AS w
    CROSS JOIN LATERAL (
        SELECT crawl_id, id FROM near_queue WHERE crawl_id > w.crawl_id ORDER BY crawl_id, id LIMIT 1
    ) AS next
)
SELECT coalesce(max(last.id) - min(w.id) + 1, 0)
FROM waiting AS w
CROSS JOIN LATERAL (
    SELECT id FROM near_queue WHERE crawl_id = w.crawl_id ORDER BY crawl_id DESC, id DESC LIMIT 1
) AS last

-- done: take pages out of the queue
DELETE FROM near_queue WHERE crawl_id = :crawl_id AND id = ANY(CAST(:ids AS bigint[]))

-- put: store fingerprints of pages that have none, to be compared
WITH made AS (
    INSERT INTO fingerprints (host_id, crawl_id, key, place, simhash)
    SELECT r.host_id, r.crawl_id, decode(r.key, 'hex'), r.place, r.simhash
    FROM json_to_recordset(CAST(:rows AS json)) AS r (
        host_id bigint, crawl_id bigint, key text, place bigint, simhash bigint)
    ORDER BY r.host_id, r.crawl_id, decode(r.key, 'hex')
    ON CONFLICT DO NOTHING
    RETURNING host_id, crawl_id, key, id, place, simhash
), are_due AS (
    INSERT INTO fingerprints_due (crawl_id, place, id, simhash, is_new)
    SELECT crawl_id, place, id, simhash, true FROM made
)
SELECT host_id, crawl_id, key, id FROM made

-- put_due: have fingerprints compared anew
INSERT INTO fingerprints_due (crawl_id, place, id, simhash, is_new)
SELECT crawl_id, place, id, simhash, is_new
FROM json_to_recordset(CAST(:rows AS json))
    AS r (crawl_id bigint, place bigint, id bigint, simhash bigint, is_new boolean)
ON CONFLICT (crawl_id, place, id) DO UPDATE SET is_new = fingerprints_due.is_new OR excluded.is_new

-- drop_due: fingerprints were compared, or are there no more
DELETE FROM fingerprints_due AS d
USING json_to_recordset(CAST(:rows AS json)) AS r (crawl_id bigint, place bigint, id bigint)
WHERE d.crawl_id = r.crawl_id AND d.place = r.place AND d.id = r.id

-- drop: delete fingerprints
DELETE FROM fingerprints WHERE crawl_id = :crawl_id AND id = ANY(CAST(:ids AS bigint[]))

-- put_keys: store the keys of fingerprints
-- In their order: neighbours in the index are written one after another, in seven eighths of the time.
INSERT INTO fingerprint_keys (key, place, fingerprint_id, simhash)
SELECT k.key, r.place, r.id, r.simhash
FROM json_to_recordset(CAST(:rows AS json)) AS r (id bigint, place bigint, simhash bigint, keys bigint[])
CROSS JOIN unnest(r.keys) AS k (key)
ORDER BY k.key, r.place

-- drop_keys: delete the keys of fingerprints that change or go
DELETE FROM fingerprint_keys AS k
USING json_to_recordset(CAST(:rows AS json)) AS r (id bigint, keys bigint[])
WHERE k.key = ANY(r.keys) AND k.fingerprint_id = r.id

-- by_keys: other fingerprints of originals that have one of these keys but for one bit, the first :most of them
-- Three numbers of 8 bytes each, some twice. Five bits in three blocks leave one with one at most.
-- One walk through the index, which stays on a page while the next key is there: a probe for each takes three times as
-- long. The array is no constant for the planner, who would look each key up among the most common ones.
SELECT coalesce(string_agg(int8send(fingerprint_id) || int8send(place) || int8send(simhash), ''), '') AS prints
FROM (
    SELECT fingerprint_id, place, simhash
    FROM fingerprint_keys
    WHERE key = ANY(ARRAY(
        SELECT own.key # probe.turned
        FROM unnest(CAST(:keys AS bigint[]), CAST(:blocks AS integer[])) AS own (key, block)
        JOIN unnest(CAST(:turned_blocks AS integer[]), CAST(:turned AS bigint[])) AS probe (block, turned) USING (block)
    ))
      AND NOT fingerprint_id = ANY(CAST(:ids AS bigint[]))
    ORDER BY key, place
    LIMIT :most
) AS found

-- by_each_key: as by_keys, of each key the :most oldest: a probe for each
SELECT coalesce(string_agg(int8send(n.fingerprint_id) || int8send(n.place) || int8send(n.simhash), ''), '') AS prints
FROM (
    SELECT DISTINCT own.key # probe.turned AS key
    FROM unnest(CAST(:keys AS bigint[]), CAST(:blocks AS integer[])) AS own (key, block)
    JOIN unnest(CAST(:turned_blocks AS integer[]), CAST(:turned AS bigint[])) AS probe (block, turned) USING (block)
) AS asked
CROSS JOIN LATERAL (
    SELECT k.fingerprint_id, k.place, k.simhash FROM fingerprint_keys AS k
    WHERE k.key = asked.key AND NOT k.fingerprint_id = ANY(CAST(:ids AS bigint[]))
    ORDER BY k.place
    LIMIT :most
) AS n

-- of_hosts: the fingerprints of hosts, three numbers of 8 bytes each
SELECT r.host_id, r.crawl_id, found.prints
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint)
CROSS JOIN LATERAL (
    SELECT string_agg(int8send(n.id) || int8send(n.place) || int8send(n.simhash), '') AS prints
    FROM (
        SELECT f.id, f.place, f.simhash FROM fingerprints AS f
        WHERE f.host_id = r.host_id AND f.crawl_id = r.crawl_id
        LIMIT :within
    ) AS n
) AS found
WHERE found.prints IS NOT NULL

-- originals: the pages of fingerprints that can be an original: there, and no duplicate themselves
-- LATERAL makes each a probe of every index: hashing all pages of a crawl took longer than all else of a comparison.
SELECT f.id, f.host_id, f.key, p.url, p.title, p.start
FROM fingerprints AS f
CROSS JOIN LATERAL (
    SELECT g.url, g.title, left(g.main_text, :start) AS start FROM pages AS g
    WHERE g.host_id = f.host_id AND g.crawl_id = f.crawl_id AND g.key = f.key AND g.main_text IS NOT NULL
    OFFSET 0
) AS p
LEFT JOIN LATERAL (
    SELECT 1 AS is_one FROM duplicates AS d
    WHERE d.host_id = f.host_id AND d.crawl_id = f.crawl_id AND d.key = f.key AND d.kind <> 'review'
    OFFSET 0
) AS repeats ON true
LEFT JOIN LATERAL (
    SELECT 1 AS is_one FROM urls AS u
    WHERE u.host_id = f.host_id AND u.crawl_id = f.crawl_id AND u.key = f.key AND u.gone_at IS NOT NULL
    OFFSET 0
) AS gone ON true
WHERE f.crawl_id = :crawl_id AND f.id = ANY(CAST(:ids AS bigint[]))
  AND repeats.is_one IS NULL AND gone.is_one IS NULL

-- texts: the main texts of fingerprints
SELECT f.id, p.main_text
FROM fingerprints AS f
JOIN pages AS p ON p.host_id = f.host_id AND p.crawl_id = f.crawl_id AND p.key = f.key
WHERE f.crawl_id = :crawl_id AND f.id = ANY(CAST(:ids AS bigint[])) AND p.main_text IS NOT NULL

-- note: note pages that are like another, unless a settle has found the very same meanwhile
INSERT INTO duplicates (host_id, crawl_id, key, url, kind, of_url, of_host_id, of_key, bits)
SELECT r.host_id, r.crawl_id, decode(r.key, 'hex'), r.url, r.kind, r.of_url, r.of_host_id,
       decode(r.of_key, 'hex'), r.bits
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, key text, url text, kind text, of_url text, of_host_id bigint,
    of_key text, bits smallint)
ON CONFLICT (host_id, crawl_id, key) DO UPDATE
SET kind = excluded.kind, of_url = excluded.of_url, of_host_id = excluded.of_host_id, of_key = excluded.of_key,
    bits = excluded.bits, found_at = clock_timestamp()
WHERE duplicates.kind IN ('near', 'review')

-- forget: delete the notes of pages that are like no other any more
DELETE FROM duplicates AS d
USING json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
WHERE d.host_id = r.host_id AND d.crawl_id = r.crawl_id AND d.key = decode(r.key, 'hex')
  AND d.kind IN ('near', 'review')

-- queue_likes: queue the pages that were noted to be like these, which have changed
INSERT INTO near_queue (host_id, crawl_id, key, place)
SELECT d.host_id, d.crawl_id, d.key, CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) << 11
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
JOIN duplicates AS d ON d.of_host_id = r.host_id AND d.crawl_id = r.crawl_id AND d.of_key = decode(r.key, 'hex')
WHERE d.kind IN ('near', 'review')

-- queue_prints: queue the pages of fingerprints
INSERT INTO near_queue (host_id, crawl_id, key, place)
SELECT host_id, crawl_id, key, CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) << 11
FROM fingerprints WHERE crawl_id = :crawl_id AND id = ANY(CAST(:ids AS bigint[]))

-- queued_links: links of pages of these hosts that wait for their first fetch, and the lane that they are in
-- A host's queue is read once, however many of its pages are asked about: it may hold 100,000 URLs, and the host is
-- locked.
WITH r AS MATERIALIZED (
    SELECT host_id, crawl_id, url
    FROM json_to_recordset(CAST(:rows AS json)) AS given (host_id bigint, crawl_id bigint, url text)
)
SELECT waiting.host_id, waiting.crawl_id, waiting.key, waiting.url, waiting.lane
FROM (SELECT DISTINCT host_id, crawl_id FROM r) AS place
CROSS JOIN LATERAL (
    SELECT u.host_id, u.crawl_id, u.key, u.url, u.lane, u.found_on
    FROM urls AS u
    WHERE u.host_id = place.host_id AND u.crawl_id = place.crawl_id AND u.state = 'queued'
      AND u.fetched_at IS NULL AND u.kind = 'page' AND u.cause IS NULL
    OFFSET 0
) AS waiting
WHERE (waiting.host_id, waiting.crawl_id, waiting.found_on) IN (SELECT host_id, crawl_id, url FROM r)

-- set_lane: move queued URLs to another lane
UPDATE urls AS u SET lane = r.lane
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text, lane smallint)
WHERE u.host_id = r.host_id AND u.crawl_id = r.crawl_id AND u.key = decode(r.key, 'hex')
  AND nullif(u.state, '') = 'queued'

-- orphans: duplicates whose original is gone, in active crawls
-- Among a random sample of the table's blocks: all of a small one. It is asked every five seconds: joined with all of
-- the frontier it would keep Postgres busy. LATERAL looks each original up.
SELECT d.host_id, d.crawl_id, d.key, d.url, d.kind, d.of_url
FROM duplicates AS d TABLESAMPLE SYSTEM (
    CAST(100 * least(1, :blocks * CAST(current_setting('block_size') AS double precision)
        / greatest(pg_relation_size('duplicates'), 1)) AS real))
JOIN crawls AS c ON c.id = d.crawl_id AND c.state = 'active'
LEFT JOIN LATERAL (
    SELECT u.state, u.gone_at FROM urls AS u
    WHERE u.host_id = d.of_host_id AND u.crawl_id = d.crawl_id AND u.key = d.of_key
    OFFSET 0
) AS o ON true
WHERE d.of_key IS NOT NULL AND (o.gone_at IS NOT NULL OR o.state IS NULL)
LIMIT :n

-- part: delete the notes of duplicates whose original is gone, and queue them to find another
WITH parted AS (
    DELETE FROM duplicates AS d
    USING json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
    WHERE d.host_id = r.host_id AND d.crawl_id = r.crawl_id AND d.key = decode(r.key, 'hex')
    RETURNING d.host_id, d.crawl_id, d.key
)
INSERT INTO near_queue (host_id, crawl_id, key, place)
SELECT host_id, crawl_id, key, CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) << 11 FROM parted

-- requeue: queue aliases of pages that are gone; what they lead to is theirs again
UPDATE urls AS u SET state = 'queued', due_at = NULL, alias_of = NULL, attempts = 0, retrying = false
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text, of_url text)
WHERE u.host_id = r.host_id AND u.crawl_id = r.crawl_id AND u.key = decode(r.key, 'hex')
  AND nullif(u.state, '') = 'alias'
  AND u.alias_of = r.of_url
RETURNING u.host_id

-- listed: duplicates of a crawl, the latest first
SELECT d.kind, d.bits, d.url, d.of_url, d.found_at
FROM duplicates AS d
WHERE d.crawl_id = :crawl_id AND (CAST(:kind AS text) IS NULL OR d.kind = :kind)
ORDER BY d.found_at DESC, d.url
LIMIT :n

-- drop_queued: take a crawl's pages out of the queue
WITH not_due AS (DELETE FROM fingerprints_due WHERE crawl_id = :crawl_id)
DELETE FROM near_queue WHERE crawl_id = :crawl_id

-- drop_crawl: delete n keys of a crawl's fingerprints: all from :first up to :beyond
DELETE FROM fingerprint_keys
WHERE ctid = ANY(ARRAY(SELECT ctid FROM fingerprint_keys WHERE key >= :first AND key < :beyond LIMIT :n))

-- waiting: how many pages of a crawl are to be compared, up to a number
SELECT count(*) AS n
FROM (
    (SELECT FROM near_queue WHERE crawl_id = :crawl_id LIMIT :most)
    UNION ALL
    (SELECT FROM fingerprints_due WHERE crawl_id = :crawl_id LIMIT :most)
    LIMIT :most
) AS q

-- hosts_deleted: delete the rows of a crawl that is deleted, of some hosts
WITH gone_duplicates AS (
    DELETE FROM duplicates WHERE crawl_id = :crawl_id AND host_id > :after AND host_id <= :until
)
DELETE FROM fingerprints WHERE crawl_id = :crawl_id AND host_id > :after AND host_id <= :until
