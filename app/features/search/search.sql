-- switched: crawls whose pages are yet to be queued, or whose words are yet to be deleted
SELECT id AS crawl_id, search, search_from FROM crawls WHERE search_from IS NOT NULL ORDER BY id

-- next_hosts: the last of the next hosts, and whether it is the last of all
SELECT coalesce(max(id), :after) AS until, count(*) < :n AS is_last
FROM (SELECT id FROM hosts WHERE id > :after ORDER BY id LIMIT :n) AS h

-- await_settles: wait for settles that may have begun before the switch; the locks end with this transaction
SELECT count(*)
FROM (SELECT id FROM hosts WHERE id > :after AND id <= :until ORDER BY id FOR SHARE) AS h

-- queue_hosts: queue the pages of some hosts that a crawl has
INSERT INTO search_queue (host_id, crawl_id, key)
SELECT host_id, crawl_id, key FROM pages
WHERE crawl_id = :crawl_id AND host_id > :after AND host_id <= :until AND main_text IS NOT NULL

-- forget_hosts: delete the words of a crawl that is not searched any more
DELETE FROM page_search WHERE crawl_id = :crawl_id AND host_id > :after AND host_id <= :until

-- switched_until: note how far a switch has been carried out; nothing where it was switched again
UPDATE crawls SET search_from = CASE WHEN :is_last THEN NULL ELSE CAST(:until AS bigint) END
WHERE id = :crawl_id AND search_from = :after AND search = :search

-- waiting: how many pages of a crawl are in the queue, up to a number
SELECT count(*) AS n FROM (SELECT FROM search_queue WHERE crawl_id = :crawl_id LIMIT :most) AS q

-- backlog: how far the newest page of the queue is from the oldest: two looks at its index
SELECT coalesce(max(id) - min(id) + 1, 0) FROM search_queue

-- configs: the text search configurations of this Postgres
SELECT cfgname AS name FROM pg_ts_config WHERE cfgnamespace = CAST('pg_catalog' AS regnamespace) ORDER BY cfgname

-- index_some: index the oldest pages of the queue; how many were taken, dealt with, and written; are_waiting: any
-- Several processes take different ones. A page that stands in the queue twice is one's alone, and the other's later.
-- A page that a settle holds is left in the queue: whoever indexes waits for nobody. No settle drops a
-- text meanwhile.
WITH lot AS MATERIALIZED (
    SELECT id, host_id, crawl_id, key FROM search_queue
    WHERE CAST(:crawl_id AS bigint) IS NULL OR crawl_id = :crawl_id
    ORDER BY id LIMIT :n
    FOR UPDATE SKIP LOCKED
), found AS MATERIALIZED (
    SELECT p.host_id, p.crawl_id, p.key, p.language, p.title, p.description, p.main_text, p.changed_at,
           hashtextextended(
               concat_ws(E'\n', p.language, p.title, p.description, encode(p.text_sha256, 'hex')), 0) AS digest
    FROM pages AS p
    JOIN crawls AS c ON c.id = p.crawl_id AND c.search
    WHERE (p.host_id, p.crawl_id, p.key) IN (SELECT host_id, crawl_id, key FROM lot)
    FOR NO KEY UPDATE OF p SKIP LOCKED
), put AS (
    INSERT INTO page_search (host_id, crawl_id, key, config, changed_at, digest, words)
    SELECT f.host_id, f.crawl_id, f.key, s.config, f.changed_at, f.digest, w.title || w.description || w.main_text
    FROM found AS f
    LEFT JOIN json_to_recordset(CAST(:stemmers AS json)) AS m (language text, config text)
      ON m.language = substring(lower(f.language) FROM '^[a-z]+')
    CROSS JOIN LATERAL (SELECT CAST(coalesce(m.config, 'simple') AS text) AS config) AS s
    CROSS JOIN LATERAL (
        SELECT setweight(to_tsvector(
                   CAST(s.config AS regconfig),
                   regexp_replace(translate(coalesce(f.title, ''), :invisible, ''), :separators, ' ', 'g')
               ), 'A') AS title,
               setweight(to_tsvector(
                   CAST(s.config AS regconfig),
                   regexp_replace(translate(coalesce(f.description, ''), :invisible, ''), :separators, ' ', 'g')
               ), 'B') AS description,
               to_tsvector(
                   CAST(s.config AS regconfig),
                   regexp_replace(
                       regexp_replace(translate(left(f.main_text, :characters), :invisible, ''), :separators, ' ', 'g'),
                       :long_run, '\1 ', 'g')
               ) AS main_text
    ) AS w
    WHERE f.main_text IS NOT NULL AND NOT EXISTS (
        SELECT FROM page_search AS o
        WHERE o.host_id = f.host_id AND o.crawl_id = f.crawl_id AND o.key = f.key AND o.digest = f.digest)
    ON CONFLICT (host_id, crawl_id, key) DO UPDATE
    SET config = excluded.config, changed_at = excluded.changed_at, digest = excluded.digest, words = excluded.words
    RETURNING key
), done AS (
    DELETE FROM search_queue AS q USING lot
    WHERE q.id = lot.id AND (
        EXISTS (SELECT FROM found AS f WHERE f.host_id = lot.host_id AND f.crawl_id = lot.crawl_id AND f.key = lot.key)
        OR NOT EXISTS (
            SELECT FROM pages AS p JOIN crawls AS c ON c.id = p.crawl_id AND c.search
            WHERE p.host_id = lot.host_id AND p.crawl_id = lot.crawl_id AND p.key = lot.key))
    RETURNING q.id
)
SELECT (SELECT count(*) FROM lot) AS taken, (SELECT count(*) FROM done) AS done, (SELECT count(*) FROM put) AS put,
       (SELECT true FROM search_queue WHERE CAST(:crawl_id AS bigint) IS NULL OR crawl_id = :crawl_id LIMIT 1)
       IS NOT NULL AS are_waiting

-- forget: delete the words of pages whose text may not be kept
DELETE FROM page_search AS s
USING json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
WHERE s.host_id = r.host_id AND s.crawl_id = r.crawl_id AND s.key = decode(r.key, 'hex')

-- bound: for this transaction: a search takes so long at most, by the index of words alone, with an exact bitmap
SELECT set_config('statement_timeout', CAST(:timeout_ms AS text), true) AS timeout,
       set_config('enable_seqscan', 'off', true) AS by_index, set_config('work_mem', '64MB', true) AS memory

-- asked: what each stemmer makes of the words; loose: what the index answers by itself, a phrase as its words
-- Phrases below a "not" cannot be loosened; a query that only excludes would read the whole index.
SELECT a.query,
       CASE WHEN a.query ~ '!\s*\(' THEN a.query ELSE regexp_replace(a.query, '<(-|\d+)>', '&', 'g') END AS loose,
       a.includes, array_agg(a.config ORDER BY a.config) AS configs
FROM (
    SELECT c.config, CAST(q.query AS text) AS query, querytree(q.query) NOT IN ('', 'T') AS includes
    FROM unnest(CAST(:configs AS text[])) AS c (config)
    CROSS JOIN LATERAL (SELECT websearch_to_tsquery(CAST(c.config AS regconfig), :words) AS query) AS q
    WHERE numnode(q.query) > 0
) AS a
GROUP BY 1, 2, 3

-- share: how many of the newest pages of a crawl have the words, and how many were looked at
WITH asked AS MATERIALIZED (
    SELECT CAST(r.loose AS tsquery) AS loose, r.configs
    FROM json_to_recordset(CAST(:asked AS json)) AS r (loose text, configs text[])
), newest AS MATERIALIZED (
    SELECT i.host_id, i.words, (SELECT a.loose FROM asked AS a WHERE i.config = ANY(a.configs)) AS loose
    FROM page_search AS i WHERE i.crawl_id = :crawl_id ORDER BY i.changed_at DESC LIMIT :n
)
SELECT count(*) AS seen, count(*) FILTER (
    WHERE coalesce(CAST(:host_id AS bigint), s.host_id) = s.host_id AND s.words @@ s.loose) AS hits
FROM newest AS s

-- find: the best of the newest matches, exact copies and pages that are gone left out
-- With the number of matches that were looked at (read), and of those that match in full (ranked). By time, the newest
-- matches are found among the newest pages (common words), not by the index of words. MATERIALIZED, OFFSET 0 and the
-- inner LIMIT hold the order: narrow rows first, then the words of the newest alone.
WITH asked AS MATERIALIZED (
    SELECT CAST(r.query AS tsquery) AS query, CAST(r.loose AS tsquery) AS loose, r.configs
    FROM json_to_recordset(CAST(:asked AS json)) AS r (query text, loose text, configs text[])
), newest AS MATERIALIZED (
    (SELECT s.host_id, s.crawl_id, s.key, s.config, s.changed_at, s.words, a.query
     FROM asked AS a
     CROSS JOIN LATERAL (SELECT * FROM page_search AS i WHERE i.words @@ a.loose OFFSET 0) AS s
     WHERE NOT CAST(:by_time AS boolean) AND s.crawl_id = :crawl_id AND s.config = ANY(a.configs)
       AND coalesce(CAST(:host_id AS bigint), s.host_id) = s.host_id
     ORDER BY s.changed_at DESC
     LIMIT :most)
    UNION ALL
    (SELECT s.host_id, s.crawl_id, s.key, s.config, s.changed_at, s.words, s.query
     FROM (
         SELECT i.*, (SELECT a.query FROM asked AS a WHERE i.config = ANY(a.configs)) AS query,
                (SELECT a.loose FROM asked AS a WHERE i.config = ANY(a.configs)) AS loose
         FROM page_search AS i WHERE i.crawl_id = :crawl_id ORDER BY i.changed_at DESC LIMIT :walk
     ) AS s
     WHERE CAST(:by_time AS boolean) AND coalesce(CAST(:host_id AS bigint), s.host_id) = s.host_id
       AND s.words @@ s.loose
     ORDER BY s.changed_at DESC
     LIMIT :most)
), ranked AS MATERIALIZED (
    SELECT n.host_id, n.crawl_id, n.key, n.config, n.changed_at, n.query, ts_rank_cd(n.words, n.query, 1) AS rank
    FROM newest AS n
    WHERE n.words @@ n.query AND NOT EXISTS (
        SELECT FROM duplicates AS d
        WHERE d.host_id = n.host_id AND d.crawl_id = n.crawl_id AND d.key = n.key AND d.kind IN ('body', 'text'))
      AND NOT EXISTS (
        SELECT FROM urls AS u
        WHERE u.host_id = n.host_id AND u.crawl_id = n.crawl_id AND u.key = n.key AND u.gone_at IS NOT NULL)
), best AS MATERIALIZED (
    SELECT * FROM ranked ORDER BY rank DESC, changed_at DESC, key LIMIT :n
)
SELECT counts.read, counts.ranked, b.rank, p.url, p.title, p.language, b.config, p.fetched_at, p.changed_at,
       ts_headline(CAST(b.config AS regconfig),
                   regexp_replace(
                       regexp_replace(translate(left(p.main_text, :characters), :invisible, ''), :separators, ' ', 'g'),
                       :long_run, '\1 ', 'g'),
                   b.query, :options) AS passage,
       left(p.main_text, :characters) AS text
FROM (SELECT (SELECT count(*) FROM newest) AS read, (SELECT count(*) FROM ranked) AS ranked) AS counts
LEFT JOIN best AS b ON true
LEFT JOIN pages AS p ON p.host_id = b.host_id AND p.crawl_id = b.crawl_id AND p.key = b.key
ORDER BY b.rank DESC, b.changed_at DESC, b.key

-- drop_crawl: delete a crawl's pages from the queue of those that wait to be indexed
DELETE FROM search_queue WHERE crawl_id = :crawl_id
