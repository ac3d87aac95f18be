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
