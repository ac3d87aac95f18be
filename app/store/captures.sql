-- add: note captures; a revisit names the capture that holds its body
INSERT INTO captures (host_id, crawl_id, key, url, fetched_at, kind, status, content_type, charset, body_sha256, text_sha256,
                      payload_sha256, body_bytes, truncated, segment_id, at_offset, length, refers_to)
SELECT r.host_id, r.crawl_id, decode(r.key, 'hex'), r.url, r.fetched_at, r.kind, r.status, r.content_type, r.charset,
       decode(r.body_sha256, 'hex'), decode(r.text_sha256, 'hex'),
       decode(r.payload_sha256, 'hex'), r.body_bytes, r.truncated, r.segment_id, r.at_offset,
       r.length, r.refers_to
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, key text, url text, fetched_at timestamptz, kind text, status smallint,
    content_type text, charset text, body_sha256 text, text_sha256 text, payload_sha256 text, body_bytes bigint, truncated boolean,
    segment_id bigint, at_offset bigint, length bigint, refers_to bigint)
RETURNING id, segment_id, at_offset

-- originals: the capture with the last body of each URL
SELECT r.host_id, r.crawl_id, r.key, o.*
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
CROSS JOIN LATERAL (
    SELECT c.id, c.url, c.fetched_at, c.content_type, c.charset, c.body_sha256, c.text_sha256, c.body_bytes, c.truncated,
           coalesce(c.payload_sha256, c.body_sha256) AS payload_sha256
    FROM captures AS c
    WHERE c.host_id = r.host_id AND c.crawl_id = r.crawl_id AND c.key = decode(r.key, 'hex') AND c.refers_to IS NULL
    ORDER BY c.id DESC
    LIMIT 1
) AS o

-- of_url: the captures of a URL, the latest first
SELECT * FROM captures
WHERE host_id = :host_id AND crawl_id = :crawl_id AND key = :key
ORDER BY id DESC
LIMIT :n

-- by_id: one capture
SELECT * FROM captures WHERE crawl_id = :crawl_id AND id = :id

-- after: the captures of a crawl above an id, in the order of their ids
SELECT * FROM captures
WHERE crawl_id = :crawl_id AND id > :after AND (CAST(:kind AS text) IS NULL OR kind = :kind)
ORDER BY id
LIMIT :n

-- of_segment: the captures of a segment from an offset on, in its order
SELECT * FROM captures WHERE segment_id = :segment_id AND at_offset >= :at ORDER BY at_offset LIMIT :n

-- dangling: revisits of a crawl whose body no row has any more
SELECT c.*
FROM captures AS c
WHERE c.crawl_id = :crawl_id AND c.refers_to IS NOT NULL
  AND NOT EXISTS (SELECT FROM captures AS o WHERE o.crawl_id = c.crawl_id AND o.id = c.refers_to)
ORDER BY c.id
LIMIT :n

-- live: captures of segments that are to go, which must stay: the last ones of pages, and what revisits refer to that stay
WITH last AS MATERIALIZED (
    SELECT c.id
    FROM captures AS c
    WHERE c.segment_id = ANY(CAST(:segment_ids AS bigint[])) AND c.crawl_id = :crawl_id AND c.kind = 'page'
      AND EXISTS (SELECT FROM pages AS p WHERE p.host_id = c.host_id AND p.crawl_id = c.crawl_id AND p.key = c.key)
      AND NOT EXISTS (SELECT FROM captures AS n
                      WHERE n.host_id = c.host_id AND n.crawl_id = c.crawl_id AND n.key = c.key AND n.kind = 'page' AND n.id > c.id)
)
SELECT c.*
FROM captures AS c
WHERE c.segment_id = ANY(CAST(:segment_ids AS bigint[])) AND c.crawl_id = :crawl_id
  AND (c.id IN (SELECT id FROM last)
       OR EXISTS (SELECT FROM captures AS r
                  WHERE r.crawl_id = c.crawl_id AND r.refers_to = c.id
                    AND (r.segment_id <> ALL(CAST(:segment_ids AS bigint[])) OR r.id IN (SELECT id FROM last))))
ORDER BY c.id

-- moved: captures whose records were copied
UPDATE captures AS c SET segment_id = r.segment_id, at_offset = r.at_offset
FROM json_to_recordset(CAST(:rows AS json)) AS r (crawl_id bigint, id bigint, segment_id bigint, at_offset bigint)
WHERE c.crawl_id = r.crawl_id AND c.id = r.id

-- drop: delete the captures of segments
DELETE FROM captures WHERE segment_id = ANY(CAST(:segment_ids AS bigint[]))

-- drop_crawl: delete n captures of a crawl
DELETE FROM captures
WHERE crawl_id = :crawl_id AND id = ANY(ARRAY(SELECT id FROM captures WHERE crawl_id = :crawl_id LIMIT :n))
