-- drop: the items of some pages, which others replace
DELETE FROM items AS i
USING json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text, handler text)
WHERE i.host_id = r.host_id AND i.crawl_id = r.crawl_id AND i.key = decode(r.key, 'hex') AND i.handler = r.handler

-- add: items of pages whose earlier ones are gone
INSERT INTO items (host_id, crawl_id, key, handler, n, url, capture_id, version, item)
SELECT r.host_id, r.crawl_id, decode(r.key, 'hex'), r.handler, r.n, r.url, r.capture_id, r.version, r.item
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, key text, handler text, n integer, url text, capture_id bigint, version integer,
    item jsonb)

-- outdate: items of pages whose handler failed on a later capture
UPDATE items AS i
SET stale = true
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text, handler text)
WHERE i.host_id = r.host_id AND i.crawl_id = r.crawl_id AND i.key = decode(r.key, 'hex')
  AND i.handler = r.handler AND NOT i.stale

-- supersede: n items of a handler's earlier versions become stale
UPDATE items
SET stale = true
WHERE ctid = ANY(ARRAY(SELECT ctid FROM items WHERE handler = :handler AND version < :version AND NOT stale LIMIT :n))

-- status: items of each handler and version, by crawl or of all
SELECT handler, version, count(*) AS items, count(*) FILTER (WHERE stale) AS stale
FROM items
WHERE CAST(:crawl_id AS bigint) IS NULL OR crawl_id = :crawl_id
GROUP BY handler, version
ORDER BY handler, version
