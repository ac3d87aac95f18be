-- brought: what the pages of a host brought, the latest first; of the archive, where texts are not kept
WITH kept AS MATERIALIZED (
    SELECT crawl_id, url, body_sha256, text_sha256 FROM pages WHERE host_id = :host_id ORDER BY fetched_at DESC LIMIT :n
)
SELECT crawl_id, url, body_sha256 AS body, nullif(text_sha256, sha256('')) AS text FROM kept
UNION ALL
(SELECT DISTINCT ON (crawl_id, key) crawl_id, url, body_sha256, nullif(text_sha256, sha256(''))
 FROM captures
 WHERE host_id = :host_id AND kind = 'page' AND status = 200 AND NOT EXISTS (SELECT FROM kept)
 ORDER BY crawl_id, key, id DESC
 LIMIT :n)

-- named: URLs of a host, and the pages with a query that were the first to name them
SELECT crawl_id, found_on, array_agg(url) AS urls
FROM urls
WHERE host_id = :host_id AND position('?' IN found_on) > 0
GROUP BY crawl_id, found_on
LIMIT :n

-- of_hosts: the parameters that are dropped, by host
SELECT name, dropped_parameters FROM hosts WHERE dropped_parameters <> '{}'

-- set: the parameters that a host's URLs lose
UPDATE hosts SET dropped_parameters = CAST(:names AS text[]) WHERE id = :host_id

-- renew: make workers read again what they know of crawls
UPDATE crawls SET revision = revision + 1 WHERE id IN (SELECT id FROM crawls ORDER BY id FOR NO KEY UPDATE)

-- with_query: URLs of a host that have a query, a lot of them
SELECT crawl_id, key, url, linked, state, fetched_at IS NOT NULL AS is_fetched
FROM urls
WHERE host_id = :host_id AND (crawl_id, key) > (:after_crawl, :after_key) AND position('?' IN url) > 0
ORDER BY crawl_id, key
LIMIT :n

-- standing: those of these keys that have a row
SELECT u.crawl_id, u.key, u.url, u.linked, u.state, u.fetched_at IS NOT NULL AS is_fetched
FROM json_to_recordset(CAST(:rows AS json)) AS r (crawl_id bigint, key text)
JOIN urls AS u ON u.host_id = :host_id AND u.crawl_id = r.crawl_id AND u.key = decode(r.key, 'hex')

-- forget: delete URLs that are another's, with what handlers made of them
WITH r AS MATERIALIZED (
    SELECT crawl_id, decode(key, 'hex') AS key
    FROM json_to_recordset(CAST(:rows AS json)) AS given (crawl_id bigint, key text)
), gone_extractions AS (
    DELETE FROM extractions AS e USING r WHERE e.host_id = :host_id AND e.crawl_id = r.crawl_id AND e.key = r.key
), gone_items AS (
    DELETE FROM items AS i USING r WHERE i.host_id = :host_id AND i.crawl_id = r.crawl_id AND i.key = r.key
)
DELETE FROM urls AS u USING r WHERE u.host_id = :host_id AND u.crawl_id = r.crawl_id AND u.key = r.key

-- move: give URLs their new form, with their page and what handlers made of it; the words of a page are indexed anew
WITH r AS MATERIALIZED (
    SELECT crawl_id, decode(key, 'hex') AS key, decode(new_key, 'hex') AS new_key, url, linked
    FROM json_to_recordset(CAST(:rows AS json)) AS given (
        crawl_id bigint, key text, new_key text, url text, linked text)
), moved_pages AS (
    UPDATE pages AS p SET key = r.new_key, url = r.url
    FROM r WHERE p.host_id = :host_id AND p.crawl_id = r.crawl_id AND p.key = r.key
    RETURNING p.crawl_id, p.key
), indexed AS (
    INSERT INTO search_queue (host_id, crawl_id, key)
    SELECT :host_id, m.crawl_id, m.key FROM moved_pages AS m JOIN crawls AS c ON c.id = m.crawl_id AND c.search
), moved_extractions AS (
    UPDATE extractions AS e SET key = r.new_key, url = r.url
    FROM r WHERE e.host_id = :host_id AND e.crawl_id = r.crawl_id AND e.key = r.key
), moved_items AS (
    UPDATE items AS i SET key = r.new_key, url = r.url
    FROM r WHERE i.host_id = :host_id AND i.crawl_id = r.crawl_id AND i.key = r.key
)
UPDATE urls AS u SET key = r.new_key, url = r.url, linked = r.linked
FROM r WHERE u.host_id = :host_id AND u.crawl_id = r.crawl_id AND u.key = r.key

-- move_captures: the archive's answers to the old forms are those of the new one; their URLs stay as they were sent
UPDATE captures AS c SET key = decode(r.new_key, 'hex')
FROM json_to_recordset(CAST(:rows AS json)) AS r (crawl_id bigint, key text, new_key text)
WHERE c.host_id = :host_id AND c.crawl_id = r.crawl_id AND c.key = decode(r.key, 'hex')

-- forget_copies: delete the notes that the old forms were copies
DELETE FROM duplicates AS d USING json_to_recordset(CAST(:rows AS json)) AS r (crawl_id bigint, key text)
WHERE d.host_id = :host_id AND d.crawl_id = r.crawl_id AND d.key = decode(r.key, 'hex')

-- move_originals: what was a copy of an old form is one of the new; of itself it is none
WITH r AS MATERIALIZED (
    SELECT crawl_id, decode(key, 'hex') AS key, decode(new_key, 'hex') AS new_key, url
    FROM json_to_recordset(CAST(:rows AS json)) AS given (crawl_id bigint, key text, new_key text, url text)
), itself AS (
    DELETE FROM duplicates AS d USING r
    WHERE d.of_host_id = :host_id AND d.crawl_id = r.crawl_id AND d.of_key = r.key
      AND d.host_id = :host_id AND d.key = r.new_key
)
UPDATE duplicates AS d SET of_key = r.new_key, of_url = r.url FROM r
WHERE d.of_host_id = :host_id AND d.crawl_id = r.crawl_id AND d.of_key = r.key
  AND NOT (d.host_id = :host_id AND d.key = r.new_key)
