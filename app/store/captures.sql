-- add: note captures; a revisit names the capture that holds its body
INSERT INTO captures (host_id, crawl_id, key, url, fetched_at, kind, status, content_type, charset, body_sha256,
                      text_sha256, payload_sha256, body_bytes, truncated, segment_id, at_offset, length, refers_to,
                      record_id, rendered_from, to_render)
SELECT r.host_id, r.crawl_id, decode(r.key, 'hex'), r.url, r.fetched_at, r.kind, r.status, r.content_type, r.charset,
       decode(r.body_sha256, 'hex'), decode(r.text_sha256, 'hex'),
       decode(r.payload_sha256, 'hex'), r.body_bytes, r.truncated, r.segment_id, r.at_offset,
       r.length, r.refers_to, r.record_id, r.rendered_from, coalesce(r.to_render, false)
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, key text, url text, fetched_at timestamptz, kind text, status smallint,
    content_type text, charset text, body_sha256 text, text_sha256 text, payload_sha256 text, body_bytes bigint,
    truncated boolean, segment_id bigint, at_offset bigint, length bigint, refers_to bigint, record_id uuid,
    rendered_from bigint, to_render boolean)
RETURNING id, segment_id, at_offset

-- originals: the capture with the last document of each URL, which may be another URL's; where there is none, with the
-- last body of an error or a redirect
SELECT r.host_id, r.crawl_id, r.key, b.id, b.url, b.fetched_at, o.kind, o.status, o.content_type, o.charset,
       o.body_sha256, o.text_sha256, o.body_bytes, o.truncated,
       coalesce(b.payload_sha256, b.body_sha256) AS payload_sha256
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
CROSS JOIN LATERAL (
    (SELECT 0 AS rank, c.*
     FROM captures AS c
     WHERE c.host_id = r.host_id AND c.crawl_id = r.crawl_id AND c.key = decode(r.key, 'hex')
       AND c.kind IN ('page', 'sitemap', 'robots') AND c.status BETWEEN 200 AND 299
     ORDER BY c.id DESC
     LIMIT 1)
    UNION ALL
    (SELECT 1, c.*
     FROM captures AS c
     WHERE c.host_id = r.host_id AND c.crawl_id = r.crawl_id AND c.key = decode(r.key, 'hex')
       AND c.refers_to IS NULL AND c.kind <> 'rendered'
     ORDER BY c.id DESC
     LIMIT 1)
    ORDER BY rank
    LIMIT 1
) AS o
JOIN captures AS b ON b.crawl_id = o.crawl_id AND b.id = coalesce(o.refers_to, o.id)

-- of_url: the captures of a URL, the latest first; none of a page that its owner has withdrawn
SELECT * FROM captures
WHERE host_id = :host_id AND crawl_id = :crawl_id AND key = :key
  AND NOT EXISTS (SELECT FROM withdrawals WHERE host_id = :host_id AND crawl_id = :crawl_id AND key = :key)
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

-- dangling: revisits of a crawl whose body no row has any more, and rendered documents whose answer none has
SELECT c.*
FROM captures AS c
WHERE c.crawl_id = :crawl_id AND c.refers_to IS NOT NULL
  AND NOT EXISTS (SELECT FROM captures AS o WHERE o.crawl_id = c.crawl_id AND o.id = c.refers_to)
UNION ALL
SELECT c.*
FROM captures AS c
WHERE c.crawl_id = :crawl_id AND c.rendered_from IS NOT NULL
  AND NOT EXISTS (SELECT FROM captures AS o WHERE o.crawl_id = c.crawl_id AND o.id = c.rendered_from)
ORDER BY id
LIMIT :n

-- rendered: the capture of the answer that a browser opened, and the body of the rendered document that stands
-- It stands until an answer comes that no browser is to open.
SELECT s.id, s.record_id, s.url, s.status, (
    SELECT c.body_sha256
    FROM (SELECT * FROM captures AS made
          WHERE made.host_id = s.host_id AND made.crawl_id = s.crawl_id AND made.key = s.key AND made.kind = 'rendered'
          ORDER BY made.id DESC LIMIT 1) AS c
    WHERE NOT EXISTS (SELECT FROM captures AS n
                      WHERE n.host_id = c.host_id AND n.crawl_id = c.crawl_id AND n.key = c.key AND n.id > c.id
                        AND n.kind = 'page' AND n.status <> 304 AND NOT n.to_render)) AS standing
FROM captures AS s
WHERE s.host_id = :host_id AND s.crawl_id = :crawl_id AND s.key = :key AND s.kind = 'page' AND s.status <> 304
  AND s.body_sha256 = :body_sha256
ORDER BY s.id DESC
LIMIT 1

-- sources: the records that the rendered documents of a segment were made from, by their captures
SELECT c.id, s.record_id
FROM captures AS c
JOIN captures AS s ON s.crawl_id = c.crawl_id AND s.id = c.rendered_from
WHERE c.segment_id = :segment_id AND c.rendered_from IS NOT NULL

-- live: captures of segments that are to go, which must stay: documents of pages, and what captures that stay refer to
-- Of a page that is its last answer, and the rendered document that stands; that names its answer, and a revisit its
-- body.
WITH lot AS MATERIALIZED (
    SELECT c.* FROM captures AS c WHERE c.segment_id = ANY(CAST(:segment_ids AS bigint[])) AND c.crawl_id = :crawl_id
), last AS MATERIALIZED (
    SELECT c.id, c.rendered_from
    FROM lot AS c
    WHERE c.kind IN ('page', 'rendered')
      AND EXISTS (SELECT FROM pages AS p WHERE p.host_id = c.host_id AND p.crawl_id = c.crawl_id AND p.key = c.key)
      AND NOT EXISTS (SELECT FROM captures AS n
                      WHERE n.host_id = c.host_id AND n.crawl_id = c.crawl_id AND n.key = c.key AND n.id > c.id
                        AND (n.kind = c.kind
                             OR c.kind = 'rendered' AND n.kind = 'page' AND n.status <> 304 AND NOT n.to_render))
), opened AS MATERIALIZED (
    SELECT id FROM last
    UNION
    SELECT c.id
    FROM lot AS c
    WHERE c.id IN (SELECT rendered_from FROM last)
       OR EXISTS (SELECT FROM captures AS r
                  WHERE r.crawl_id = c.crawl_id AND r.rendered_from = c.id
                    AND r.segment_id <> ALL(CAST(:segment_ids AS bigint[])))
)
SELECT c.*
FROM lot AS c
WHERE c.id IN (SELECT id FROM opened)
   OR EXISTS (SELECT FROM captures AS r
              WHERE r.crawl_id = c.crawl_id AND r.refers_to = c.id
                AND (r.segment_id <> ALL(CAST(:segment_ids AS bigint[])) OR r.id IN (SELECT id FROM opened)))
ORDER BY c.id

-- not_withdrawn: captures of segments that are to go, but for those of pages that their owners withdrew
-- A body that a capture of another page refers to stays.
SELECT c.*
FROM captures AS c
WHERE c.segment_id = ANY(CAST(:segment_ids AS bigint[])) AND c.crawl_id = :crawl_id
  AND (NOT EXISTS (SELECT FROM withdrawals AS w
                   WHERE w.host_id = c.host_id AND w.crawl_id = c.crawl_id AND w.key = c.key)
       OR EXISTS (SELECT FROM captures AS r
                  WHERE r.crawl_id = c.crawl_id AND r.refers_to = c.id
                    AND NOT EXISTS (SELECT FROM withdrawals AS w
                                    WHERE w.host_id = r.host_id AND w.crawl_id = r.crawl_id AND w.key = r.key)))
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
