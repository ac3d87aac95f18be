-- licences: what is on record of licence files
SELECT url, contents, problem,
       CAST(extract(epoch FROM clock_timestamp() - asked_at) AS double precision) AS age_s
FROM licences
WHERE url = ANY(CAST(:urls AS text[]))

-- keep_licences: store results of requests for licence files; one that failed leaves what was read before
INSERT INTO licences (url, contents, problem, status, asked_at, read_at)
SELECT DISTINCT ON (r.url) r.url, r.contents, r.problem, r.status, r.at, CASE WHEN r.contents IS NOT NULL THEN r.at END
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    url text, contents jsonb, problem text, status smallint, at timestamptz)
ORDER BY r.url, r.at DESC
ON CONFLICT (url) DO UPDATE
SET contents = CASE WHEN excluded.contents IS NULL AND excluded.status IS NULL THEN licences.contents
                    ELSE excluded.contents END,
    problem = excluded.problem, status = excluded.status, asked_at = excluded.asked_at,
    read_at = coalesce(excluded.read_at, licences.read_at)

-- keep_statements: store sets of statements, each once; in key order, so that two settles cannot deadlock
INSERT INTO statements (sha256, said, archive, search, ai_input, ai_train, decided, unread)
SELECT decode(r.sha256, 'hex'), r.said, r.archive, r.search, r.ai_input, r.ai_train, r.decided, r.unread
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    sha256 text, said jsonb, archive text, search text, ai_input text, ai_train text, decided jsonb, unread text[])
WHERE NOT EXISTS (SELECT FROM statements AS s WHERE s.sha256 = decode(r.sha256, 'hex'))
ORDER BY 1
ON CONFLICT (sha256) DO NOTHING

-- keep_rights: note what the owners of pages state, where it is something else than before
INSERT INTO rights (host_id, crawl_id, key, url, said)
SELECT r.host_id, r.crawl_id, decode(r.key, 'hex'), r.url, decode(r.said, 'hex')
FROM json_to_recordset(CAST(:rows AS json)) AS r (
    host_id bigint, crawl_id bigint, key text, url text, said text, is_silent boolean)
LEFT JOIN LATERAL (
    SELECT said FROM rights AS b
    WHERE b.host_id = r.host_id AND b.crawl_id = r.crawl_id AND b.key = decode(r.key, 'hex')
    ORDER BY b.since DESC
    LIMIT 1
) AS before ON true
WHERE CASE WHEN before.said IS NULL THEN NOT r.is_silent ELSE before.said <> decode(r.said, 'hex') END
ON CONFLICT (host_id, crawl_id, key, since) DO NOTHING

-- waiting: pages of a host whose statements name a licence that had not been read, with these statements
SELECT r.crawl_id, r.key, r.url, s.said
FROM (
    SELECT DISTINCT ON (crawl_id, key) *
    FROM rights
    WHERE host_id = :host_id
    ORDER BY crawl_id, key, since DESC
) AS r
JOIN statements AS s ON s.sha256 = r.said
WHERE s.unread && CAST(:urls AS text[])
LIMIT :n

-- of_url: what was stated of a URL, by crawl, the latest first
SELECT c.name AS crawl, r.url, r.since, s.said
FROM rights AS r
JOIN statements AS s ON s.sha256 = r.said
JOIN crawls AS c ON c.id = r.crawl_id
WHERE r.host_id = :host_id AND r.key = :key
ORDER BY c.name, r.since DESC

-- of_host: how many pages of a host have each set of statements, by crawl, the most first
SELECT c.name AS crawl, count(*) AS pages, min(r.url) AS example, s.said
FROM (
    SELECT DISTINCT ON (crawl_id, key) *
    FROM rights
    WHERE host_id = :host_id
    ORDER BY crawl_id, key, since DESC
) AS r
JOIN statements AS s ON s.sha256 = r.said
JOIN crawls AS c ON c.id = r.crawl_id
GROUP BY c.name, s.sha256, s.said
ORDER BY c.name, pages DESC, example
LIMIT :n

-- kept: whether a URL is a page of a crawl
SELECT c.name AS crawl, p.url, p.fetched_at
FROM pages AS p JOIN crawls AS c ON c.id = p.crawl_id
WHERE p.host_id = :host_id AND p.key = :key
ORDER BY c.name

-- of_pages: what is stated of these pages
SELECT r.host_id, encode(r.key, 'hex') AS key, s.said
FROM json_to_recordset(CAST(:rows AS json)) AS p (host_id bigint, key text)
CROSS JOIN LATERAL (
    SELECT * FROM rights AS f
    WHERE f.host_id = p.host_id AND f.crawl_id = :crawl_id AND f.key = decode(p.key, 'hex')
    ORDER BY f.since DESC
    LIMIT 1
) AS r
JOIN statements AS s ON s.sha256 = r.said

-- by_crawl: verdicts of a crawl's pages: how many of each, by purpose
SELECT purpose, answer, count(*) AS pages
FROM v_rights AS v
CROSS JOIN LATERAL (VALUES ('archive', v.archive), ('search', v.search), ('ai-input', v.ai_input),
                           ('ai-train', v.ai_train)) AS each (purpose, answer)
WHERE v.crawl_id = :crawl_id
GROUP BY purpose, answer

-- withdraw: note pages that their owners keep out; one that is noted already is confirmed
INSERT INTO withdrawals (host_id, crawl_id, key, url, words)
SELECT host_id, crawl_id, decode(key, 'hex'), url, words
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text, url text, words text)
ORDER BY 1, 2, 3
ON CONFLICT (host_id, crawl_id, key) DO UPDATE
SET words = excluded.words, confirmed_at = coalesce(withdrawals.confirmed_at, clock_timestamp())

-- erase_handled: delete what handlers are to do with these pages, in the order in which runners lock it
WITH held AS MATERIALIZED (
    SELECT e.host_id, e.crawl_id, e.key, e.handler
    FROM extractions AS e
    JOIN json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
      ON e.host_id = r.host_id AND e.crawl_id = r.crawl_id AND e.key = decode(r.key, 'hex')
    ORDER BY e.host_id, e.crawl_id, e.key, e.handler
    FOR UPDATE OF e
)
DELETE FROM extractions AS e USING held AS h
WHERE e.host_id = h.host_id AND e.crawl_id = h.crawl_id AND e.key = h.key AND e.handler = h.handler

-- erase: delete the items and the links of these pages
WITH r AS MATERIALIZED (
    SELECT host_id, crawl_id, decode(key, 'hex') AS key
    FROM json_to_recordset(CAST(:rows AS json)) AS given (host_id bigint, crawl_id bigint, key text)
), gone_links AS (
    DELETE FROM links AS l USING r WHERE l.host_id = r.host_id AND l.crawl_id = r.crawl_id AND l.key = r.key
)
DELETE FROM items AS i USING r WHERE i.host_id = r.host_id AND i.crawl_id = r.crawl_id AND i.key = r.key

-- return: take the notes of pages away that may be kept again
DELETE FROM withdrawals AS w
USING json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text)
WHERE w.host_id = r.host_id AND w.crawl_id = r.crawl_id AND w.key = decode(r.key, 'hex')

-- withdrawn: whether a URL was withdrawn, by crawl
SELECT c.name AS crawl, w.url, w.words, w.withdrawn_at, w.confirmed_at
FROM withdrawals AS w JOIN crawls AS c ON c.id = w.crawl_id
WHERE w.host_id = :host_id AND w.key = :key
ORDER BY c.name

-- honouring: pages of a host, of crawls that honour opt-outs
SELECT p.crawl_id, p.key, p.url
FROM crawls AS c
JOIN pages AS p ON p.host_id = :host_id AND p.crawl_id = c.id
WHERE c.honour_opt_outs
ORDER BY p.crawl_id, p.key
LIMIT :n

-- keep_out: say of URLs why their pages are kept out; they are asked for whole once they may be kept again
UPDATE urls AS u
SET cause = :cause, detail = NULL, opt_out = r.words
FROM json_to_recordset(CAST(:rows AS json)) AS r (host_id bigint, crawl_id bigint, key text, words text)
WHERE u.host_id = r.host_id AND u.crawl_id = r.crawl_id AND u.key = decode(r.key, 'hex')
  AND u.state NOT IN ('refused', 'quarantined')

-- hosts_deleted: delete the rows of a crawl that is deleted, of some hosts
WITH gone_rights AS (
    DELETE FROM rights WHERE crawl_id = :crawl_id AND host_id > :after AND host_id <= :until
)
DELETE FROM withdrawals WHERE crawl_id = :crawl_id AND host_id > :after AND host_id <= :until
