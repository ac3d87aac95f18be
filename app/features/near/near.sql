-- fresh_plans: plan each query of this transaction anew: one planned while the tables were small would be kept for good
SELECT set_config('plan_cache_mode', 'force_custom_plan', true) AS plans,
       set_config('enable_seqscan', 'off', true) AS by_index

-- crawls: crawls with pages in the queue, the one whose page has waited longest first: two looks at an index each
WITH RECURSIVE waiting AS (
    (SELECT crawl_id, id FROM near_queue ORDER BY crawl_id, id LIMIT 1)
    UNION ALL
    SELECT next.crawl_id, next.id
    FROM waiting AS w
    CROSS JOIN LATERAL (
        SELECT crawl_id, id FROM near_queue WHERE crawl_id > w.crawl_id ORDER BY crawl_id, id LIMIT 1
    ) AS next
)
SELECT crawl_id FROM waiting ORDER BY id

-- lot: a crawl's oldest pages of the queue, with what is known of them; their texts have no more than :most_bytes
-- main_text is NULL where the page is not there any more, may not be kept, is an exact copy, or its crawl compares no
-- pages.
-- LATERAL makes each page a probe of every index: in a new database, without statistics, tables would be read whole.
-- The order makes it fingerprints' key, and not the index of the host, through which all of the host's are read.
SELECT id, host_id, crawl_id, key, url, title, fingerprint_id, simhash, main_text, noted, is_gone
FROM (
    SELECT q.id, q.host_id, q.crawl_id, q.key, p.url, p.title, f.id AS fingerprint_id, f.simhash,
           CASE WHEN c.near_duplicates AND NOT coalesce(d.kind IN ('body', 'text'), false)
                THEN p.main_text END AS main_text,
           CASE WHEN d.kind IN ('near', 'review') THEN d.kind END AS noted,
           coalesce(u.state = 'gone', false) AS is_gone,
           coalesce(sum(octet_length(p.main_text)) OVER earlier, 0) AS bytes_before
    FROM (SELECT * FROM near_queue WHERE crawl_id = :crawl_id ORDER BY crawl_id, id LIMIT :n) AS q
    LEFT JOIN crawls AS c ON c.id = q.crawl_id
    LEFT JOIN LATERAL (
        SELECT url, title, main_text FROM pages
        WHERE host_id = q.host_id AND crawl_id = q.crawl_id AND key = q.key
        OFFSET 0
    ) AS p ON true
    LEFT JOIN LATERAL (
        SELECT id, simhash FROM fingerprints
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
        SELECT state FROM urls
        WHERE host_id = q.host_id AND crawl_id = q.crawl_id AND key = q.key
        OFFSET 0
    ) AS u ON true
    WINDOW earlier AS (ORDER BY q.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
) AS of_queue
WHERE bytes_before < :most_bytes
ORDER BY id

-- queue: have pages compared, in crawls that ask for it
INSERT INTO near_queue (host_id, crawl_id, key)
SELECT r.host_id, r.crawl_id, decode(r.key, 'hex')
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
JOIN crawls AS c ON c.id = r.crawl_id AND c.near_duplicates

-- queue_gone: have pages that were deleted lose the fingerprints that they have
INSERT INTO near_queue (host_id, crawl_id, key)
SELECT f.host_id, f.crawl_id, f.key
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

-- put: store fingerprints, the oldest page first
INSERT INTO fingerprints (host_id, crawl_id, key, simhash)
SELECT r.host_id, r.crawl_id, decode(r.key, 'hex'), r.simhash
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text, simhash bigint, n integer)
ORDER BY r.n
RETURNING host_id, crawl_id, key, id

-- drop: delete fingerprints
DELETE FROM fingerprints WHERE crawl_id = :crawl_id AND id = ANY(CAST(:ids AS bigint[]))

-- keyed: up to which fingerprint of a crawl keys are written
SELECT crawl_id, up_to, compared_by FROM fingerprints_keyed WHERE crawl_id = :crawl_id

-- compared: store up to which fingerprint keys are written, and that this transaction compared pages
INSERT INTO fingerprints_keyed AS k (crawl_id, up_to, compared_by)
VALUES (:crawl_id, :up_to, CAST(CAST(pg_current_xact_id() AS text) AS bigint))
ON CONFLICT (crawl_id) DO UPDATE SET up_to = excluded.up_to, compared_by = excluded.compared_by
RETURNING compared_by

-- held: a crawl's fingerprints behind an id, the oldest first, five numbers of 8 bytes each
-- Nobody looks for a page that repeats another.
SELECT coalesce(string_agg(int8send(f.id) || int8send(f.simhash) || int8send(f.host_id) || int8send(f.crawl_id)
                           || int8send(coalesce(repeats.looked_for, 1)), '' ORDER BY f.id), '') AS prints
FROM fingerprints AS f
LEFT JOIN LATERAL (
    SELECT 0 AS looked_for FROM duplicates AS d
    WHERE d.host_id = f.host_id AND d.crawl_id = f.crawl_id AND d.key = f.key AND d.kind <> 'review'
    OFFSET 0
) AS repeats ON true
WHERE f.crawl_id = :crawl_id AND f.id > :beyond

-- put_keys: store the keys of fingerprints that are there
-- In their order: neighbours in the index are written one after another, in seven eighths of the time.
INSERT INTO fingerprint_keys (key, fingerprint_id, simhash)
SELECT k.key, r.id, r.simhash
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    id bigint, crawl_id bigint, simhash bigint, keys bigint[])
CROSS JOIN LATERAL (SELECT FROM fingerprints WHERE crawl_id = r.crawl_id AND id = r.id OFFSET 0) AS is_there
CROSS JOIN unnest(r.keys) AS k (key)
ORDER BY k.key, r.id

-- drop_keys: delete the keys of fingerprints that change or go
DELETE FROM fingerprint_keys AS k
USING json_to_recordset(CAST(:rows AS json)) AS r (id bigint, keys bigint[])
WHERE k.key = ANY(r.keys) AND k.fingerprint_id = r.id

-- by_key: older fingerprints that differ from each in a few bits at most; of each key the first :most that were written
-- Mirrors have most keys in common, and are found again and again: with the bits above the id in one number, they are
-- counted once, and sorted in less time than two columns.
SELECT r.id, found.place & ((CAST(1 AS bigint) << 56) - 1) AS fingerprint_id, CAST(found.place >> 56 AS integer) AS bits
FROM json_to_recordset(CAST(:rows AS json)) AS r (id bigint, simhash bigint, keys bigint[])
CROSS JOIN LATERAL (
    SELECT DISTINCT alike.place
    FROM unnest(r.keys) AS own (key)
    CROSS JOIN LATERAL (
        SELECT older.place
        FROM (
            SELECT (bit_count(CAST(k.simhash # r.simhash AS bit(64))) << 56) | k.fingerprint_id AS place
            FROM fingerprint_keys AS k
            WHERE k.key = own.key AND k.fingerprint_id < r.id
            OFFSET 0
        ) AS older
        WHERE older.place < (CAST(:bits AS bigint) + 1) << 56
        LIMIT :most
    ) AS alike
    ORDER BY alike.place
    LIMIT :most
) AS found

-- on_host: older fingerprints of its own host that differ from each in some more bits
SELECT r.id, found.id AS fingerprint_id, found.bits
FROM json_to_recordset(CAST(:rows AS json)) AS r (id bigint, host_id bigint, crawl_id bigint, simhash bigint)
CROSS JOIN LATERAL (
    SELECT n.id, CAST(bit_count(CAST(n.simhash # r.simhash AS bit(64))) AS integer) AS bits
    FROM (
        SELECT f.id, f.simhash FROM fingerprints AS f
        WHERE f.host_id = r.host_id AND f.crawl_id = r.crawl_id
        LIMIT :within
    ) AS n
    WHERE n.id < r.id AND bit_count(CAST(n.simhash # r.simhash AS bit(64))) <= :bits
    ORDER BY bits, n.id
    LIMIT :most
) AS found

-- of_hosts: the fingerprints of hosts, the oldest first, five numbers of 8 bytes each; nothing else looks for them
SELECT r.host_id, r.crawl_id, found.prints
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint)
CROSS JOIN LATERAL (
    SELECT string_agg(int8send(n.id) || int8send(n.simhash) || int8send(r.host_id) || int8send(r.crawl_id)
                      || int8send(0), '' ORDER BY n.id) AS prints
    FROM (
        SELECT f.id, f.simhash FROM fingerprints AS f
        WHERE f.host_id = r.host_id AND f.crawl_id = r.crawl_id
        LIMIT :within
    ) AS n
) AS found
WHERE found.prints IS NOT NULL

-- originals: the pages of fingerprints that can be an original: there, and no duplicate themselves
-- LATERAL makes each a probe of every index: hashing all pages of a crawl took longer than all else of a comparison.
-- NULLIF hides the state from urls_due: without statistics all its entries of the crawl were read for each.
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
    WHERE u.host_id = f.host_id AND u.crawl_id = f.crawl_id AND u.key = f.key AND nullif(u.state, '') = 'gone'
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
INSERT INTO near_queue (host_id, crawl_id, key)
SELECT d.host_id, d.crawl_id, d.key
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
JOIN duplicates AS d ON d.of_host_id = r.host_id AND d.crawl_id = r.crawl_id AND d.of_key = decode(r.key, 'hex')
WHERE d.kind IN ('near', 'review')

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
-- Among a random sample of the table's blocks: all of a small one. It is asked every other second: joined with all of
-- the frontier it would keep Postgres busy. LATERAL looks each original up.
SELECT d.host_id, d.crawl_id, d.key, d.url, d.kind, d.of_url
FROM duplicates AS d TABLESAMPLE SYSTEM (
    CAST(100 * least(1, :blocks * CAST(current_setting('block_size') AS double precision)
        / greatest(pg_relation_size('duplicates'), 1)) AS real))
JOIN crawls AS c ON c.id = d.crawl_id AND c.state = 'active'
LEFT JOIN LATERAL (
    SELECT u.state FROM urls AS u
    WHERE u.host_id = d.of_host_id AND u.crawl_id = d.crawl_id AND u.key = d.of_key
    OFFSET 0
) AS o ON true
WHERE d.of_key IS NOT NULL AND (o.state = 'gone' OR o.state IS NULL)
LIMIT :n

-- part: delete the notes of duplicates whose original is gone, and queue them to find another
WITH parted AS (
    DELETE FROM duplicates AS d
    USING json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
    WHERE d.host_id = r.host_id AND d.crawl_id = r.crawl_id AND d.key = decode(r.key, 'hex')
    RETURNING d.host_id, d.crawl_id, d.key
)
INSERT INTO near_queue (host_id, crawl_id, key) SELECT host_id, crawl_id, key FROM parted

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

-- drop_keyed: forget up to which fingerprint of a crawl keys were written
DELETE FROM fingerprints_keyed WHERE crawl_id = :crawl_id

-- drop_queued: take a crawl's pages out of the queue
DELETE FROM near_queue WHERE crawl_id = :crawl_id

-- drop_crawl: delete n keys of a crawl's fingerprints: all from :first up to :beyond
DELETE FROM fingerprint_keys
WHERE ctid = ANY(ARRAY(SELECT ctid FROM fingerprint_keys WHERE key >= :first AND key < :beyond LIMIT :n))

-- waiting: how many pages of a crawl are in the queue, up to a number
SELECT count(*) AS n FROM (SELECT FROM near_queue WHERE crawl_id = :crawl_id LIMIT :most) AS q
