-- turned: write events of URLs whose pages are gone, or are there again, as their rows say by now
-- LATERAL and OFFSET keep a look-up an index probe where there are no statistics, here and below.
INSERT INTO changes (crawl_id, host_id, key, kind, at, url, text_sha256, why)
SELECT r.crawl_id, r.host_id, p.key, CASE WHEN u.gone_at IS NULL THEN 'returned' ELSE 'gone' END,
       coalesce(u.gone_at, greatest(u.fetched_at, p.changed_at)), p.url,
       CASE WHEN u.gone_at IS NULL THEN p.text_sha256 END,
       CASE WHEN u.gone_at IS NOT NULL THEN CAST(u.status AS text) END
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text, was_gone boolean)
CROSS JOIN LATERAL (
    SELECT * FROM urls
    WHERE host_id = r.host_id AND crawl_id = r.crawl_id AND key = decode(r.key, 'hex')
    OFFSET 0
) AS u
CROSS JOIN LATERAL (
    SELECT * FROM pages
    WHERE host_id = r.host_id AND crawl_id = r.crawl_id AND key = decode(r.key, 'hex')
    OFFSET 0
) AS p
WHERE r.was_gone = (u.gone_at IS NULL)
RETURNING host_id, crawl_id, key

-- kept: write events of pages that were stored just now
INSERT INTO changes (crawl_id, host_id, key, kind, at, url, text_sha256)
SELECT r.crawl_id, r.host_id, decode(r.key, 'hex'), CASE WHEN r.is_first THEN 'new' ELSE 'changed' END, r.at, r.url,
       decode(r.text_sha256, 'hex')
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, key text, url text, text_sha256 text, at timestamptz, is_first boolean)

-- dropped: write events of pages that were deleted just now
-- What an owner asked for is a withdrawal; a page that lost its body, or its URL, is gone.
INSERT INTO changes (crawl_id, host_id, key, kind, at, url, why)
SELECT r.crawl_id, r.host_id, decode(r.key, 'hex'),
       CASE WHEN u.key IS NULL OR coalesce(u.cause, '') = 'empty' THEN 'gone' ELSE 'withdrawn' END, clock_timestamp(),
       r.url, CASE WHEN u.key IS NULL THEN 'another URL stands for it'
                   ELSE concat_ws(': ', u.cause, coalesce(u.opt_out, u.directives)) END
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text, url text)
LEFT JOIN LATERAL (
    SELECT * FROM urls
    WHERE host_id = r.host_id AND crawl_id = r.crawl_id AND key = decode(r.key, 'hex')
    OFFSET 0
) AS u ON true

-- left: write that pages are gone from the URLs that they had; their rows are about to move
INSERT INTO changes (crawl_id, host_id, key, kind, at, url, why)
SELECT p.crawl_id, p.host_id, p.key, 'gone', clock_timestamp(), p.url, 'another URL stands for it'
FROM json_to_recordset(CAST(:rows AS json)) AS r (crawl_id bigint, key text)
CROSS JOIN LATERAL (
    SELECT * FROM pages
    WHERE host_id = :host_id AND crawl_id = r.crawl_id AND key = decode(r.key, 'hex')
    OFFSET 0
) AS p

-- arrived: write that pages are at the URLs that their rows have moved to
INSERT INTO changes (crawl_id, host_id, key, kind, at, url, text_sha256)
SELECT p.crawl_id, p.host_id, p.key, 'new', p.changed_at, p.url, p.text_sha256
FROM json_to_recordset(CAST(:rows AS json)) AS r (crawl_id bigint, new_key text)
JOIN pages AS p ON p.host_id = :host_id AND p.crawl_id = r.crawl_id AND p.key = decode(r.new_key, 'hex')
JOIN urls AS u ON u.host_id = p.host_id AND u.crawl_id = p.crawl_id AND u.key = p.key AND u.gone_at IS NULL

-- horizon: the newest event below which none can appear any more, how far back events go, and the database
-- A transaction writes its id into its rows as it begins to write. Below the oldest that is open all have ended.
SELECT coalesce(e.xid, k.deleted_xid) AS xid, coalesce(e.id, k.deleted_id) AS id,
       k.deleted_xid, k.deleted_id, k.top_xid, k.top_id, tiptoe_lineage() AS lineage,
       k.lineage AS seen,
       clock_timestamp() AS now
FROM (SELECT) AS one
LEFT JOIN changes_kept AS k ON true
LEFT JOIN LATERAL (
    SELECT xid, id FROM changes
    WHERE xid < CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint)
    ORDER BY xid DESC, id DESC LIMIT 1
) AS e ON true

-- read: the next n events of a crawl after a place, up to another
-- Titles are of pages that are there by now: of one that is withdrawn nothing is left.
SELECT e.xid, e.id, e.kind, e.at, e.host_id, e.key, e.url, h.name AS host, e.text_sha256, e.why,
       p.title, CASE WHEN :with_text AND e.kind <> 'gone' THEN p.main_text END AS text,
       (CAST(:words AS text[]) IS NULL OR e.kind = 'withdrawn'
        OR NOT EXISTS (SELECT FROM unnest(CAST(:words AS text[])) AS w (word)
                       WHERE strpos(lower(concat_ws(' ', p.title, p.main_text)), w.word) = 0)) AS is_wanted
FROM (
    SELECT * FROM changes AS c
    WHERE c.crawl_id = :crawl_id
      AND (c.xid, c.id) > (CAST(:xid AS bigint), CAST(:id AS bigint))
      AND (c.xid, c.id) <= (CAST(:until_xid AS bigint), CAST(:until_id AS bigint))
      AND (CAST(:since AS timestamptz) IS NULL OR c.at >= CAST(:since AS timestamptz))
      AND (CAST(:kinds AS text[]) IS NULL OR c.kind = ANY(CAST(:kinds AS text[])))
      AND (CAST(:url_like AS text) IS NULL OR c.url LIKE CAST(:url_like AS text))
    ORDER BY c.xid, c.id
    LIMIT :n
) AS e
JOIN hosts AS h ON h.id = e.host_id
LEFT JOIN LATERAL (
    SELECT title, main_text FROM pages WHERE host_id = e.host_id AND crawl_id = :crawl_id AND key = e.key OFFSET 0
) AS p ON e.kind <> 'withdrawn'
ORDER BY e.xid, e.id

-- latest: the last n events of a crawl that are final, the newest first
SELECT e.xid, e.id, e.kind, e.at, e.host_id, e.key, e.url, h.name AS host, e.text_sha256, e.why, p.title,
       CAST(NULL AS text) AS text, true AS is_wanted
FROM (
    SELECT * FROM changes AS c
    WHERE c.crawl_id = :crawl_id AND (c.xid, c.id) <= (CAST(:until_xid AS bigint), CAST(:until_id AS bigint))
      AND (CAST(:kinds AS text[]) IS NULL OR c.kind = ANY(CAST(:kinds AS text[])))
      AND (CAST(:url_like AS text) IS NULL OR c.url LIKE CAST(:url_like AS text))
    ORDER BY c.xid DESC, c.id DESC
    LIMIT :n
) AS e
JOIN hosts AS h ON h.id = e.host_id
LEFT JOIN LATERAL (
    SELECT title, main_text FROM pages WHERE host_id = e.host_id AND crawl_id = :crawl_id AND key = e.key OFFSET 0
) AS p ON e.kind <> 'withdrawn'
ORDER BY e.xid DESC, e.id DESC

-- begin: remember the first database
INSERT INTO changes_kept (lineage) VALUES (tiptoe_lineage()) ON CONFLICT DO NOTHING

-- move: remember a database that the events came to; no row: another process just has
UPDATE changes_kept
SET lineage = tiptoe_lineage(), deleted_xid = 0, looked_xid = 0, looked_id = 0, top_xid = 0, top_id = 0
WHERE lineage <> tiptoe_lineage()
RETURNING lineage

-- is_oldest: no transaction is open that began to write before this one
SELECT pg_snapshot_xmin(pg_current_snapshot()) = pg_current_xact_id()

-- adopt: events of another server have its transaction ids; they get the one of this transaction, in the order of ids
UPDATE changes SET xid = CAST(CAST(pg_current_xact_id() AS text) AS bigint)

-- old: the next n events before a moment, after the janitor's place
SELECT e.xid, e.id
FROM changes AS e, changes_kept AS k
WHERE (e.xid, e.id) > (k.looked_xid, k.looked_id) AND e.at < clock_timestamp() - make_interval(days => :keep_days)
  AND e.xid < CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint)
ORDER BY e.xid, e.id
LIMIT :n

-- forget: delete old events up to a place, but the last of each page that is there: from these a reader begins
WITH place AS MATERIALIZED (
    SELECT looked_xid, looked_id FROM changes_kept FOR UPDATE
), gone AS (
    DELETE FROM changes AS e
    USING place AS k
    WHERE (e.xid, e.id) > (k.looked_xid, k.looked_id)
      AND (e.xid, e.id) <= (CAST(:xid AS bigint), CAST(:id AS bigint))
      AND e.at < clock_timestamp() - make_interval(days => :keep_days)
      AND NOT EXISTS (
          SELECT FROM pages AS p
          JOIN urls AS u ON u.host_id = p.host_id AND u.crawl_id = p.crawl_id AND u.key = p.key
          WHERE p.host_id = e.host_id AND p.crawl_id = e.crawl_id AND p.key = e.key AND u.gone_at IS NULL
            AND (e.at = p.changed_at OR e.kind = 'returned' AND e.at > p.changed_at))
    RETURNING e.xid, e.id
), last AS (
    SELECT xid, id FROM gone ORDER BY xid DESC, id DESC LIMIT 1
), kept AS (
    UPDATE changes_kept AS k
    SET looked_xid = CAST(:xid AS bigint), looked_id = :id,
        deleted_xid = CASE WHEN (last.xid, last.id) > (k.deleted_xid, k.deleted_id)
                           THEN last.xid ELSE k.deleted_xid END,
        deleted_id = CASE WHEN (last.xid, last.id) > (k.deleted_xid, k.deleted_id) THEN last.id ELSE k.deleted_id END
    FROM (SELECT) AS one LEFT JOIN last ON true
)
SELECT count(*) AS n FROM gone

-- look_again: let the janitor begin at the start
UPDATE changes_kept SET looked_xid = 0, looked_id = 0 WHERE looked_id > 0

-- drop_crawl: delete n events of a crawl; cursors of other crawls may name the newest of them
WITH lot AS MATERIALIZED (
    SELECT xid, id FROM changes WHERE crawl_id = :crawl_id ORDER BY xid, id LIMIT :n
), gone AS (
    DELETE FROM changes AS c USING lot WHERE c.xid = lot.xid AND c.id = lot.id
), last AS (
    SELECT xid, id FROM lot ORDER BY xid DESC, id DESC LIMIT 1
), topped AS (
    UPDATE changes_kept AS k SET top_xid = last.xid, top_id = last.id
    FROM last WHERE (last.xid, last.id) > (k.top_xid, k.top_id)
)
SELECT count(*) AS n FROM lot
